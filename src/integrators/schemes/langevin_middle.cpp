// SPDX-License-Identifier: Apache-2.0
// Langevin-middle (Zhang et al., J. Phys. Chem. A 123, 6056 (2019)): one operation a step, from state
// to state, with one heat bath or with several for groups of atoms.
#include "integrators/plans.h"

namespace quiltmd {
namespace {

// What constraints take from a bath in a step of this length.
double constraint_loss(const HeatBath& bath, double timestep) {
  return 0.125 * bath.thermal * bath.thermal * timestep * timestep * (1 - bath.keep * bath.keep);
}

BathSettings baths_with_losses(const Parameters& parameters, double timestep) {
  BathSettings baths = read_baths(parameters, timestep, read_friction_bath);
  for (const HeatBath& bath : baths.of_groups)
    baths.constraint_loss.push_back(constraint_loss(bath, timestep));
  if (baths.of_groups.empty()) baths.constraint_loss = {constraint_loss(baths.heat, timestep)};
  return baths;
}

StepPlan middle_plan(const Parameters& parameters, const Thermostat* thermostat) {
  if (thermostat)
    throw Error(parameters.kind +
                " contains a thermostat: leave out the other one, or choose velocity_verlet");
  StepPlan plan;
  // A smaller Verlet buffer is enough here: few pairs approach each other by more than 0.65 of the
  // largest displacement of a single atom. What they miss is a force at the cutoff; the resulting 0.05
  // kJ/mol/ns per atom heats the system by about 0.003 K, which the thermostat removes.
  plan.buffer_fraction = 0.65;
  const double timestep = parameters.number("timestep");
  const uint64_t seed = parameters.seed();
  const bool grouped = has_groups(parameters);
  plan.baths = baths_with_losses(parameters, timestep);
  plan.plain.middle = {{"integrate", [=](Device& device, const StepContext& c) {
                          if (grouped)
                            device.launch(LangevinMiddleGroups{c.groups, timestep, seed, c.energy,
                                                               c.forces_after, c.counter, c.baths});
                          else
                            device.launch(LangevinMiddle{c.groups, timestep, seed, c.energy,
                                                         c.forces_after, c.counter});
                        }}};
  return plan;
}

constexpr const char* kTemperatureAndFriction[] = {"temperature", "friction"};

}  // namespace

IntegratorKind langevin_middle_integrator() { return {middle_plan, kTemperatureAndFriction}; }

}  // namespace quiltmd
