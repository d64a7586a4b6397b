// SPDX-License-Identifier: Apache-2.0
// What the references of methods with a mesh have in common: atoms on the grid, in double precision.
#pragma once

#include <cmath>

#include "computes/long_range/pme/mesh_window.h"
#include "math/box.h"

namespace quiltmd {

// Footprint of an atom on the grid: indices, weights and slopes for each dimension.
struct Footprint {
  size_t index[3][MeshWindow::kMaxOrder];
  double weight[3][MeshWindow::kMaxOrder], slope[3][MeshWindow::kMaxOrder];
};

inline Footprint footprint(const Box& box, Int3 grid, const MeshWindow& window, Vec3d position) {
  const Vec3d fraction = box.to_fraction(position);
  Footprint f{};
  for (int d = 0; d < 3; ++d) {
    const double u = grid[d] * (fraction[d] - std::floor(fraction[d]));
    const int base = static_cast<int>(std::floor(u));
    for (int j = 0; j < window.order(); ++j) {
      const int point = base - window.order() + 1 + j;
      f.index[d][j] = static_cast<size_t>(((point % grid[d]) + grid[d]) % grid[d]);
      f.weight[d][j] = window.weight(j, u - base);
      f.slope[d][j] = window.slope(j, u - base);
    }
  }
  return f;
}

// Call visit(grid index, j) for every grid point of a footprint.
template <class Visit>
void over_points(const Footprint& f, Int3 grid, int order, Visit visit) {
  const auto ny = static_cast<size_t>(grid.y), nz = static_cast<size_t>(grid.z);
  for (int i = 0; i < order; ++i)
    for (int j = 0; j < order; ++j)
      for (int k = 0; k < order; ++k)
        visit((f.index[0][i] * ny + f.index[1][j]) * nz + f.index[2][k], i, j, k);
}

// Signed frequency of entry m of a transform of n points.
inline int frequency(int m, int n) { return m <= n / 2 ? m : m - n; }

}  // namespace quiltmd
