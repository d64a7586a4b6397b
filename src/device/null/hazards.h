// SPDX-License-Identifier: Apache-2.0
// Finds pairs of commands that use the same memory in ways that conflict, on different streams, with
// nothing that puts one before the other: a GPU may run them in either order or at the same time.
//
// Work on one stream counts as ordered. That kernels which start early wait for those before them
// (device/cuda/launch.h) cannot be seen here, nor what kernels do in fact: both are declarations.
#pragma once

#include <string>
#include <vector>

#include "device/null/command_log.h"

namespace quiltmd {

struct Hazard {
  std::string first, second;  // operations, in the order in which they were given to the device
  std::string first_field, second_field;  // by which they reach the memory
  Access first_access, second_access;

  std::string describe() const;  // in one line
};

std::vector<Hazard> find_hazards(const std::vector<Command>& commands);

}  // namespace quiltmd
