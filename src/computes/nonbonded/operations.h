// SPDX-License-Identifier: Apache-2.0
// The operation of the short-range nonbonded forces: evaluating pair lists.
#pragma once

#include "computes/lists/operations.h"
#include "computes/nonbonded/pair_parameters.h"
#include "decomposition/energies.h"

namespace quiltmd {

// Evaluate lists: forces into slots.force, and energies (kPairForm, kCoulombDirect) where `energy` is not null.
// Further shells, which hold only pairs beyond the cutoff, would not change a bit.
struct PairForces : ListView {
  static constexpr const char* kName = "pair_forces";
  const uint8_t* long_exclusion_masks;
  const Vec3f* shifts;
  int codes;   // number of shifts
  int pieces;  // GPU only: parts of a list, each summed by itself, so that small systems fill the
               // machine. Depends on the size of the system alone.
  PairParameters parameters;
  const float* table;  // of the pair form: PackedPairs::table
  int64_t* energy;     // null: forces only

  // For kernels that walk along lists: two numbers for each slot.
  const Float2* numbers() const { return slots.pair_numbers; }

  void memory(MemoryUses& uses) const {
    note_lists(uses, Access::kRead);
    QMD_USES(kRead, slots.pair_numbers, long_exclusion_masks, shifts, table);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
