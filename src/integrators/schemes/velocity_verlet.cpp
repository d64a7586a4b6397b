// SPDX-License-Identifier: Apache-2.0
// Velocity Verlet (Swope et al., J. Chem. Phys. 76, 637 (1982)): a run is taken from the middle of one
// step to the middle of the next, where one operation finishes a step and starts the next. With a
// thermostat the two are apart at the steps where it acts, on the velocities of the state between them.
#include "integrators/plans.h"

namespace quiltmd {
namespace {

StepPlan verlet_plan(const Parameters& parameters, const Thermostat* thermostat) {
  const double timestep = parameters.number("timestep");
  const StepTask start{"integrate", [timestep](Device& device, const StepContext& c) {
                         device.launch(VerletStart{c.groups, timestep});
                         if (c.forces_after == ForcesAfter::kCleared) device.launch(c.clear);
                         device.launch(CountStep{c.counter});
                       }};
  const StepTask step{"integrate", [timestep](Device& device, const StepContext& c) {
                        device.launch(VerletStep{c.groups, timestep, c.forces_after, c.counter});
                      }};
  const StepTask finish{"integrate", [timestep](Device& device, const StepContext& c) {
                          device.launch(VerletFinish{c.groups, timestep});
                        }};
  StepPlan plan;
  plan.rebuild = RebuildPoint::kInsideSteps;
  plan.start = {start};
  plan.plain = {{step}, {finish}};
  if (thermostat) {
    Stage& full = plan.coupled.finish;
    full = thermostat->stage;
    full.insert(full.begin(), finish);
    plan.coupled.middle = full;
    plan.coupled.middle.push_back(start);
  }
  return plan;
}

}  // namespace

IntegratorKind velocity_verlet_integrator() { return {verlet_plan, {}}; }

}  // namespace quiltmd
