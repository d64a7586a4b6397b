// SPDX-License-Identifier: Apache-2.0
// Operations of the bonded terms: bonds, angles, torsions and 1-4 pairs.
#pragma once

#include "decomposition/slots.h"
#include "math/box.h"

namespace quiltmd {

enum class TermKind { kBond, kAngle, kTorsion, kPair14 };
inline constexpr int kTermKinds = 4;

// All terms of one kind, by internal atom index; those of atom a as first atom are
// terms[first_term[a] .. first_term[a+1]).
struct TermTable {
  int size;                   // atoms per term
  const int32_t* atoms;       // (terms, size)
  const double* parameters;   // (terms, 4), see term_physics.h; filled by tables.h
  const int32_t* first_term;  // (atoms + 1)

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "atoms, parameters, first_term", atoms, parameters, first_term);
  }
};

// A term whose atoms have been found on this rank: entries (slot | code) of its atoms as seen from
// the base patch.
struct PlacedTerm {
  uint32_t entry[4];
  int32_t term;
};

// Find the terms whose base patch is among this rank's computes. The base patch is the
// componentwise lowest of the patches of the term's atoms (as offsets from the first atom's, the
// nearest image of each), so that all others lie in its half shell. Terms are appended in any
// order: each is converted to fixed point by itself.
struct PlaceTerms {
  static constexpr const char* kName = "place_terms";
  TermTable tables[kTermKinds];
  Slots slots;
  const PlacedPatch* patches;
  GridView grid;
  Box box;
  const int32_t* slot_count;
  int slot_capacity;
  const int32_t* slot_of_atom;
  const int8_t* computed_here;  // by global patch index: 1 where this rank has the compute
  PlacedTerm* placed[kTermKinds];
  int capacity[kTermKinds];
  int32_t* counts;      // (kTermKinds)
  const int64_t* step;  // number of the step being made
  Faults* faults;       // list_overflow; blowup when a term spans too many patches

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, tables, slots.atom, slots.patch, slots.local, patches, grid, slot_count);
    QMD_USES(kRead, slot_of_atom, computed_here, extent(step, 1));
    QMD_USES(kWrite, placed);
    QMD_USES(kReadWrite, counts);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

// Evaluate all placed terms: forces into slots.force; energies (kBond, kAngle, kTorsion, kLj14,
// kCoulomb14) where `energy` is not null.
struct TermForces {
  static constexpr const char* kName = "term_forces";
  TermTable tables[kTermKinds];
  const PlacedTerm* placed[kTermKinds];
  int capacity[kTermKinds];
  const int32_t* counts;
  Slots slots;
  const Vec3d* exact_shifts;  // GridView::exact_shifts
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, tables, placed, counts, slots.local, slots.low, exact_shifts);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
