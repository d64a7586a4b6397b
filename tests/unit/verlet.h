// SPDX-License-Identifier: Apache-2.0
// Settings of tests that run ranks at constant energy.
#pragma once

#include "integrators/plans.h"

namespace quiltmd::test {

inline IntegratorSettings velocity_verlet(double timestep) {
  IntegratorSettings settings;
  settings.integrator = {"velocity_verlet",
                         {{"timestep", timestep},
                          {"long_range_every", int64_t{1}},
                          {"remove_com_every", int64_t{0}},
                          {"resting_axes", int64_t{0}},
                          {"constraint_tolerance", 1e-6}}};
  return settings;
}

}  // namespace quiltmd::test
