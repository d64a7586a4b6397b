// SPDX-License-Identifier: Apache-2.0
// Finds the bonded terms that this rank computes, on a GPU: one thread for each term of the system.
// Every rank looks at every term; that is a few bytes a term, and no chain of dependent loads.
#include "computes/bonded/cuda_kernels.h"
#include "computes/bonded/term_placement.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 128;

__global__ void clear_counts(int32_t* counts, const Faults* faults) {
  wait_for_previous();
  if (!faults->refused) counts[threadIdx.x] = 0;
}

// Append what the lanes of a warp have found; one atomic addition for all of them.
__device__ __forceinline__ void append(const PlaceTerms& op, int kind, bool found,
                                       const PlacedTerm& placed) {
  const unsigned finders = __ballot_sync(0xffffffffu, found);
  if (finders == 0) return;
  const int lane = threadIdx.x & 31, first = __ffs(finders) - 1;
  int at = 0;
  if (lane == first) at = atomicAdd(op.counts + kind, __popc(finders));
  at = __shfl_sync(0xffffffffu, at, first) + __popc(finders & ((1u << lane) - 1));
  if (!found) return;
  if (at < op.capacity[kind])
    op.placed[kind][at] = placed;
  else
    atomicMax(&op.faults->list_overflow, at + 1);
}

__global__ void __launch_bounds__(kThreads)
    place_terms_kernel(const __grid_constant__ PlaceTerms op) {
  wait_for_previous();
  if (op.faults->refused) return;
  const int term = blockIdx.x * kThreads + threadIdx.x, kind = blockIdx.y;
  // The room for placed terms is the number of terms.
  PlacedTerm placed;
  Found where = Found::kElsewhere;
  if (term < op.capacity[kind]) where = TermPlacer(op).place(op.tables[kind], term, placed);
  if (where == Found::kTooWide &&
      atomicCAS(reinterpret_cast<unsigned long long*>(&op.faults->blowup_step), 0ull,
                static_cast<unsigned long long>(*op.step + 1)) == 0)
    op.faults->blowup_atom =
        op.tables[kind].atoms[static_cast<int64_t>(term) * op.tables[kind].size];
  append(op, kind, where == Found::kHere, placed);
}

}  // namespace

void place_terms(const PlaceTerms& op, CudaContext& context) {
  int most = 0;
  for (const int capacity : op.capacity) most = capacity > most ? capacity : most;
  launch(context, {PlaceTerms::kName, 1, kTermKinds, 0, Start::kEarly}, clear_counts, op.counts,
         op.faults);
  launch(context,
         {PlaceTerms::kName, blocks_for(most, kThreads), kThreads, 0, Start::kEarly, kTermKinds},
         place_terms_kernel, op);
}

}  // namespace quiltmd
