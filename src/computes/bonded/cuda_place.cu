// SPDX-License-Identifier: Apache-2.0
// Finds the bonded terms that this rank computes, on a GPU: one thread for each slot and kind.
//
// A thread looks at its terms twice, first to count what a warp will append, then to write it: the
// second look costs less than an atomic addition for each term to the one counter of its kind.
#include "computes/bonded/cuda_kernels.h"
#include "computes/bonded/term_placement.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 128;

__global__ void clear_counts(int32_t* counts) {
  wait_for_previous();
  counts[threadIdx.x] = 0;
}

// Sum over the lanes before this one; `total` over all.
__device__ __forceinline__ int sum_before(int value, int& total) {
  const int lane = threadIdx.x & 31;
  int sum = value;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += other;
  }
  total = __shfl_sync(0xffffffffu, sum, 31);
  return sum - value;
}

__global__ void __launch_bounds__(kThreads)
    place_terms_kernel(const __grid_constant__ PlaceTerms op) {
  wait_for_previous();
  const int slot = blockIdx.x * kThreads + threadIdx.x, kind = blockIdx.y;
  const TermTable& table = op.tables[kind];
  const int atom = slot < min(*op.slot_count, op.slot_capacity) ? op.slots.atom[slot] : -1;
  const int begin = atom < 0 ? 0 : table.first_term[atom];
  const int end = atom < 0 ? 0 : table.first_term[atom + 1];
  if (!__any_sync(0xffffffffu, begin < end)) return;

  const TermPlacer placer(op);
  PlacedTerm placed;
  int found = 0;
  for (int t = begin; t < end; ++t) {
    const Found where = placer.place(table, t, placed);
    found += where == Found::kHere;
    if (where == Found::kTooWide &&
        atomicCAS(&op.faults->blowup_step, 0, static_cast<int32_t>(*op.step + 1)) == 0)
      op.faults->blowup_atom = atom;
  }
  int total;
  const int before = sum_before(found, total);
  int at = 0;
  if ((threadIdx.x & 31) == 0 && total > 0) at = atomicAdd(op.counts + kind, total);
  at = __shfl_sync(0xffffffffu, at, 0);
  if (at + total > op.capacity[kind] && (threadIdx.x & 31) == 0)
    atomicMax(&op.faults->list_overflow, at + total);
  at += before;
  for (int t = begin; t < end; ++t)
    if (placer.place(table, t, placed) == Found::kHere) {
      if (at < op.capacity[kind]) op.placed[kind][at] = placed;
      ++at;
    }
}

}  // namespace

void place_terms(const PlaceTerms& op, CudaContext& context) {
  launch(context, {PlaceTerms::kName, 1, kTermKinds, 0, Start::kEarly}, clear_counts, op.counts);
  launch(context,
         {PlaceTerms::kName, blocks_for(op.slot_capacity, kThreads), kThreads, 0, Start::kEarly,
          kTermKinds},
         place_terms_kernel, op);
}

}  // namespace quiltmd
