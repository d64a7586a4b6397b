// SPDX-License-Identifier: Apache-2.0
// The sum of the potential of the mesh at atoms, on the CPU.
#include <atomic>

#include "computes/long_range/pme/host_kernels.h"
#include "computes/long_range/pme/mesh_potential.h"

namespace quiltmd {
namespace {

template <int Order>
int64_t sum_over(const SumPotential& op, int begin, int end) {
  int64_t sum = 0;
  for (int p = begin; p < end; ++p) {
    const PlacedPatch& patch = op.patches[p];
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot)
      sum += potential_energy_of<Order>(op, slot);
  }
  return sum;
}

}  // namespace

void sum_potential(const SumPotential& op, ThreadGroup& threads) {
  threads.parallel_for(op.patch_count, 16, [&](int begin, int end, int) {
    const int64_t sum =
        for_order(op.grid.order, [&]<int Order>() { return sum_over<Order>(op, begin, end); });
    std::atomic_ref(*op.sum).fetch_add(sum, std::memory_order_relaxed);
  });
}

}  // namespace quiltmd
