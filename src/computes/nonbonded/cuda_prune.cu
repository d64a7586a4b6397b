// SPDX-License-Identifier: Apache-2.0
// Pruning pair lists on the GPU: one warp per list, one entry per lane and two at a time, tested by
// matrix units (cuda_near.cuh). What a list costs is the wait for entries, and then for the atoms
// they name: both are asked for ahead, entries two turns and atoms one, and few registers leave room
// for many warps. The test keeps what is in reach and, for its rounding, up to 0.002 nm more.
//
// Inner lists lie where their lists do, so places need no counting, at the price of as much memory
// again. Pruning inside the pair kernel would spare loading the sites once more, but would meet the
// pairs of the wide list once with the dear arithmetic of forces.
#include "computes/nonbonded/cuda_near.cuh"
#include "computes/nonbonded/cuda_operations.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace prune {

constexpr int kWarps = 8;  // lists of a block: neighbours, whose atoms are mostly the same
constexpr int kThreads = kWarps * kWarp;
constexpr int kBlocks = 5;  // on a multiprocessor
constexpr int kRounds = 2;  // entries of a lane in a turn
constexpr int kTurn = kRounds * kWarp;

struct Work {
  const PruneLists& op;
  const float4* shifts;  // by code
  uint4* rows;           // of the warp
  PairList list;
  int lane;
};

__device__ __forceinline__ float4 load_site(const Slots& slots, uint32_t slot) {
  return *reinterpret_cast<const float4*>(slots.local + slot);
}

// A turn's entries of a lane; beyond the end, the last one.
struct Entries {
  uint32_t entry[kRounds];
};
__device__ __forceinline__ Entries load_entries(const Work& w, int base) {
  Entries e;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    e.entry[r] = w.op.entries[w.list.begin + min(base + r * kWarp + w.lane, w.list.count - 1)];
  }
  return e;
}

struct Sites {
  float4 site[kRounds];
};
__device__ __forceinline__ Sites load_sites(const Work& w, const Entries& e) {
  Sites s;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) s.site[r] = load_site(w.op.slots, e.entry[r] & kSlotMask);
  return s;
}

__device__ __forceinline__ lists::NearTest make_test(const Work& w, float4 origin) {
  const Float4* const sites = w.op.slots.local + w.list.cluster * kClusterSize;
  const Float4 own = sites[w.lane % kClusterSize];
  const float x = own.x - origin.x, y = own.y - origin.y, z = own.z - origin.z;
  const float square = own.x < 0.5f * kFarAway ? fmaf(x, x, fmaf(y, y, z * z)) : 0.0f;
  const float radius = sqrtf(__uint_as_float(__reduce_max_sync(kAllLanes, __float_as_uint(square))));
  const float reach = w.op.reach;
  return lists::make_near_test(sites, {origin.x, origin.y, origin.z},
                               reach * reach * 1.00001f + lists::matrix_error(radius, reach),
                               w.lane);
}

// Keep the entries of one round that are near.
__device__ __forceinline__ void keep(const Work& w, int n, uint32_t entry, bool near,
                                     PairList& inner) {
  const unsigned kept = __ballot_sync(kAllLanes, near);
  const int place = inner.begin + inner.count + __popc(kept & ((1u << w.lane) - 1));
  if (near) w.op.inner_entries[place] = entry;
  inner.count += __popc(kept);
  if (n - w.lane >= w.list.masked) return;
  const bool masked = near && n < w.list.masked;
  if (masked) w.op.inner_masks[place] = w.op.masks[w.list.begin + n];
  inner.masked += __popc(__ballot_sync(kAllLanes, masked));
}

__device__ __forceinline__ PairList prune_list(const Work& w) {
  const float4 origin = load_site(w.op.slots, w.list.cluster * kClusterSize);
  Entries entries = load_entries(w, 0), next_entries = load_entries(w, kTurn);
  Sites sites = load_sites(w, entries);
  const lists::NearTest test = make_test(w, origin);
  PairList inner{w.list.cluster, w.list.begin, 0, 0};
#pragma unroll 1
  for (int base = 0; base < w.list.count; base += kTurn) {
    const Sites next_sites = load_sites(w, next_entries);
    const Entries after = load_entries(w, base + 2 * kTurn);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      const float4 site = sites.site[r], shift = w.shifts[entries.entry[r] >> kSlotBits];
      w.rows[r * kWarp + w.lane] = lists::matrix_row(site.x + (shift.x - origin.x),
                                                     site.y + (shift.y - origin.y),
                                                     site.z + (shift.z - origin.z));
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      const int n = base + r * kWarp + w.lane;
      const bool near = lists::is_near(test, w.rows + r * kWarp + w.lane, w.lane);
      keep(w, n, entries.entry[r], near && n < w.list.count, inner);
    }
    entries = next_entries, sites = next_sites, next_entries = after;
  }
  return inner;
}

__global__ void __launch_bounds__(kThreads, kBlocks)
    prune_kernel(const __grid_constant__ PruneLists op) {
  __shared__ float4 shifts[kMaxCodes];
  __shared__ uint4 rows[kWarps][kTurn];
  for (int c = threadIdx.x; c < op.codes; c += kThreads) {
    shifts[c] = {op.shifts[c].x, op.shifts[c].y, op.shifts[c].z, 0};
  }
  __syncthreads();
  wait_for_previous();
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int number = op.range[0] + blockIdx.x * kWarps + warp;
  if (number >= op.range[1]) return;
  const Work w{op, shifts, rows[warp], op.lists[number], lane};
  const PairList inner = w.list.count > 0 ? prune_list(w) : w.list;
  if (lane == 0) op.inner[number] = inner;
}

}  // namespace prune

void prune_lists(const PruneLists& op, CudaContext& context) {
  launch(context,
         {PruneLists::kName, blocks_for(op.capacity, prune::kWarps), prune::kThreads, 0,
          Start::kEarly},
         prune::prune_kernel, op);
}

}  // namespace quiltmd
