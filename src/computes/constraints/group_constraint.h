// SPDX-License-Identifier: Apache-2.0
// A distance constraint, as the kernels read it.
#pragma once

#include <cstdint>

namespace quiltmd {

// One distance constraint inside a group; atoms counted from the group's first. A group of three
// atoms with the three constraints (0,1), (0,2), (1,2) of lengths d, d, d' is a rigid water.
struct GroupConstraint {
  int32_t first, second;
  double length;  // nm
  // Of a large group: the first constraint in this one's row of the factor (coupled.h), and where in the
  // factor that of the group's first constraint would be.
  int32_t column = 0, row = 0;
};

}  // namespace quiltmd
