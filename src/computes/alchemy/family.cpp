// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/alchemy_memory.h"

namespace quiltmd {

std::unique_ptr<ForceFamily> make_alchemy_family(const FamilySetup& setup) {
  if (!setup.slots.system.alchemy) return nullptr;
  return std::make_unique<AlchemyMemory>(setup.slots, setup.nonbonded);
}

}  // namespace quiltmd
