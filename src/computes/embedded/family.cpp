// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "computes/embedded/embedded_memory.h"
#include "computes/embedded/reference.h"
#include "math/error.h"

namespace quiltmd {
namespace {

std::string shown(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

void refuse_unsuited(const System& system, const NonbondedSettings& settings, bool) {
  if (system.alchemy)
    throw Error("embedded atoms cannot be combined with alchemical atoms: leave out one of them");
  if (settings.has_two_cutoffs())
    throw Error(
        "embedded atoms cannot be combined with a Coulomb cutoff shorter than the cutoff: "
        "leave out coulomb_cutoff");
  if (settings.cutoff < system.embedded->cutoff)
    throw Error("the cutoff of " + shown(settings.cutoff) +
                " nm is shorter than that of the potential of embedded atoms, " +
                shown(system.embedded->cutoff) + " nm: choose that one");
}

}  // namespace

Family embedded_family() {
  return {.forces = "embedded atoms",
          .acts = [](const System& system,
                     const NonbondedSettings&) { return system.embedded.has_value(); },
          .make =
              [](const FamilySetup& setup) {
                return std::make_unique<EmbeddedMemory>(setup.slots, setup.lists());
              },
          .add_reference = reference_embedded,
          .refuse_unsuited = refuse_unsuited};
}

}  // namespace quiltmd
