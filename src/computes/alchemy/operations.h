// SPDX-License-Identifier: Apache-2.0
// Operations of alchemical atoms. Kernels of pairs meet them as ghosts; what they have with other atoms is found
// here, in double precision: their pairs are few.
#pragma once

#include "computes/alchemy/soft_core.h"
#include "computes/bonded/operations.h"
#include "computes/lists/operations.h"
#include "decomposition/conditions.h"
#include "decomposition/faults.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Of an atom without ghosts; charges are 0 of those that are not alchemical, which `local` has.
struct FullAtom {
  double charge;  // times sqrt(1/(4 pi eps0))
  int32_t pair_type;
  int32_t is_alchemical;
};

// An excluded pair with an alchemical atom: the charges that a mesh has of it, taken back. Where both atoms
// are alchemical the charges are scaled twice.
struct ExcludedCharges {
  double product;  // of full charges, over 4 pi eps0
  int32_t scaled;  // 1 or 2 times
};

// Alchemical atoms that this rank holds, by slot, and the excluded pairs that it computes. The slots of
// alchemical atoms in placed patch p are slots[first_of_patch[p]] to slots[first_of_patch[p + 1]].
struct PlacedAlchemy {
  int32_t* slots;
  int32_t* first_of_patch;  // (placed patches + 1)
  uint32_t* excluded;       // (pairs, 3): as TermTable::placed, the row being the pair's number
  int32_t* excluded_count;
};

// Runs when atoms have been laid out.
struct PlaceAlchemy {
  static constexpr const char* kName = "place_alchemy";
  const int32_t* atoms;           // alchemical, internal indices
  int atom_count, patch_count;    // placed patches
  const int32_t* excluded_atoms;  // (pairs, 2)
  const uint32_t* excluded_rows;  // 0, 1, ...
  int excluded_pairs;
  Slots slots;
  const PlacedPatch* patches;
  GridView grid;
  const Conditions* conditions;
  const int32_t* slot_of_atom;
  const int8_t* computed_here;
  const int64_t* step;
  PlacedAlchemy placed;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, atoms, excluded_atoms, excluded_rows, slots.patch, slots.local, patches, grid);
    QMD_USES(kRead, conditions, slot_of_atom, computed_here, extent(step, 1));
    QMD_USES(kWrite, placed.slots, placed.first_of_patch, placed.excluded);
    QMD_USES(kReadWrite, placed.excluded_count);
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
  const PlacedPatch* patches;
  const int32_t* computes;    // placed-patch index of each compute's patch
  const int32_t* neighbours;  // (computes, codes)
  int compute_count;
  PlacedAlchemy placed;
  const FullAtom* atoms;  // by internal index
  ExclusionTable exclusions;
  const ExcludedCharges* excluded;
  const double *a, *b;  // (types, types) of Lennard-Jones
  int types;
  SoftCore core;
  SmoothCoulomb smooth;
  double coulomb_shift;  // energy of unit charges at the cutoff where that is shifted to zero
  const Conditions* conditions;
  const Lambdas* states;
  int state_count;
  int64_t* energy;
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.atom, grid, patches, computes, neighbours);
    QMD_USES(kRead, placed.slots, placed.first_of_patch, placed.excluded, placed.excluded_count);
    QMD_USES(kRead, atoms, exclusions, excluded, a, b, smooth.series, conditions, states);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, sums, slots);
  }
};

}  // namespace quiltmd
