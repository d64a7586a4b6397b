// SPDX-License-Identifier: Apache-2.0
// Operations of alchemical atoms. Kernels of pairs meet them as ghosts; what they have with other atoms is found
// here, in double precision: their pairs are few.
#pragma once

#include "computes/alchemy/soft_pairs.h"
#include "computes/bonded/operations.h"
#include "computes/lists/operations.h"
#include "decomposition/conditions.h"
#include "decomposition/faults.h"
#include "decomposition/operations.h"
#include "decomposition/slots.h"

namespace quiltmd {

// An atom at lambda 0 and 1; charges of atoms that are not alchemical are 0, because `local` has them.
struct FullAtom {
  double charge[2];  // times sqrt(1/(4 pi eps0))
  int32_t pair_type[2];
  int32_t is_alchemical;
  Presence presence;
};

// The slot in an entry of a pair.
QMD_HD int slot_of(uint32_t entry) { return static_cast<int>(entry & kSlotMask); }

// An alchemical atom that meets the atoms of a patch, in a compute that is here. The atom is
// slot | code << kSlotBits, `code` is that of the patch: both as the compute's own patch sees them.
struct Meeting {
  uint32_t atom;
  int32_t patch;  // placed-patch index
  int32_t code;

  QMD_HD uint32_t entry_of(int slot) const {
    return static_cast<uint32_t>(slot) | static_cast<uint32_t>(code) << kSlotBits;
  }
};

// Whether charges have a soft core, and how much of it there is: lambda of van der Waals, or 1 less that.
enum class Core : int32_t { kNoPair, kHard, kVanishes, kAppears };

// An alchemical atom and another, as the compute's patch sees them, and what they have of full strength.
struct PlacedPair {
  uint32_t first, second;
  ChargeProduct product;
  TwoEnds ends;
  Core core;
};

// Pairs that this rank computes, in any order: those within reach when atoms were laid out, and excluded
// pairs. On GPUs near pairs are in whole warps, each with one alchemical atom, and some entries are empty.
struct PlacedAlchemy {
  PlacedPair *near, *excluded;
  int near_capacity;
  int32_t* counts;  // of both; of near pairs that are wanted, whether or not there is room
};
enum PlacedKind { kNearPairs, kExcludedPairs, kPlacedKinds };

// Runs when atoms have been laid out. Where near pairs do not fit, entries of lists lack room (kListEntries), and
// `counts` says how much.
struct PlaceAlchemy {
  static constexpr const char* kName = "place_alchemy";
  static constexpr int kBlocksOfAtom = 4;  // on a GPU
  const int32_t* atoms;                    // alchemical, internal indices
  int atom_count;
  const FullAtom* full;  // by internal index
  ExclusionTable exclusions;
  const double *a, *b;  // (types, types) of Lennard-Jones
  int types;
  float reach;                            // nm: of near pairs
  const int32_t* excluded_atoms;          // (pairs, 2)
  const uint32_t* excluded_rows;          // 0, 1, ...
  const ChargeProduct* excluded_charges;  // of a mesh, to be subtracted
  int excluded_pairs;
  Slots slots;
  const ClusterBounds* bounds;
  const PlacedPatch* patches;
  GridView grid;
  const Conditions* conditions;
  const int32_t* slot_of_atom;
  const int32_t* placed_index;  // of each patch of the grid; -1: not on this rank
  const int8_t* computed_here;
  const int64_t* step;
  PlacedAlchemy placed;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, atoms, full, exclusions, a, b, excluded_atoms, excluded_rows, excluded_charges);
    QMD_USES(kRead, slots.patch, slots.local, slots.atom, bounds, patches, grid);
    QMD_USES(kRead, conditions, slot_of_atom, placed_index, computed_here, extent(step, 1));
    QMD_USES(kWrite, placed.near, placed.excluded);
    QMD_USES(kReadWrite, placed.counts);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

// Forces of alchemical atoms with all atoms within the cutoff, and of their excluded pairs. Where `energy` is
// not null energies and virial, too, and behind `sums` what AlchemicalSums has from kSlopes on.
struct AlchemicalForces {
  static constexpr const char* kName = "alchemical_forces";
  Slots slots;
  GridView grid;
  PlacedAlchemy placed;
  int most_excluded;  // for which there is room
  SoftCore core;
  SmoothCoulomb smooth;
  double coulomb_shift;  // energy of unit charges at the cutoff where that is shifted to zero
  const Conditions* conditions;
  const Lambdas* states;
  int state_count;
  int64_t* energy;
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.low, grid);
    QMD_USES(kRead, placed.near, placed.excluded, placed.counts, smooth.series, conditions, states);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, sums, slots);
  }
};

}  // namespace quiltmd
