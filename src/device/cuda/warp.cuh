// SPDX-License-Identifier: Apache-2.0
// Sums over warps and blocks.
#pragma once

#include <cstdint>

namespace quiltmd {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Sum of a 64-bit integer over the warp, modulo 2^64, known to all lanes: in pieces of 27 bits,
// whose sums fit the hardware's 32-bit reduction.
__device__ __forceinline__ long long warp_sum(long long value) {
  constexpr unsigned kPiece = (1u << 27) - 1;
  const auto v = static_cast<unsigned long long>(value);
  const unsigned long long low = __reduce_add_sync(kAllLanes, static_cast<unsigned>(v) & kPiece);
  const unsigned long long middle =
      __reduce_add_sync(kAllLanes, static_cast<unsigned>(v >> 27) & kPiece);
  const unsigned long long high = __reduce_add_sync(kAllLanes, static_cast<unsigned>(v >> 54));
  return static_cast<long long>(low + (middle << 27) + (high << 54));
}

// Order-independent addition to a sum in global memory.
__device__ __forceinline__ void add_fixed(int64_t* sum, long long value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
}

// Sum of the values of all threads before this one in the block; `total` gets the sum of all.
// All threads of the block (a multiple of 32, at most 1024) call it.
template <class T>
__device__ inline T block_sum(T value, T* total) {
  __shared__ T partial[kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  T inclusive = value;
  for (int step = 1; step < kWarp; step *= 2) {
    const T other = __shfl_up_sync(kAllLanes, inclusive, step);
    if (lane >= step) inclusive += other;
  }
  if (lane == kWarp - 1) partial[warp] = inclusive;
  __syncthreads();
  T before = 0, all = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    if (w < warp) before += partial[w];
    all += partial[w];
  }
  __syncthreads();
  *total = all;
  return before + inclusive - value;
}

}  // namespace quiltmd
