// SPDX-License-Identifier: Apache-2.0
// Parameters that all terms of a custom force share, and that may change during a simulation.
#pragma once

#include <map>
#include <string>

#include "system/system.h"

namespace quiltmd {

// Before the name of such a parameter in set_conditions().
inline constexpr const char* kCustomParameter = "parameter ";

// Takes their new values, by the names of the parameters, out of those of conditions. Throws Error where one is
// not a finite number, or no force has it.
std::map<std::string, double> take_custom_parameters(std::map<std::string, double>& values,
                                                     const System& system);

// Gives all forces of a system that have these parameters their values.
void set_custom_parameters(System& system, const std::map<std::string, double>& values);

}  // namespace quiltmd
