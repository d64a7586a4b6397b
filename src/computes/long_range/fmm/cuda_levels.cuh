// SPDX-License-Identifier: Apache-2.0
// From the potential of a level to points of the one below it.
#pragma once

#include "computes/long_range/fmm/operations.h"
#include "computes/long_range/pme/mesh_frame.h"

namespace quiltmd {

// The weight of a point of the coarse grid for the even or the odd of two neighbours of the fine grid that it is
// `parent` points before.
template <int Order>
__device__ __forceinline__ constexpr float parent_weight(int parent, int odd) {
  constexpr float kOne = 1.0f / Refinement<Order>::kScale;
  return kOne * static_cast<float>(Refinement<Order>::weight(2 * parent + odd));
}

// Contribution of the coarse grid to points (x, y, 2 half) and (x, y, 2 half + 1) of a fine grid of n points.
template <int Order>
__device__ __forceinline__ float2 prolonged(const float* coarse, Int3 n, int x, int y, int half) {
  constexpr int kParents = Refinement<Order>::kParents;
  const Int3 c{n.x / 2, n.y / 2, n.z / 2};
  int z[kParents];
#pragma unroll
  for (int k = 0; k < kParents; ++k) z[k] = onto_grid(half - k, c.z);
  float2 sum{0, 0};
#pragma unroll
  for (int i = 0; i < kParents; ++i) {
    const int64_t plane = int64_t{onto_grid(x / 2 - i, c.x)} * c.y;
    const float of_x = x % 2 ? parent_weight<Order>(i, 1) : parent_weight<Order>(i, 0);
#pragma unroll
    for (int j = 0; j < kParents; ++j) {
      const float* const row = coarse + (plane + onto_grid(y / 2 - j, c.y)) * c.z;
      const float weight = of_x * (y % 2 ? parent_weight<Order>(j, 1) : parent_weight<Order>(j, 0));
      float even = 0, odd = 0;
#pragma unroll
      for (int k = 0; k < kParents; ++k) {
        const float value = row[z[k]];
        even = __fmaf_rn(parent_weight<Order>(k, 0), value, even);
        odd = __fmaf_rn(parent_weight<Order>(k, 1), value, odd);
      }
      sum.x = __fmaf_rn(weight, even, sum.x);
      sum.y = __fmaf_rn(weight, odd, sum.y);
    }
  }
  return sum;
}

}  // namespace quiltmd
