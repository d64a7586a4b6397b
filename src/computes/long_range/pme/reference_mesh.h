// SPDX-License-Identifier: Apache-2.0
// What the references of methods with a mesh have in common: splines by their definition, in double.
#pragma once

#include <cmath>

#include "math/box.h"

namespace quiltmd {

inline constexpr int kMaxReferenceOrder = 8;

// M_n(x) and its derivative straight from the definition.
inline double spline(int n, double x) {
  if (x <= 0 || x >= n) return 0;
  if (n == 2) return 1 - std::abs(x - 1);
  return (x * spline(n - 1, x) + (n - x) * spline(n - 1, x - 1)) / (n - 1);
}
inline double spline_slope(int n, double x) { return spline(n - 1, x) - spline(n - 1, x - 1); }

// Where an atom meets the grid: indices, weights and slopes per dimension.
struct Footprint {
  size_t index[3][kMaxReferenceOrder];
  double weight[3][kMaxReferenceOrder], slope[3][kMaxReferenceOrder];
};

inline Footprint footprint(const Box& box, Int3 grid, int order, Vec3d position) {
  const Vec3d fraction = box.to_fraction(position);
  Footprint f{};
  for (int d = 0; d < 3; ++d) {
    const double u = grid[d] * (fraction[d] - std::floor(fraction[d]));
    const int base = static_cast<int>(std::floor(u));
    for (int j = 0; j < order; ++j) {
      const int point = base - j;
      f.index[d][j] = static_cast<size_t>(((point % grid[d]) + grid[d]) % grid[d]);
      f.weight[d][j] = spline(order, u - point);
      f.slope[d][j] = spline_slope(order, u - point);
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
