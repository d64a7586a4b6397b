// SPDX-License-Identifier: Apache-2.0
#include "computes/collective/collective_memory.h"
#include "computes/collective/reference.h"

namespace quiltmd {

Family collective_family() {
  return {.forces = "collective restraints",
          .acts = [](const System& system,
                     const NonbondedSettings&) { return !system.collective.empty(); },
          .make =
              [](const FamilySetup& setup) {
                return std::make_unique<CollectiveMemory>(setup.slots, setup.timestep);
              },
          .add_reference = reference_collective};
}

}  // namespace quiltmd
