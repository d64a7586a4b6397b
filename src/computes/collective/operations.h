// SPDX-License-Identifier: Apache-2.0
// Operations of collective restraints. Positions that all ranks need and sums over groups are integers, of
// which every rank adds up those of its own atoms: totals over ranks are then exact, and all ranks find the
// same values from them. Then each rank applies the forces to its own atoms.
#pragma once

#include "computes/collective/bias.h"
#include "computes/collective/physics.h"
#include "computes/energies.h"
#include "decomposition/conditions.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Energies are counted with those of other restraints.
inline constexpr int kCollectiveEnergy = kEnergyOf<DistanceRestraintForm>;

// An atom of a group.
struct CollectiveMember {
  int32_t atom;  // internal index
  int32_t body;
  double weight;
  Vec3d reference;  // RMSD: its position in the reference
};

// A group of a restraint.
struct CollectiveBody {
  int32_t term;
  int32_t role;    // which group of the restraint it is
  int32_t origin;  // place among the shared positions; the atoms of coordination follow theirs
  int32_t atoms;   // of coordination: how many
  int32_t sums;    // place of its first sum
};

// All of a rank, which are the same on every rank but for where atoms are.
struct CollectiveTable {
  const CollectiveTerm* terms;
  const CollectiveBody* bodies;
  const CollectiveMember* members;
  const int32_t* shared_atoms;  // internal indices of atoms whose positions all ranks know
  int term_count, member_count, shared_count, sum_count;
  bool periodic;
  const int32_t* slot_of_atom;  // -1 where an atom is not on this rank
  const int32_t* owned_slots;   // slots from there on are those of proxies
  const Vec3d* position;
  const Conditions* conditions;

  // -1 where another rank owns it.
  QMD_HD int slot(int32_t atom) const {
    const int slot = slot_of_atom[atom];
    return slot < *owned_slots ? slot : -1;
  }
  QMD_HD Vec3d nearest(Vec3d way) const {
    return periodic ? conditions->box.nearest_image(way) : way;
  }
  void memory(MemoryUses& uses, Access access) const {
    uses.note(
        access,
        "terms, bodies, members, shared_atoms, slot_of_atom, owned_slots, position, conditions",
        terms, bodies, members, shared_atoms, slot_of_atom, owned_slots, position, conditions);
  }
};

// The bits of the shared positions, zero where another rank owns the atom; and sums to zero.
struct GatherCollective {
  static constexpr const char* kName = "gather_collective";
  CollectiveTable of;
  int64_t* shared;  // three for each
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of);
    QMD_USES(kWrite, shared, sums);
  }
};

struct SumCollective {
  static constexpr const char* kName = "sum_collective";
  CollectiveTable of;
  const int64_t* shared;
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, shared);
    QMD_USES(kAdd, sums);
  }
};

// Forces of the restraints; energies, virial and values, if requested, on the rank that owns the origin of a
// restraint's first group.
struct EvaluateCollective {
  static constexpr const char* kName = "evaluate_collective";
  CollectiveTable of;
  const int64_t* shared;
  const int64_t* sums;
  const double* centres;    // by restraint, of those at rest
  const CentrePoint* path;  // of all that move
  const int64_t* step;
  double timestep;
  BiasTable bias;
  CollectivePull* pulls;
  int64_t* energy;
  int64_t* values;

  // Whether energies of a restraint are those of this rank.
  QMD_HD bool is_counted_here(int term) const {
    return of.slot(of.shared_atoms[of.bodies[of.terms[term].first_body].origin]) >= 0;
  }
  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, shared, sums, centres, path, extent(step, 1), bias.grid);
    QMD_USES(kWrite, pulls);
    QMD_USES(kAdd, energy);
    QMD_USES(kNone, values);
  }
};

struct ApplyCollective {
  static constexpr const char* kName = "apply_collective";
  CollectiveTable of;
  const int64_t* shared;
  const CollectivePull* pulls;
  Slots slots;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, shared, pulls);
    QMD_USES(kAdd, slots.force);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
