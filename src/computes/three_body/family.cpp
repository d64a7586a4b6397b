// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "computes/nonbonded_settings.h"
#include "computes/three_body/reference.h"
#include "computes/three_body/three_body_memory.h"

namespace quiltmd {
namespace {

void refuse_unsuited(const System& system, const NonbondedSettings& settings, bool) {
  if (system.alchemy)
    throw Error(
        "a three-body potential cannot be combined with alchemical atoms: leave out one of them");
  with_form(*system.three_body, [&]<class Form>() {
    const double needed = longest_cutoff<Form>(rows_of<Form>(*system.three_body));
    if (settings.cutoff >= needed) return;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the cutoff of %.6g nm is shorter than that of the three-body potential, "
                  "%.6g nm: choose that one",
                  settings.cutoff, needed);
    throw Error(text);
  });
}

std::unique_ptr<ForceFamily> make(const FamilySetup& setup) {
  std::unique_ptr<ForceFamily> made;
  with_form(*setup.slots.system.three_body, [&]<class Form>() {
    made = std::make_unique<ThreeBodyMemory<Form>>(setup.slots, setup.lists());
  });
  return made;
}

}  // namespace

Family three_body_family() {
  return {.forces = "three-body potentials",
          .acts = [](const System& system,
                     const NonbondedSettings&) { return system.three_body.has_value(); },
          .make = make,
          .add_reference = reference_three_body,
          .refuse_unsuited = refuse_unsuited,
          .full_shell = true,
          .exact_positions = true};
}

}  // namespace quiltmd
