// SPDX-License-Identifier: Apache-2.0
#include "computes/all_pairs/all_pairs_memory.h"

namespace quiltmd {

std::unique_ptr<ForceFamily> make_all_pairs_family(const FamilySetup& setup) {
  if (setup.lists) return nullptr;
  return std::make_unique<AllPairsMemory>(setup.slots,
                                          AllPairsSetup{setup.pairs, setup.packed_pairs.table});
}

}  // namespace quiltmd
