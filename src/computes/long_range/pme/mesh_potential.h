// SPDX-License-Identifier: Apache-2.0
// The potential of the mesh at owned atoms, from their positions in double precision, so that only the precision
// of the grid counts: written once, for hosts and GPUs.
#pragma once

#include <cmath>
#include <cstdint>

#include "computes/long_range/pme/mesh_frame.h"
#include "math/fixed.h"

namespace quiltmd {

template <int Order>
QMD_HD double potential_at(const SumPotential& op, const Vec3d& position) {
  const int size[3] = {op.grid.nx, op.grid.ny, op.grid.nz};
  const Reciprocal& box = op.box->reciprocal;
  const double fraction[3] = {dot(box.a, position), dot(box.b, position), dot(box.c, position)};
  double weight[3][Order];
  int point[3][Order];
  for (int d = 0; d < 3; ++d) {
    const double place = size[d] * (fraction[d] - std::floor(fraction[d])),
                 first = std::floor(place), u = place - first - 0.5;
    for (int j = 0; j < Order; ++j) {
      weight[d][j] = op.window.weight[Order - 1][j];
      for (int n = Order - 2; n >= 0; --n) weight[d][j] = weight[d][j] * u + op.window.weight[n][j];
      point[d][j] = onto_grid(static_cast<int>(first) - Order + 1 + j, size[d]);
    }
  }
  double sum = 0;
  for (int i = 0; i < Order; ++i)
    for (int j = 0; j < Order; ++j) {
      const auto row = (static_cast<int64_t>(point[0][i]) * size[1] + point[1][j]) * size[2];
      for (int k = 0; k < Order; ++k)
        sum += weight[0][i] * weight[1][j] * weight[2][k] * op.potential[row + point[2][k]];
    }
  return sum;
}

// Contribution of the atom of a slot to the sum, in fixed point.
template <int Order>
QMD_HD int64_t potential_energy_of(const SumPotential& op, int slot) {
  const double coefficient = op.coefficients[slot];
  if (coefficient == 0) return 0;
  return to_fixed(coefficient * potential_at<Order>(op, op.slots.position[slot]), kEnergyScale);
}

}  // namespace quiltmd
