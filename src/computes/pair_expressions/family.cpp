// SPDX-License-Identifier: Apache-2.0
#include "computes/pair_expressions/pair_expression_memory.h"
#include "computes/pair_expressions/reference.h"
#include "math/error.h"

namespace quiltmd {
namespace {

void refuse_unsuited(const System& system, const NonbondedSettings& settings, bool) {
  if (settings.has_two_cutoffs())
    throw Error(
        "custom pair forces cannot be combined with a Coulomb cutoff shorter than the cutoff: "
        "leave out coulomb_cutoff");
  for (const PairExpression& pair : system.pair_expressions)
    if (pair.cutoff > settings.cutoff)
      throw Error(pair.description + " has a cutoff of " + std::to_string(pair.cutoff) +
                  " nm, beyond that of the simulation, " + std::to_string(settings.cutoff) +
                  " nm: choose a longer cutoff");
}

}  // namespace

Family pair_expressions_family() {
  return {.forces = "custom pair forces",
          .acts = [](const System& system,
                     const NonbondedSettings&) { return !system.pair_expressions.empty(); },
          .make =
              [](const FamilySetup& setup) {
                return std::make_unique<PairExpressionMemory>(setup.slots, setup.lists(),
                                                              setup.custom_energies);
              },
          .add_reference = reference_pair_expressions,
          .refuse_unsuited = refuse_unsuited};
}

}  // namespace quiltmd
