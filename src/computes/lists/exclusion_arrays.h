// SPDX-License-Identifier: Apache-2.0
// Pairs of atoms as the arrays of an ExclusionTable.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace quiltmd {

struct ExclusionArrays {
  std::vector<int32_t> start, partners;
};

ExclusionArrays exclusion_arrays(int atoms, const std::vector<std::array<int32_t, 2>>& pairs);

}  // namespace quiltmd
