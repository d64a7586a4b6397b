// SPDX-License-Identifier: Apache-2.0
// Put the lists in order of length, the longest first. build_kernel counts them by length as it writes them;
// then order_kernel copies each PairList to its place in that order. Entries stay where they are. Lists of
// equal length come in an order that differs between runs; no force depends on it.
#pragma once

#include "computes/lists/operations.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::lists {

constexpr int kOrderThreads = 256;
static_assert(kOrderThreads >= kListLengths);

// In whole rounds of 32 entries.
__device__ __forceinline__ int length_of(const PairList& list) {
  return min(list.count() / kWarp, kListLengths - 1);
}

// Count a list that this warp has just written. `kind`: 0 for interior lists, 1 for boundary lists.
__device__ __forceinline__ void count_length(const BuildLists& op, int kind, int number, int lane) {
  __syncwarp();
  if (lane == 0) atomicAdd(&op.lengths->count[kind][length_of(op.lists[number])], 1);
}

// One thread for each list; blocks with y = 0 take the interior lists, those with y = 1 the boundary lists.
__global__ void __launch_bounds__(kOrderThreads)
    order_kernel(const __grid_constant__ BuildLists op, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ int longer[kListLengths];  // for each length, the number of longer lists
  wait_for_previous();
  const int kind = blockIdx.y, t = threadIdx.x;
  const int32_t* const count = op.lengths->count[kind];
  if (t < kListLengths) {
    int sum = 0;
    for (int length = t + 1; length < kListLengths; ++length) sum += count[length];
    longer[t] = sum;
  }
  __syncthreads();
  const int n = blockIdx.x * kOrderThreads + t, all = longer[0] + count[0];
  const bool present = n < all;
  const int first = kind == 0 ? 0 : op.first_list[op.interior];
  const PairList list = present ? op.unordered[first + n] : PairList{};
  const int length = present ? length_of(list) : kListLengths;
  // Lanes whose lists are equally long take consecutive places, by one addition for all of them.
  const unsigned like = __match_any_sync(kAllLanes, length);
  const int rank = __popc(like & ((1u << t % kWarp) - 1));
  int place = 0;
  if (present && rank == 0)
    place = longer[length] + atomicAdd(&op.lengths->placed[kind][length], __popc(like));
  place = __shfl_sync(kAllLanes, place, __ffs(like) - 1) + rank;
  if (present) op.lists[first + place] = list;
}

}  // namespace quiltmd::lists
