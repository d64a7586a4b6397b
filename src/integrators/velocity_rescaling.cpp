// SPDX-License-Identifier: Apache-2.0
#include "integrators/velocity_rescaling.h"

#include <string>

#include "integrators/plans.h"

namespace quiltmd {
namespace {

void check_two_degrees(const Parameters& parameters, const std::string& whose, double degrees) {
  if (!(degrees > 1))
    throw Error(parameters.kind + ": " + whose +
                " has fewer than two degrees of freedom besides the motion of the centre of mass");
}

uint64_t seed_of(const Parameters& parameters, VelocityNoise noise) {
  return noise == VelocityNoise::kThermal ? parameters.seed() : 0;
}

Thermostat rescaling_of_all(const Parameters& parameters, const ThermostatInput& input,
                            VelocityNoise noise) {
  const int every = steps_between_actions(parameters);
  const double shared_by = input.degrees_of_freedom;
  const CoupledBath bath = read_coupled_bath(parameters, "", every * input.timestep);
  check_two_degrees(parameters, "the system", shared_by);
  const double keep = bath.heat.keep;
  const uint64_t seed = seed_of(parameters, noise);
  const StepTask scale{"thermostat", [=](Device& device, const StepContext& c) {
                         device.launch(DrawRescaling{c.sums, c.numbers, c.groups.conditions,
                                                     shared_by, keep, noise, seed, c.groups.step});
                         device.launch(ScaleVelocities{c.groups, c.numbers, c.energy});
                       }};
  Thermostat made{{sum_kinetic_energy(), scale}, every, {}, {}};
  made.baths.temperature = bath.temperature;
  return made;
}

Thermostat rescaling_of_groups(const Parameters& parameters, const ThermostatInput& input,
                               VelocityNoise noise) {
  const int every = steps_between_actions(parameters);
  const int baths = parameters.integer("baths");
  Thermostat made{{}, every, {}, {}};
  DrawRescalingGroups draw{};
  draw.baths = baths;
  draw.noise = noise;
  draw.seed = seed_of(parameters, noise);
  for (int k = 0; k < baths; ++k) {
    const CoupledBath bath = read_coupled_bath(parameters, bath_suffix(k), every * input.timestep);
    made.baths.add_group(bath.temperature, bath.heat);
    draw.degrees_of_freedom[k] = input.of_baths.at(static_cast<size_t>(k));
    check_two_degrees(parameters, bath_name(k), draw.degrees_of_freedom[k]);
  }
  const StepTask scale{
      "thermostat", [=](Device& device, const StepContext& c) {
        DrawRescalingGroups now = draw;
        now.kinetic = c.sums;
        now.factor = c.numbers;
        now.bath = c.baths.baths;
        now.step = c.groups.step;
        device.launch(now);
        device.launch(ScaleVelocitiesGroups{c.groups, c.numbers, c.energy, c.baths, baths});
      }};
  made.stage = {sum_kinetic_energy_of_groups(baths), scale};
  return made;
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

StepTask sum_kinetic_energy_of_groups(int baths) {
  return {"kinetic",
          [baths](Device& device, const StepContext& c) {
            device.fill(c.sums, 0, static_cast<size_t>(baths) * sizeof(int64_t), Stream::kMain);
            device.launch(SumKineticEnergyGroups{c.groups, c.sums, c.baths, baths});
          },
          baths};
}

int steps_between_actions(const Parameters& parameters) {
  const int every = parameters.integer("every");
  if (every < 1) throw Error(parameters.kind + ": 'every' must be 1 or more steps");
  return every;
}

Thermostat velocity_rescaling(const Parameters& parameters, const ThermostatInput& input,
                              VelocityNoise noise) {
  return has_groups(parameters) ? rescaling_of_groups(parameters, input, noise)
                                : rescaling_of_all(parameters, input, noise);
}

}  // namespace quiltmd
