// SPDX-License-Identifier: Apache-2.0
// Langevin-middle (Zhang et al., J. Phys. Chem. A 123, 6056 (2019)): one operation a step, from state
// to state, with one heat bath or with several for groups of atoms.
#include <cmath>
#include <string>

#include "integrators/plans.h"
#include "math/units.h"

namespace quiltmd {
namespace {

// The heat bath of these numbers, whose names end in `suffix`, and what constraints take from it.
struct LangevinBath {
  double temperature;
  HeatBath heat;
  double constraint_loss;
};

LangevinBath read_bath(const Parameters& parameters, const std::string& suffix) {
  const double timestep = parameters.number("timestep");
  const double temperature = parameters.number("temperature" + suffix);
  const double friction = parameters.number("friction" + suffix);
  if (!(temperature >= 0)) throw Error(parameters.kind + ": the temperature must not be negative");
  if (!(friction >= 0)) throw Error(parameters.kind + ": the friction must not be negative");
  const double keep = std::exp(-friction * timestep);
  const double thermal = kBoltzmann * temperature;
  return {temperature,
          {thermal, keep, std::sqrt(thermal * (1 - keep * keep))},
          0.125 * thermal * thermal * timestep * timestep * (1 - keep * keep)};
}

// Part of the plan that does not depend on the number of baths.
StepPlan plan_without_baths(const Parameters& parameters, const Thermostat* thermostat) {
  if (thermostat)
    throw Error(parameters.kind +
                " contains a thermostat: leave out the other one, or choose velocity_verlet");
  StepPlan plan;
  // A smaller Verlet buffer is enough here: few pairs approach each other by more than 0.65 of the
  // largest displacement of a single atom. What they miss is a force at the cutoff; the resulting 0.05
  // kJ/mol/ns per atom heats the system by about 0.003 K, which the thermostat removes.
  plan.buffer_fraction = 0.65;
  return plan;
}

StepPlan middle_of_all(const Parameters& parameters, const Thermostat* thermostat) {
  StepPlan plan = plan_without_baths(parameters, thermostat);
  const LangevinBath bath = read_bath(parameters, "");
  plan.baths.temperature = bath.temperature;
  plan.baths.heat = bath.heat;
  plan.baths.constraint_loss = {bath.constraint_loss};
  const double timestep = parameters.number("timestep");
  const uint64_t seed = parameters.seed();
  plan.plain.middle = {{"integrate", [=](Device& device, const StepContext& c) {
                          device.launch(LangevinMiddle{c.groups, timestep, seed, c.energy,
                                                       c.forces_after, c.counter});
                        }}};
  return plan;
}

StepPlan middle_of_groups(const Parameters& parameters, const Thermostat* thermostat) {
  StepPlan plan = plan_without_baths(parameters, thermostat);
  for (int k = 0; k < parameters.integer("baths"); ++k) {
    const LangevinBath bath = read_bath(parameters, bath_suffix(k));
    plan.baths.add_group(bath.temperature, bath.heat);
    plan.baths.constraint_loss.push_back(bath.constraint_loss);
  }
  const double timestep = parameters.number("timestep");
  const uint64_t seed = parameters.seed();
  plan.plain.middle = {{"integrate", [=](Device& device, const StepContext& c) {
                          device.launch(LangevinMiddleGroups{c.groups, timestep, seed, c.energy,
                                                             c.forces_after, c.counter, c.baths});
                        }}};
  return plan;
}

StepPlan middle_plan(const Parameters& parameters, const Thermostat* thermostat) {
  return has_groups(parameters) ? middle_of_groups(parameters, thermostat)
                                : middle_of_all(parameters, thermostat);
}

constexpr const char* kTemperatureAndFriction[] = {"temperature", "friction"};

}  // namespace

IntegratorKind langevin_middle_integrator() { return {middle_plan, kTemperatureAndFriction}; }

}  // namespace quiltmd
