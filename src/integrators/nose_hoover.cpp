// SPDX-License-Identifier: Apache-2.0
#include "integrators/nose_hoover.h"

#include "integrators/plans.h"

namespace quiltmd {
namespace {

constexpr int kLongestChain = 32;
// Actions in a time constant, at least: below, the impulses of the chain heat or cool the system.
constexpr int kLeastActions = 4;

std::vector<Variable> variables_of_chain(int length) {
  std::vector<Variable> variables;
  for (const char* what : {"position", "velocity"})
    for (int k = 1; k <= length; ++k)
      variables.push_back({"nose_hoover." + std::string(what) + "_" + std::to_string(k)});
  return variables;
}

}  // namespace

Thermostat nose_hoover(const Parameters& parameters, const ThermostatInput& input) {
  const auto every = static_cast<int>(parameters.integer("every"));
  const int64_t length = parameters.integer("chain_length");
  const double temperature = parameters.number("temperature");
  const double time_constant = parameters.number("time_constant");
  const double time = every * input.timestep;
  if (every < 1) throw Error("nose_hoover: 'every' must be 1 or more steps");
  if (length < 1 || length > kLongestChain)
    throw Error("nose_hoover: a chain has 1 to " + std::to_string(kLongestChain) + " thermostats");
  if (!(temperature > 0)) throw Error("nose_hoover: the temperature must be positive");
  if (!(time_constant >= kLeastActions * time))
    throw Error("nose_hoover: the time constant must be at least " + std::to_string(kLeastActions) +
                " times as long as the time between actions, " + std::to_string(time) +
                " ps: lower 'every', or raise 'time_constant'");
  if (!(input.degrees_of_freedom > 0))
    throw Error(
        "nose_hoover: the system has no degree of freedom besides the motion of its centre of "
        "mass");
  const ThermostatChain chain{nullptr, static_cast<int>(length), input.degrees_of_freedom,
                              time_constant};
  const StepTask act{"thermostat", [=](Device& device, const StepContext& c) {
                       AdvanceChain advance{
                           chain, time, c.sums, c.numbers, c.groups.conditions, c.shared_heat};
                       advance.chain.variables = c.variables;
                       device.launch(advance);
                       device.launch(ScaleVelocities{c.groups, c.numbers, nullptr});
                     }};
  return {{sum_kinetic_energy(), act}, every, temperature, variables_of_chain(chain.length)};
}

}  // namespace quiltmd
