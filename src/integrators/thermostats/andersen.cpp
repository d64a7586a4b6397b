// SPDX-License-Identifier: Apache-2.0
#include "integrators/andersen.h"

#include "integrators/plans.h"

namespace quiltmd {
namespace {

Thermostat collisions(const Parameters& parameters, const ThermostatInput& input) {
  const int every = steps_between_actions(parameters);
  const double time = every * input.timestep;
  const uint64_t seed = parameters.seed();
  Thermostat made{{}, every, {}, {}};
  const bool grouped = has_groups(parameters);
  if (grouped) {
    for (int k = 0; k < parameters.integer("baths"); ++k) {
      const CoupledBath bath = read_coupled_bath(parameters, bath_suffix(k), time);
      made.baths.add_group(bath.temperature, bath.heat);
    }
  } else {
    const CoupledBath bath = read_coupled_bath(parameters, "", time);
    made.baths.temperature = bath.temperature;
    made.baths.heat = bath.heat;
  }
  made.stage = {{"thermostat", [=](Device& device, const StepContext& c) {
                   const BathTable baths = grouped ? c.baths : BathTable{};
                   device.launch(Collide{c.groups, seed, c.energy, baths});
                 }}};
  return made;
}

}  // namespace

ThermostatKind andersen_thermostat() { return {collisions, kTemperature}; }

}  // namespace quiltmd
