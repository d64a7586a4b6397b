// SPDX-License-Identifier: Apache-2.0
// How far 32 j atoms are from the nearest of the eight i atoms of a cluster, by matrix units:
// |j - i|^2 = (x, y, z, |j|^2)_j . (-2 x, -2 y, -2 z, 1)_i + |i|^2 is a product of a 32 x 4 and a
// 4 x 8 matrix, two instructions instead of 256 fused ones a lane, and the i atoms take four
// registers instead of 32. Factors have 11 bits, so distances come out wrong by about 0.002 nm; what
// they may be too great is taken off. Lists with a buffer can do with that, forces could not.
#pragma once

#include "decomposition/slots.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::lists {

// Keeps the compiler from making a value anew wherever it is needed, by fetching it from this very
// lane: a register costs less than that in the loops over candidates.
template <class T>
__device__ __forceinline__ T kept(T value) {
  return __shfl_sync(kAllLanes, value, threadIdx.x % kWarp);
}

// Matrix units read the upper 19 bits of a number: this rounds them to nearest.
__device__ __forceinline__ uint32_t matrix_bits(float v) { return __float_as_uint(v) + 0x1000u; }

// A j atom as a row of the matrix. Padding is far from everything.
__device__ __forceinline__ uint4 matrix_row(float x, float y, float z) {
  const float square = fmaf(x, x, fmaf(y, y, z * z));
  return {matrix_bits(x), matrix_bits(y), matrix_bits(z), matrix_bits(square)};
}
__device__ __forceinline__ uint4 padding_row() { return {0, 0, 0, __float_as_uint(1.0e30f)}; }

// The squared reach with which the rounding of boxes loses no pair.
__host__ __device__ __forceinline__ float squared_reach(float reach) {
  return reach * reach * 1.00001f;
}

// The i atoms, spread over the lanes as the multiplication wants them, and what depends on the lane.
struct NearTest {
  uint32_t factor;      // component lane % 4 of atom lane / 4
  float square[4];      // |i|^2 - error of atoms 2 (lane % 4) and the next, twice
  uint32_t odd, upper;  // all ones where lane & 1, lane & 2
  int source;           // the lane that ends up with the distance of this one's atom
};

// Error bound of the squared distance of an atom at reach R when i atoms are within r of the origin, both
// given as squares: the rounding errors of |j|^2 and of twice i.j, at |j| = r + R, are (r + R) (1.25 r + 0.25
// R) / 512; with r R < 1.25 r^2 + 0.2 R^2 that is less than this bound.
__device__ __forceinline__ float matrix_error(float radius2, float reach2) {
  return (3.3f * radius2 + 0.6f * reach2) * (1.0f / 512);
}

// `sites`: the eight i atoms, in memory; coordinates count from `origin`.
__device__ __forceinline__ NearTest make_near_test(const Float4* sites, float3 origin, float error,
                                                   int lane) {
  const int atom = lane / 4, component = lane % 4;
  const auto square = [&](int i) {
    const float x = sites[i].x - origin.x, y = sites[i].y - origin.y, z = sites[i].z - origin.z;
    return fmaf(x, x, fmaf(y, y, z * z)) - error;
  };
  const float own = component == 0   ? sites[atom].x - origin.x
                    : component == 1 ? sites[atom].y - origin.y
                                     : sites[atom].z - origin.z;
  const float first = square(2 * component), second = square(2 * component + 1);
  return {matrix_bits(component == 3 ? 1.0f : -2 * own),
          {first, second, kept(first), kept(second)},
          kept(lane & 1 ? ~0u : 0u),
          kept(lane & 2 ? ~0u : 0u),
          kept(lane % 8 * 4 + lane / 8)};
}

// Squared distances of 16 rows from all i atoms: the lesser of two columns of rows lane / 4 and
// lane / 4 + 8.
__device__ __forceinline__ void multiply_rows(const NearTest& test, uint32_t upper, uint32_t lower,
                                              float& upper_least, float& lower_least) {
  float d[4];
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%7, %8, %9, %10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(upper), "r"(lower), "r"(test.factor), "f"(test.square[0]), "f"(test.square[1]),
        "f"(test.square[2]), "f"(test.square[3]));
  upper_least = fminf(d[0], d[1]);
  lower_least = fminf(d[2], d[3]);
}

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Squared distance of this lane's j atom from the nearest i atom, or a little less; `row`: where its
// row is in shared memory.
__device__ __forceinline__ float nearest2(const NearTest& test, unsigned row) {
  uint32_t part[4];  // component lane % 4 of rows lane / 4, lane / 4 + 8, ...
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
               : "r"(row)
               : "memory");
  float least[4];
  multiply_rows(test, part[0], part[1], least[0], least[1]);
  multiply_rows(test, part[2], part[3], least[2], least[3]);
  // Four lanes share row lane / 4 of each of the four clusters; each ends up with one cluster.
  const auto choose = [](uint32_t mask, float a, float b) {
    return __uint_as_float((__float_as_uint(a) & ~mask) | (__float_as_uint(b) & mask));
  };
  const auto fold = [&](float even, float odd, uint32_t mask, int bit) {
    return fminf(choose(mask, even, odd), __shfl_xor_sync(kAllLanes, choose(mask, odd, even), bit));
  };
  const float mine = fold(fold(least[0], least[1], test.odd, 1),
                          fold(least[2], least[3], test.odd, 1), test.upper, 2);
  return __shfl_sync(kAllLanes, mine, test.source);
}

}  // namespace quiltmd::lists
