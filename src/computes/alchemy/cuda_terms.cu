// SPDX-License-Identifier: Apache-2.0
// Energies of all states of terms that change, on a GPU: a thread for a term and a set of parameters. Only steps
// with energies have them.
#include <algorithm>

#include "computes/alchemy/cuda_terms.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kTermThreads = 128, kMostBlocks = 512;

extern __shared__ unsigned long long term_sums[];

template <class Form>
__device__ __forceinline__ void add_energies(const ChangedTermEnergies& op, int form) {
  const TermTable& table = op.at.terms.form[form];
  const int all = table.count == 0 ? 0 : op.at.terms.placed_count[form] * op.set_count;
  const int first = static_cast<int>(blockIdx.x) * kTermThreads + static_cast<int>(threadIdx.x);
  for (int k = first; k < all; k += static_cast<int>(gridDim.x) * kTermThreads) {
    const int set = k % op.set_count;
    const ChangedTerm<Form> term(op, table, k / op.set_count);
    const double change = term.energy(1 + set) - term.energy(0);
    const int64_t sum = to_fixed(op.sets[set].weight * change, kEnergyScale);
    atomicAdd(term_sums + op.sets[set].sum, static_cast<unsigned long long>(sum));
  }
}

template <int k = 0>
__device__ __forceinline__ void add_forms(const ChangedTermEnergies& op) {
  using Form = TermForms::At<k>;
  if constexpr (kMayChange<Form>) add_energies<Form>(op, k);
  if constexpr (k + 1 < kTermForms) add_forms<k + 1>(op);
}

__global__ void __launch_bounds__(kTermThreads)
    changed_term_energies_kernel(const __grid_constant__ ChangedTermEnergies op,
                                 LaunchTimes* times) {
  const Timed timed(times);
  const int thread = static_cast<int>(threadIdx.x);
  for (int k = thread; k < op.sum_count; k += kTermThreads) term_sums[k] = 0;
  __syncthreads();
  wait_for_previous();
  add_forms(op);
  __syncthreads();
  for (int k = thread; k < op.sum_count; k += kTermThreads)
    if (term_sums[k] != 0) add_fixed(op.sums + k, static_cast<int64_t>(term_sums[k]));
}

}  // namespace

void changed_term_energies(const ChangedTermEnergies& op, CudaContext& context) {
  int64_t most = 0;
  for (const TermTable& table : op.at.terms.form) most += int64_t{table.count} * op.set_count;
  const unsigned blocks =
      std::min(blocks_for(most, kTermThreads), static_cast<unsigned>(kMostBlocks));
  launch(context,
         {ChangedTermEnergies::kName, blocks, kTermThreads,
          static_cast<size_t>(op.sum_count) * sizeof(int64_t), Start::kEarly},
         changed_term_energies_kernel, op);
}

}  // namespace quiltmd
