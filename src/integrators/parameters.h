// SPDX-License-Identifier: Apache-2.0
// Named numbers of an integrator, a thermostat or a barostat, as Python's classes give them: an addition needs no
// field in a struct that everybody shares. Each plan reads what it needs, and misses nothing in silence.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>

#include "math/error.h"

namespace quiltmd {

struct Parameters {
  using Value = std::variant<int64_t, double>;

  std::string kind;  // the name in the list of integrators or thermostats
  std::map<std::string, Value> values;

  double number(const std::string& name) const {
    const double found =
        std::visit([](const auto value) { return static_cast<double>(value); }, at(name));
    if (!std::isfinite(found)) throw Error(kind + ": '" + name + "' must be a finite number");
    return found;
  }
  int integer(const std::string& name) const {
    using Limits = std::numeric_limits<int>;
    const int64_t found = whole(name);
    if (found < Limits::min() || found > Limits::max())
      throw Error(kind + ": '" + name + "' must be from " + std::to_string(Limits::min()) + " to " +
                  std::to_string(Limits::max()) + ", not " + std::to_string(found));
    return static_cast<int>(found);
  }
  uint64_t seed() const { return static_cast<uint64_t>(whole("seed")); }

 private:
  int64_t whole(const std::string& name) const {
    const auto* value = std::get_if<int64_t>(&at(name));
    if (!value) throw Error(kind + ": '" + name + "' must be a whole number");
    return *value;
  }
  const Value& at(const std::string& name) const {
    const auto found = values.find(name);
    if (found == values.end()) throw Error(kind + " has no setting '" + name + "': add it");
    return found->second;
  }
};

}  // namespace quiltmd
