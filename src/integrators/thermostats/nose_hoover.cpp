// SPDX-License-Identifier: Apache-2.0
#include "integrators/nose_hoover.h"

#include <string>
#include <vector>

#include "integrators/plans.h"
#include "math/units.h"

namespace quiltmd {
namespace {

constexpr int kLongestChain = 32;
// Actions in a time constant, at least: below, the impulses of the chain heat or cool the system.
constexpr int kLeastActions = 4;

// `of`: which chain, where there are several.
void add_variables(const std::string& of, int length, std::vector<Variable>& variables) {
  for (const char* what : {"position", "velocity"})
    for (int k = 1; k <= length; ++k)
      variables.push_back({"nose_hoover." + of + what + "_" + std::to_string(k)});
}

int chain_length(const Parameters& parameters) {
  const int length = parameters.integer("chain_length");
  if (length < 1 || length > kLongestChain)
    throw Error(parameters.kind + ": 'chain_length' must be from 1 to " +
                std::to_string(kLongestChain));
  return length;
}

double positive_temperature(const Parameters& parameters, const std::string& suffix) {
  const double temperature = parameters.number("temperature" + suffix);
  if (!(temperature > 0)) throw Error(parameters.kind + ": the temperature must be positive");
  return temperature;
}

// `time`: between actions, ps.
double time_constant(const Parameters& parameters, const std::string& suffix, double time) {
  const double constant = parameters.number("time_constant" + suffix);
  if (!(constant >= kLeastActions * time))
    throw Error(parameters.kind + ": the time constant must be at least " +
                std::to_string(kLeastActions) + " times as long as the time between actions, " +
                std::to_string(time) + " ps: lower 'every', or raise 'time_constant'");
  return constant;
}

void check_freedom(const Parameters& parameters, const std::string& whose, double degrees) {
  if (!(degrees > 0))
    throw Error(parameters.kind + ": " + whose +
                " has no degree of freedom besides the motion of the centre of mass");
}

Thermostat chain_of_all(const Parameters& parameters, const ThermostatInput& input) {
  const int every = steps_between_actions(parameters);
  const double time = every * input.timestep;
  const ThermostatChain chain{nullptr, chain_length(parameters), input.degrees_of_freedom,
                              time_constant(parameters, "", time)};
  check_freedom(parameters, "the system", input.degrees_of_freedom);
  const StepTask act{"thermostat", [=](Device& device, const StepContext& c) {
                       AdvanceChain advance{
                           chain, time, c.sums, c.numbers, c.groups.conditions, c.shared_heat};
                       advance.chain.variables = c.variables;
                       device.launch(advance);
                       device.launch(ScaleVelocities{c.groups, c.numbers, nullptr});
                     }};
  Thermostat made{{sum_kinetic_energy(), act}, every, {}, {}};
  made.baths.temperature = positive_temperature(parameters, "");
  add_variables("", chain.length, made.variables);
  return made;
}

Thermostat chains_of_groups(const Parameters& parameters, const ThermostatInput& input) {
  const int every = steps_between_actions(parameters);
  const int baths = parameters.integer("baths");
  Thermostat made{{}, every, {}, {}};
  AdvanceChains advance{};
  advance.baths = baths;
  advance.length = chain_length(parameters);
  advance.time = every * input.timestep;
  for (int k = 0; k < baths; ++k) {
    const double temperature = positive_temperature(parameters, bath_suffix(k));
    made.baths.add_group(temperature, {kBoltzmann * temperature, 1, 0});
    advance.degrees_of_freedom[k] = input.of_baths.at(static_cast<size_t>(k));
    advance.time_constant[k] = time_constant(parameters, bath_suffix(k), advance.time);
    check_freedom(parameters, bath_name(k), advance.degrees_of_freedom[k]);
    add_variables("bath_" + std::to_string(k + 1) + "_", advance.length, made.variables);
  }
  const StepTask act{
      "thermostat", [=](Device& device, const StepContext& c) {
        AdvanceChains now = advance;
        now.variables = c.variables;
        now.kinetic = c.sums;
        now.factor = c.numbers;
        now.bath = c.baths.baths;
        now.heat = c.shared_heat;
        device.launch(now);
        device.launch(ScaleVelocitiesGroups{c.groups, c.numbers, nullptr, c.baths, baths});
      }};
  made.stage = {sum_kinetic_energy_of_groups(baths), act};
  return made;
}

Thermostat chains(const Parameters& parameters, const ThermostatInput& input) {
  return has_groups(parameters) ? chains_of_groups(parameters, input)
                                : chain_of_all(parameters, input);
}

}  // namespace

ThermostatKind nose_hoover_thermostat() { return {chains, kTemperature}; }

}  // namespace quiltmd
