// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/alchemy_memory.h"
#include "computes/alchemy/physics.h"
#include "computes/lists/list_memory.h"
#include "computes/reference.h"

namespace quiltmd {

Family alchemy_family() {
  return {.forces = "alchemical atoms",
          .acts = [](const System& system,
                     const NonbondedSettings&) { return system.alchemy.has_value(); },
          .make =
              [](const FamilySetup& setup) {
                return std::make_unique<AlchemyMemory>(setup.slots, setup.nonbonded,
                                                       setup.lists().reach());
              },
          .add_reference = reference_alchemy,
          .refuse_unsuited = refuse_unsuited_to_alchemy,
          .exact_positions = true};
}

}  // namespace quiltmd
