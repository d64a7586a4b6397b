// SPDX-License-Identifier: Apache-2.0
#include "integrators/group_constraints.h"

#include <algorithm>
#include <utility>

namespace quiltmd {

// Finds the rows of the factor of a large group (computes/constraints/coupled.h).
static void find_rows(std::vector<GroupConstraint>& constraints) {
  int32_t used = 0;
  for (int32_t k = 0; k < std::ssize(constraints); ++k) {
    GroupConstraint& own = constraints[static_cast<size_t>(k)];
    const auto meets = [&](const GroupConstraint& other) {
      return own.first == other.first || own.first == other.second || own.second == other.first ||
             own.second == other.second;
    };
    const auto first = std::find_if(constraints.begin(), constraints.begin() + k, meets);
    own.column = static_cast<int32_t>(first - constraints.begin());
    own.row = used - own.column;
    used += k - own.column + 1;
  }
}

GroupConstraints constraints_by_group(const System& system) {
  std::vector<int32_t> group_of(static_cast<size_t>(system.atom_count()));
  for (int g = 0; g < system.group_count(); ++g)
    for (int32_t a = system.group_start[static_cast<size_t>(g)];
         a < system.group_start[static_cast<size_t>(g) + 1]; ++a)
      group_of[static_cast<size_t>(a)] = g;
  std::vector<std::vector<GroupConstraint>> by_group(static_cast<size_t>(system.group_count()));
  for (size_t c = 0; c < system.constraints.size(); ++c) {
    auto [i, j] = system.constraints[c];
    if (i > j) std::swap(i, j);
    const auto g = static_cast<size_t>(group_of[static_cast<size_t>(i)]);
    const int32_t first = system.group_start[g];
    by_group[g].push_back({i - first, j - first, system.constraint_lengths[c]});
  }
  GroupConstraints result{{0}, {}};
  for (int g = 0; g < system.group_count(); ++g) {
    std::vector<GroupConstraint>& list = by_group[static_cast<size_t>(g)];
    std::sort(list.begin(), list.end(), [](const GroupConstraint& a, const GroupConstraint& b) {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    });
    if (system.is_large(g)) find_rows(list);
    result.all.insert(result.all.end(), list.begin(), list.end());
    result.start.push_back(static_cast<int32_t>(result.all.size()));
  }
  return result;
}

}  // namespace quiltmd
