// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/custom_parameters.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "math/error.h"

namespace quiltmd {
namespace {

// The place of the parameter among the constants of the force; as many as there are parameters without it.
size_t place_of(const CustomForce& force, const std::string& name) {
  const auto& names = force.parameters_of_all;
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

bool has(const CustomForce& force, const std::string& name) {
  return place_of(force, name) < force.parameters_of_all.size();
}

void check(const System& system, const std::string& name, double value) {
  const auto has_it = [&](const CustomForce& force) { return has(force, name); };
  if (std::ranges::none_of(system.expressions, has_it) &&
      std::ranges::none_of(system.pair_expressions, has_it))
    throw Error("no custom force has a parameter '" + name +
                "' with one value for all terms: correct its name");
  if (!std::isfinite(value))
    throw Error("the parameter '" + name + "' of custom forces must be a finite number");
  for (const PairExpression& pair : system.pair_expressions)
    if (has(pair, name) && (pair.tail_energy != 0 || pair.tail_virial != 0))
      throw Error(pair.description + " has a correction for pairs beyond the cutoff, which does " +
                  "not follow a change of the parameter '" + name +
                  "': leave out the correction, or create another simulation");
}

void set(CustomForce& force, const std::string& name, double value) {
  if (has(force, name)) force.constants.at(place_of(force, name)) = value;
}

}  // namespace

std::map<std::string, double> take_custom_parameters(std::map<std::string, double>& values,
                                                     const System& system) {
  const std::string_view prefix = kCustomParameter;
  std::map<std::string, double> taken;
  for (const auto& [key, value] : values)
    if (key.starts_with(prefix)) taken[key.substr(prefix.size())] = value;
  for (const auto& [name, value] : taken) {
    check(system, name, value);
    values.erase(kCustomParameter + name);
  }
  return taken;
}

void set_custom_parameters(System& system, const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) {
    for (ExpressionForce& force : system.expressions) set(force, name, value);
    for (PairExpression& pair : system.pair_expressions) set(pair, name, value);
  }
}

}  // namespace quiltmd
