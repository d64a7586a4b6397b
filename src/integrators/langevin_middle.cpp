// SPDX-License-Identifier: Apache-2.0
// Langevin-middle (Zhang et al., J. Phys. Chem. A 123, 6056 (2019)): one operation a step, from state
// to state.
#include <cmath>

#include "integrators/plans.h"
#include "math/units.h"

namespace quiltmd {

StepPlan langevin_middle(const Parameters& parameters, const Thermostat* thermostat) {
  if (thermostat)
    throw Error(
        "langevin_middle is a thermostat by itself: leave out the other one, or choose "
        "velocity_verlet");
  const double timestep = parameters.number("timestep");
  const double temperature = parameters.number("temperature");
  const double keep = std::exp(-parameters.number("friction") * timestep);
  const uint64_t seed = parameters.seed();
  const double thermal = kBoltzmann * temperature;
  StepPlan plan;
  plan.temperature = temperature;
  plan.bath.keep = keep;
  plan.bath.noise_scale = std::sqrt(thermal * (1 - keep * keep));
  plan.constraint_loss = 0.125 * thermal * thermal * timestep * timestep * (1 - keep * keep);
  // The bath takes up errors: few pairs of atoms approach each other by more than 0.65 of the farthest
  // that single atoms move; what they lack is a force at the cutoff, and the 0.05 kJ/mol/ns that each
  // atom gains by that warm it by some 0.003 K.
  plan.buffer_fraction = 0.65;
  plan.plain.middle = {{"integrate", [=](Device& device, const StepContext& c) {
                          device.launch(LangevinMiddle{c.groups, timestep, seed, c.energy,
                                                       c.forces_after, c.counter});
                        }}};
  return plan;
}

}  // namespace quiltmd
