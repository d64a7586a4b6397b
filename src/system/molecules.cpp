// SPDX-License-Identifier: Apache-2.0
#include "system/molecules.h"

#include <algorithm>

namespace quiltmd {

Molecules molecules_of(const System& system) {
  Molecules found;
  const auto groups = static_cast<size_t>(system.group_count());
  found.of_group.assign(groups, -1);
  found.count = system.group_count();
  if (system.molecules.empty()) return found;
  const int32_t named = 1 + *std::max_element(system.molecules.begin(), system.molecules.end());
  const auto molecule_of = [&](size_t group) {
    return static_cast<size_t>(system.molecules[static_cast<size_t>(system.group_start[group])]);
  };
  std::vector<int32_t> groups_in(static_cast<size_t>(named), 0), number(groups_in.size(), -1);
  for (size_t g = 0; g < groups; ++g) ++groups_in[molecule_of(g)];
  found.count = static_cast<int>(
      std::count_if(groups_in.begin(), groups_in.end(), [](int32_t n) { return n > 0; }));
  for (size_t g = 0; g < groups; ++g) {
    const size_t molecule = molecule_of(g);
    if (groups_in[molecule] < 2) continue;
    if (number[molecule] < 0) {
      number[molecule] = found.large();
      found.atoms.push_back(0);
    }
    found.of_group[g] = number[molecule];
    found.atoms[static_cast<size_t>(number[molecule])] +=
        system.group_start[g + 1] - system.group_start[g];
  }
  return found;
}

}  // namespace quiltmd
