// SPDX-License-Identifier: Apache-2.0
// Heat baths from the parameters of integrators and thermostats.
#include <cmath>
#include <string>

#include "integrators/plans.h"
#include "math/units.h"

namespace quiltmd {
namespace {

double read_temperature(const Parameters& parameters, const std::string& suffix) {
  const double temperature = parameters.number("temperature" + suffix);
  if (!(temperature >= 0)) throw Error(parameters.kind + ": the temperature must not be negative");
  return temperature;
}

}  // namespace

CoupledBath read_coupled_bath(const Parameters& parameters, const std::string& suffix,
                              double time) {
  const double temperature = read_temperature(parameters, suffix);
  const double time_constant = parameters.number("time_constant" + suffix);
  if (!(time_constant > 0)) throw Error(parameters.kind + ": the time constant must be positive");
  return {temperature, {kBoltzmann * temperature, std::exp(-time / time_constant), 0}};
}

CoupledBath read_friction_bath(const Parameters& parameters, const std::string& suffix,
                               double time) {
  const double temperature = read_temperature(parameters, suffix);
  const double friction = parameters.number("friction" + suffix);
  if (!(friction >= 0)) throw Error(parameters.kind + ": the friction must not be negative");
  const double keep = std::exp(-friction * time), thermal = kBoltzmann * temperature;
  return {temperature, {thermal, keep, std::sqrt(thermal * (1 - keep * keep))}};
}

BathSettings read_baths(const Parameters& parameters, double time, ReadBath* read) {
  BathSettings baths;
  if (has_groups(parameters)) {
    for (int k = 0; k < parameters.integer("baths"); ++k) {
      const CoupledBath bath = read(parameters, bath_suffix(k), time);
      baths.add_group(bath.temperature, bath.heat);
    }
  } else {
    const CoupledBath bath = read(parameters, "", time);
    baths.temperature = bath.temperature;
    baths.heat = bath.heat;
  }
  return baths;
}

}  // namespace quiltmd
