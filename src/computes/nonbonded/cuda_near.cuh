// SPDX-License-Identifier: Apache-2.0
// Which of 32 j atoms are within reach of any of the eight i atoms of a cluster, by matrix units:
// |j - i|^2 = (x, y, z, |j|^2)_j . (-2 x, -2 y, -2 z, 1)_i + |i|^2 is a product of a 32 x 4 and a
// 4 x 8 matrix, two instructions instead of 256 fused ones a lane, and the i atoms take four
// registers instead of 32. Factors have 11 bits: the reach is widened by what that may lose, about
// 0.002 nm, which is nothing to a list with a buffer. Not for tests that must be exact.
#pragma once

#include "decomposition/slots.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::lists {

// A number rounded to the 11 bits that matrix units multiply.
__device__ __forceinline__ uint32_t matrix_bits(float v) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return bits;
}

// A j atom as a row of the matrix. Padding is nowhere.
__device__ __forceinline__ uint4 matrix_row(float x, float y, float z) {
  const float square = fmaf(x, x, fmaf(y, y, z * z));
  return {matrix_bits(x), matrix_bits(y), matrix_bits(z), matrix_bits(square)};
}
__device__ __forceinline__ uint4 nowhere_row() { return {0, 0, 0, __float_as_uint(1.0e30f)}; }

// The i atoms, spread over the lanes as the multiplication wants them.
struct NearTest {
  uint32_t factor;    // component lane % 4 of atom lane / 4
  float square[2];    // |i|^2 - reach^2 of atoms 2 (lane % 4) and the next
};

// How much the squared distance of an atom at reach may be wrong, when i atoms are closer than
// `radius` to the origin: twice the rounding of each product's factors and that of |j|^2.
__device__ __forceinline__ float matrix_error(float radius, float reach) {
  return (radius + reach) * (1.4f * radius + 0.3f * reach) * (1.0f / 512);
}

// `sites`: the eight i atoms, in memory; coordinates count from `origin`.
__device__ __forceinline__ NearTest make_near_test(const Float4* sites, float3 origin, float reach2,
                                                   int lane) {
  const int atom = lane / 4, component = lane % 4;
  const auto square = [&](int i) {
    const float x = sites[i].x - origin.x, y = sites[i].y - origin.y, z = sites[i].z - origin.z;
    return fmaf(x, x, fmaf(y, y, z * z)) - reach2;
  };
  const float own = component == 0   ? sites[atom].x - origin.x
                    : component == 1 ? sites[atom].y - origin.y
                                     : sites[atom].z - origin.z;
  return {matrix_bits(component == 3 ? 1.0f : -2 * own),
          {square(2 * component), square(2 * component + 1)}};
}

// Squared distances less reach^2 of 16 rows, two columns of two rows a lane: true in the lanes that
// hold a negative one, for row lane / 4 and row lane / 4 + 8.
__device__ __forceinline__ void near_rows(const NearTest& test, uint32_t upper, uint32_t lower,
                                          bool& upper_near, bool& lower_near) {
  float d[4];
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%7, %8, %7, %8};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(upper), "r"(lower), "r"(test.factor), "f"(test.square[0]), "f"(test.square[1]));
  upper_near = static_cast<int>(__float_as_uint(d[0]) | __float_as_uint(d[1])) < 0;
  lower_near = static_cast<int>(__float_as_uint(d[2]) | __float_as_uint(d[3])) < 0;
}

// Whether the j atom of this lane is near; `row`: its row, in shared memory.
__device__ __forceinline__ bool is_near(const NearTest& test, const uint4* row, int lane) {
  uint32_t part[4];  // component lane % 4 of rows lane / 4, lane / 4 + 8, ...
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  bool near[4];
  near_rows(test, part[0], part[1], near[0], near[1]);
  near_rows(test, part[2], part[3], near[2], near[3]);
  unsigned lanes[4];  // four lanes know of a row
#pragma unroll
  for (int n = 0; n < 4; ++n) lanes[n] = __ballot_sync(kAllLanes, near[n]);
  const unsigned low = lane & 8 ? lanes[1] : lanes[0], high = lane & 8 ? lanes[3] : lanes[2];
  return (lane & 16 ? high : low) >> 4 * (lane % 8) & 0xfu;
}

}  // namespace quiltmd::lists
