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
  const double friction = parameters.number("friction");
  if (!(temperature >= 0)) throw Error("langevin_middle: a temperature is not negative");
  if (!(friction >= 0)) throw Error("langevin_middle: a friction is not negative");
  const double keep = std::exp(-friction * timestep);
  const uint64_t seed = parameters.seed();
  const double thermal = kBoltzmann * temperature;
  StepPlan plan;
  plan.baths.temperature = temperature;
  plan.baths.heat.keep = keep;
  plan.baths.heat.noise_scale = std::sqrt(thermal * (1 - keep * keep));
  plan.baths.constraint_loss = 0.125 * thermal * thermal * timestep * timestep * (1 - keep * keep);
  // A smaller Verlet buffer is enough here: few pairs approach each other by more than 0.65 of the
  // largest displacement of a single atom. What they miss is a force at the cutoff; the resulting 0.05
  // kJ/mol/ns per atom heats the system by about 0.003 K, which the thermostat removes.
  plan.buffer_fraction = 0.65;
  plan.plain.middle = {{"integrate", [=](Device& device, const StepContext& c) {
                          device.launch(LangevinMiddle{c.groups, timestep, seed, c.energy,
                                                       c.forces_after, c.counter});
                        }}};
  return plan;
}

}  // namespace quiltmd
