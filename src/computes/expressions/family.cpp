// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/expression_memory.h"
#include "computes/expressions/reference.h"

namespace quiltmd {

Family expressions_family() {
  return {.forces = "custom forces",
          .acts = [](const System& system,
                     const NonbondedSettings&) { return !system.expressions.empty(); },
          .make =
              [](const FamilySetup& setup) {
                return std::make_unique<ExpressionMemory>(setup.slots, setup.custom_energies);
              },
          .add_reference = reference_expressions};
}

}  // namespace quiltmd
