// SPDX-License-Identifier: Apache-2.0
// The constraints of a system, hydrogen group by hydrogen group.
#pragma once

#include <cstdint>
#include <vector>

#include "computes/constraints/group_constraint.h"
#include "system/system.h"

namespace quiltmd {

struct GroupConstraints {
  std::vector<int32_t> start;        // (groups + 1)
  std::vector<GroupConstraint> all;  // of each group in order of their atoms
};

// `system` has its groups.
GroupConstraints constraints_by_group(const System& system);

}  // namespace quiltmd
