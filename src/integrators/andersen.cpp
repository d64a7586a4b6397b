// SPDX-License-Identifier: Apache-2.0
#include "integrators/andersen.h"

#include <cmath>
#include <string>

#include "integrators/plans.h"
#include "math/units.h"

namespace quiltmd {
namespace {

struct CollidingBath {
  double temperature;
  HeatBath heat;
};

// The bath whose numbers have names that end in `suffix`; `time` (ps) is that between actions.
CollidingBath read_bath(const Parameters& parameters, const std::string& suffix, double time) {
  const double temperature = parameters.number("temperature" + suffix);
  const double time_constant = parameters.number("time_constant" + suffix);
  if (!(temperature >= 0)) throw Error(parameters.kind + ": a temperature is not negative");
  if (!(time_constant > 0)) throw Error(parameters.kind + ": the time constant must be positive");
  return {temperature, {kBoltzmann * temperature, std::exp(-time / time_constant), 0}};
}

}  // namespace

Thermostat andersen(const Parameters& parameters, const ThermostatInput& input) {
  const int every = steps_between_actions(parameters);
  const double time = every * input.timestep;
  const uint64_t seed = parameters.seed();
  Thermostat made{{}, every, {}, {}};
  const bool grouped = has_groups(parameters);
  if (grouped) {
    for (int k = 0; k < parameters.integer("baths"); ++k) {
      const CollidingBath bath = read_bath(parameters, bath_suffix(k), time);
      made.baths.add_group(bath.temperature, bath.heat);
    }
  } else {
    const CollidingBath bath = read_bath(parameters, "", time);
    made.baths.temperature = bath.temperature;
    made.baths.heat = bath.heat;
  }
  made.stage = {{"thermostat", [=](Device& device, const StepContext& c) {
                   const BathTable baths = grouped ? c.baths : BathTable{};
                   device.launch(Collide{c.groups, seed, c.energy, baths});
                 }}};
  return made;
}

}  // namespace quiltmd
