// SPDX-License-Identifier: Apache-2.0
#include "integrators/andersen.h"

#include "integrators/plans.h"

namespace quiltmd {
namespace {

Thermostat collisions(const Parameters& parameters, const ThermostatInput& input) {
  const int every = steps_between_actions(parameters);
  const uint64_t seed = parameters.seed();
  const bool grouped = has_groups(parameters);
  Thermostat made{{}, every, read_baths(parameters, every * input.timestep, read_coupled_bath), {}};
  made.stage = {{"thermostat", [=](Device& device, const StepContext& c) {
                   const BathTable baths = grouped ? c.baths : BathTable{};
                   device.launch(Collide{c.groups, seed, c.energy, baths});
                 }}};
  return made;
}

}  // namespace

ThermostatKind andersen_thermostat() { return {collisions, kTemperature}; }

}  // namespace quiltmd
