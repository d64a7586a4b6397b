// SPDX-License-Identifier: Apache-2.0
// Pruning pair lists on the GPU: one warp per list, one entry per lane, with the test that built
// them. Inner lists lie where their lists do, so places need no counting, at the price of as much
// memory again. Pruning inside the pair kernel would spare loading the sites once more, but would
// meet the pairs of the wide list once with the dear arithmetic of forces.
#include "computes/nonbonded/cuda_near.cuh"
#include "computes/nonbonded/cuda_operations.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace lists {

constexpr int kPruneWarps = 4;  // lists that a block works on

// An entry on its way from memory.
struct Entry {
  uint32_t entry;
  float4 site;
};

__device__ __forceinline__ Entry load_entry(const PruneLists& op, const PairList& list, int n) {
  Entry e;
  e.entry = op.entries[list.begin + min(n, list.count - 1)];
  e.site = load_site(op.slots, e.entry & kSlotMask);
  return e;
}

// Remember what is kept of 32 entries; true where an entry was not kept before and was missed.
__device__ __forceinline__ bool remember(const PruneLists& op, int word, unsigned kept, int lane,
                                         bool missed_if_absent) {
  const unsigned before = op.compare ? op.kept[word] : kAllLanes;
  __syncwarp();
  if (lane == 0 && op.inner) op.kept[word] = kept;
  return missed_if_absent && !(before >> lane & 1u);
}

__device__ void report_missed(const PruneLists& op) {
  const int marked = static_cast<int>(*op.step + 1);
  atomicCAS(&op.faults->violation_step, 0, marked);
}

__device__ PairList prune(const PruneLists& op, const PairList& list, const float4* shifts,
                          int lane) {
  const NearTest test = make_near_test(op.slots, list.cluster);
  const float reach2 = squared_reach(op.reach);
  const unsigned earlier = (1u << lane) - 1;
  PairList inner{list.cluster, list.begin, 0, 0};
  bool missed = false;
  Entry next = load_entry(op, list, lane);
#pragma unroll 1
  for (int base = 0; base < list.count; base += kWarp) {
    const Entry j = next;
    next = load_entry(op, list, base + kWarp + lane);
    const int n = base + lane;
    const float distance2 = nearest2(test, j.site, shifts[j.entry >> kSlotBits]);
    const bool present = n < list.count, near = present && distance2 < reach2;
    const unsigned kept = __ballot_sync(kAllLanes, near);
    missed |=
        remember(op, (list.begin + base) / kWarp, kept, lane, present && distance2 < op.missed2);
    const int place = list.begin + inner.count + __popc(kept & earlier);
    if (near && op.inner) {
      op.inner_entries[place] = j.entry;
      if (n < list.masked) op.inner_masks[place] = op.masks[list.begin + n];
    }
    inner.count += __popc(kept);
    if (base < list.masked)
      inner.masked += __popc(__ballot_sync(kAllLanes, near && n < list.masked));
  }
  if (missed) report_missed(op);
  return inner;
}

__global__ void __launch_bounds__(kPruneWarps* kWarp, 6)
    prune_kernel(const __grid_constant__ PruneLists op) {
  __shared__ float4 shifts[kMaxCodes];
  for (int c = threadIdx.x; c < op.codes; c += blockDim.x) {
    shifts[c] = {op.shifts[c].x, op.shifts[c].y, op.shifts[c].z, 0};
  }
  __syncthreads();
  wait_for_previous();
  const int lane = threadIdx.x % kWarp;
  const int number = op.range[0] + blockIdx.x * kPruneWarps + threadIdx.x / kWarp;
  if (number >= op.range[1]) return;
  const PairList list = op.lists[number];
  PairList inner = list;
  if (list.count > 0) inner = prune(op, list, shifts, lane);
  if (lane == 0 && op.inner) op.inner[number] = inner;
}

}  // namespace lists

void prune_lists(const PruneLists& op, CudaContext& context) {
  launch(context,
         {PruneLists::kName, blocks_for(op.capacity, lists::kPruneWarps),
          lists::kPruneWarps * kWarp, 0, Start::kEarly},
         lists::prune_kernel, op);
}

}  // namespace quiltmd
