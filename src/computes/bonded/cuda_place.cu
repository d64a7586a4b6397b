// SPDX-License-Identifier: Apache-2.0
// Finds the bonded terms that this rank computes, on a GPU: one thread for each term of the system.
// Every rank looks at every term; that is a few bytes a term, and no chain of dependent loads.
#include "computes/bonded/cuda_kernels.h"
#include "computes/bonded/term_placement.h"
#include "decomposition/cuda_faults.cuh"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kPlaceThreads = 128, kBlocks = 5;

__global__ void clear_counts(int32_t* counts, const Faults* faults, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (!faults->refused) counts[threadIdx.x] = 0;
}

// Append what the lanes of a warp have found; one atomic addition for all of them. The room is the
// number of terms.
template <int kRecord>
__device__ __forceinline__ void append(const TermTables& terms, int form, bool found,
                                       const uint32_t* placed) {
  const unsigned finders = __ballot_sync(0xffffffffu, found);
  if (finders == 0) return;
  const int lane = threadIdx.x & 31, first = __ffs(finders) - 1;
  int at = 0;
  if (lane == first) at = atomicAdd(terms.placed_count + form, __popc(finders));
  at = __shfl_sync(0xffffffffu, at, first) + __popc(finders & ((1u << lane) - 1));
  if (!found) return;
  uint32_t* to = terms.form[form].placed + static_cast<int64_t>(at) * kRecord;
#pragma unroll
  for (int k = 0; k < kRecord; ++k) to[k] = placed[k];
}

template <class Form>
__device__ __forceinline__ void place(const PlaceTerms& op, int form, int term) {
  const TermTable& table = op.terms.form[form];
  uint32_t placed[Form::kAtoms + 1];
  Found where = Found::kElsewhere;
  if (term < table.count) where = TermPlacer(op).place<Form>(table, term, placed);
  if (where == Found::kTooWide)
    report_fault(*op.faults, &op.faults->blowup_step, &op.faults->blowup_atom, *op.step,
                 table.atoms[static_cast<int64_t>(term) * Form::kAtoms]);
  append<Form::kAtoms + 1>(op.terms, form, where == Found::kHere, placed);
}

__host__ __device__ __forceinline__ int blocks_of(const TermTable& table) {
  return (table.count + kPlaceThreads - 1) / kPlaceThreads;
}

// Block `block` of all terms, from form k on.
template <int k = 0>
__device__ __forceinline__ void place_nth(const PlaceTerms& op, int block) {
  const int blocks = blocks_of(op.terms.form[k]);
  if (block < blocks)
    place<TermForms::At<k>>(op, k, block * kPlaceThreads + static_cast<int>(threadIdx.x));
  else if constexpr (k + 1 < kTermForms)
    place_nth<k + 1>(op, block - blocks);
}

// With kBlocks on a multiprocessor: looking up atoms has a long latency, which many threads hide.
__global__ void __launch_bounds__(kPlaceThreads, kBlocks)
    place_terms_kernel(const __grid_constant__ PlaceTerms op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (op.faults->refused) return;
  place_nth(op, static_cast<int>(blockIdx.x));
}

}  // namespace

void place_terms(const PlaceTerms& op, CudaContext& context) {
  unsigned blocks = 0;
  for (const TermTable& table : op.terms.form) blocks += static_cast<unsigned>(blocks_of(table));
  if (blocks == 0) return;
  launch(context, {PlaceTerms::kName, 1, kTermForms, 0, Start::kEarly}, clear_counts,
         op.terms.placed_count, op.faults);
  launch(context, {PlaceTerms::kName, blocks, kPlaceThreads, 0, Start::kEarly}, place_terms_kernel,
         op);
}

}  // namespace quiltmd
