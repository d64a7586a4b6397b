// SPDX-License-Identifier: Apache-2.0
// The potential of the mesh at few atoms, on the CPU: weights in double precision, so that only that of the
// potential counts.
#include <atomic>
#include <cstddef>

#include "computes/long_range/pme/bspline.h"
#include "computes/long_range/pme/host_kernels.h"
#include "computes/long_range/pme/mesh_frame.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

template <int Order>
double potential_at(const SumPotential& op, const MeshFrame& frame, const Float4& local) {
  const int size[3] = {op.grid.nx, op.grid.ny, op.grid.nz};
  double weight[3][Order], slope[Order];
  int point[3][Order];
  for (int d = 0; d < 3; ++d) {
    const MeshFrame::Place place = frame.place(d, local);
    bspline<Order>(static_cast<double>(place.fraction), weight[d], slope);
    for (int j = 0; j < Order; ++j) point[d][j] = onto_grid(place.point - Order + 1 + j, size[d]);
  }
  double sum = 0;
  for (int i = 0; i < Order; ++i)
    for (int j = 0; j < Order; ++j) {
      const auto row = (static_cast<ptrdiff_t>(point[0][i]) * size[1] + point[1][j]) * size[2];
      for (int k = 0; k < Order; ++k)
        sum += weight[0][i] * weight[1][j] * weight[2][k] * op.potential[row + point[2][k]];
    }
  return sum;
}

template <int Order>
int64_t sum_over(const SumPotential& op, int begin, int end) {
  MeshFrame frame(op.grid, *op.box);
  int64_t sum = 0;
  for (int p = begin; p < end; ++p) {
    const PlacedPatch& patch = op.patches[p];
    frame.enter(patch.cell);
    for (int slot = patch.start; slot < patch.start + patch.atoms; ++slot) {
      const double coefficient = op.coefficients[op.slots.atom[slot]];
      if (coefficient == 0) continue;
      sum += to_fixed(coefficient * potential_at<Order>(op, frame, op.slots.local[slot]),
                      kEnergyScale);
    }
  }
  return sum;
}

}  // namespace

void sum_potential(const SumPotential& op, ThreadGroup& threads) {
  threads.parallel_for(op.patch_count, 16, [&](int begin, int end, int) {
    const int64_t sum =
        op.grid.order == 4 ? sum_over<4>(op, begin, end) : sum_over<5>(op, begin, end);
    std::atomic_ref(*op.sum).fetch_add(sum, std::memory_order_relaxed);
  });
}

}  // namespace quiltmd
