// SPDX-License-Identifier: Apache-2.0
#include "integrators/velocity_rescaling.h"

#include "integrators/plans.h"
#include "math/units.h"

namespace quiltmd {
namespace {

Thermostat rescaling(const Parameters& parameters, const ThermostatInput& input,
                     VelocityNoise noise) {
  const auto every = static_cast<int>(parameters.integer("every"));
  const double temperature = parameters.number("temperature");
  const double time_constant = parameters.number("time_constant");
  if (every < 1) throw Error(parameters.kind + ": 'every' must be 1 or more steps");
  if (!(temperature >= 0)) throw Error(parameters.kind + ": a temperature is not negative");
  if (!(time_constant > 0)) throw Error(parameters.kind + ": the time constant must be positive");
  if (!(input.degrees_of_freedom > 1))
    throw Error(
        parameters.kind +
        ": the system has fewer than two degrees of freedom besides the motion of its centre "
        "of mass");
  const double keep = std::exp(-every * input.timestep / time_constant);
  const double shared_by = input.degrees_of_freedom;
  const uint64_t seed = noise == VelocityNoise::kThermal ? parameters.seed() : 0;
  const StepTask scale{"thermostat", [=](Device& device, const StepContext& c) {
                         device.launch(DrawRescaling{c.sums, c.numbers, c.groups.conditions,
                                                     shared_by, keep, noise, seed, c.groups.step});
                         device.launch(ScaleVelocities{c.groups, c.numbers, c.energy});
                       }};
  return {{sum_kinetic_energy(), scale}, every, temperature, {}};
}

}  // namespace

StepTask sum_kinetic_energy() {
  return {"kinetic",
          [](Device& device, const StepContext& c) {
            device.fill(c.sums, 0, sizeof(int64_t), Stream::kMain);
            device.launch(SumKineticEnergy{c.groups, c.sums});
          },
          1};
}

Thermostat velocity_rescaling(const Parameters& parameters, const ThermostatInput& input) {
  return rescaling(parameters, input, VelocityNoise::kThermal);
}

Thermostat berendsen_thermostat(const Parameters& parameters, const ThermostatInput& input) {
  return rescaling(parameters, input, VelocityNoise::kNone);
}

}  // namespace quiltmd
