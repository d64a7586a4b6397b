// SPDX-License-Identifier: Apache-2.0
#include "computes/nonbonded/pair_memory.h"

namespace quiltmd {

// Below this many atoms the lists alone do not fill a large GPU evenly, and are cut in two.
constexpr int kSmallSystem = 50000;

std::unique_ptr<ForceFamily> make_nonbonded_family(const FamilySetup& setup) {
  if (!setup.lists) return nullptr;
  const int pieces = setup.slots.system.atom_count() < kSmallSystem ? 2 : 1;
  return std::make_unique<PairMemory>(setup.slots, *setup.lists,
                                      PairSetup{setup.pairs, setup.packed_pairs.table, pieces});
}

}  // namespace quiltmd
