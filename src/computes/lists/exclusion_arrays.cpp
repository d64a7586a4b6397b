// SPDX-License-Identifier: Apache-2.0
#include "computes/lists/exclusion_arrays.h"

#include <algorithm>

namespace quiltmd {

ExclusionArrays exclusion_arrays(int atoms, const std::vector<std::array<int32_t, 2>>& pairs) {
  std::vector<std::vector<int32_t>> by_atom(static_cast<size_t>(atoms));
  for (const auto& [i, j] : pairs) {
    by_atom[static_cast<size_t>(i)].push_back(j);
    by_atom[static_cast<size_t>(j)].push_back(i);
  }
  ExclusionArrays all{{0}, {}};
  for (auto& list : by_atom) {
    std::sort(list.begin(), list.end());
    all.partners.insert(all.partners.end(), list.begin(), list.end());
    all.start.push_back(static_cast<int32_t>(all.partners.size()));
  }
  return all;
}

}  // namespace quiltmd
