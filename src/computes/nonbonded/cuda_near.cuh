// SPDX-License-Identifier: Apache-2.0
// Whether an atom is within reach of an i-cluster: the test that building and pruning of pair lists
// share, so that both keep the same atoms bit by bit. Squares are multiplied out,
// |j - i|^2 = |j|^2 + (|i|^2 - 2 i.j), four instructions an i atom instead of seven; measured from
// an atom of the cluster the numbers are small and the error is about 1e-7 of the reach.
#pragma once

#include "decomposition/slots.h"

namespace quiltmd::lists {

// The i atoms in registers: (-2 r, |r|^2), r from the first atom of the cluster.
struct NearTest {
  float4 centre;
  float4 site[kClusterSize];
};

__device__ __forceinline__ float4 load_site(const Slots& slots, uint32_t slot) {
  return *reinterpret_cast<const float4*>(slots.local + slot);
}

__device__ __forceinline__ NearTest make_near_test(const Slots& slots, int cluster) {
  NearTest test;
  test.centre = load_site(slots, cluster * kClusterSize);
#pragma unroll
  for (int i = 0; i < kClusterSize; ++i) {
    const float4 site = load_site(slots, cluster * kClusterSize + i);
    const float x = site.x - test.centre.x, y = site.y - test.centre.y, z = site.z - test.centre.z;
    test.site[i] = {-2 * x, -2 * y, -2 * z, fmaf(x, x, fmaf(y, y, z * z))};
  }
  return test;
}

// Square of the distance from the nearest i atom; `shift` leads to the j atom's patch.
__device__ __forceinline__ float nearest2(const NearTest& test, float4 j, float4 shift) {
  const float x = j.x + (shift.x - test.centre.x), y = j.y + (shift.y - test.centre.y),
              z = j.z + (shift.z - test.centre.z);
  float least = 3.0e38f;
#pragma unroll
  for (int i = 0; i < kClusterSize; ++i) {
    const float4 s = test.site[i];
    least = fminf(least, fmaf(s.x, x, fmaf(s.y, y, fmaf(s.z, z, s.w))));
  }
  return least + fmaf(x, x, fmaf(y, y, z * z));
}

// The squared reach with which the rounding of the test loses no pair.
__device__ __forceinline__ float squared_reach(float reach) { return reach * reach * 1.00001f; }

}  // namespace quiltmd::lists
