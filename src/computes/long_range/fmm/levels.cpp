// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/levels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "math/error.h"
#include "math/prolate.h"

namespace quiltmd {
namespace {

// A transform of this size costs less than a level does. Grids are chosen for 1,400 (_TOP_POINTS of mesh_rules.py).
constexpr int64_t kTopPoints = 2000;
constexpr int kLeastTopEdge = 4;
constexpr int64_t kMostTopWaves = 2048;  // of a GPU, whose work grows with their square
// Charges of an open cell are on half of a grid and, spread by windows of all levels, on as many points more as a
// window has children.
int least_open_top_edge(int order) { return 2 * children_of(order); }

Boundaries boundaries_of(const NonbondedSettings& settings) {
  return settings.has_open_grid() ? Boundaries::kOpen : Boundaries::kPeriodic;
}

}  // namespace

LevelSeries::LevelSeries(const NonbondedSettings& settings) {
  const Prolate psi(settings.bandwidth);
  powers = psi.series();
  z_per_m2_ = std::pow(2 * kPi / settings.bandwidth * settings.cutoff, 2);
  end_ = psi.first_zero();
}

FmmLevels::FmmLevels(Int3 points, int spline_order, Boundaries at)
    : grid(points), order(spline_order), boundaries(at) {
  const int least = is_open() ? least_open_top_edge(order) : kLeastTopEdge;
  const int64_t few = is_open() ? 0 : kTopPoints;
  const auto may_halve = [least](int n) { return n % 2 == 0 && n / 2 >= least; };
  for (Int3 n = points; (count == 0 || int64_t{n.x} * n.y * n.z > few) && may_halve(n.x) &&
                        may_halve(n.y) && may_halve(n.z);
       ++count)
    n = {n.x / 2, n.y / 2, n.z / 2};
}

FmmLevels::FmmLevels(const NonbondedSettings& settings)
    : FmmLevels(settings.grid, settings.order, boundaries_of(settings)) {}

Int3 with_levels(Int3 cells, int per_patch, int order) {
  const int least_edge = least_open_top_edge(order);
  int fewest = std::max(2 * least_edge, per_patch * std::min({cells.x, cells.y, cells.z}));
  int halved = 2;
  while (fewest / (2 * halved) >= least_edge) halved *= 2;
  const int step = std::lcm(halved, per_patch) / per_patch;
  for (int d = 0; d < 3; ++d) {
    const int least = std::max(cells[d], (fewest + per_patch - 1) / per_patch);
    cells[d] = (least + step - 1) / step * step;
  }
  return cells;
}

void check_fmm_grid(int order, Int3 grid) {
  if (order < 4 || order > 8 || order == 7)
    throw Error("the fast multipole method needs splines of order 4, 5, 6 or 8, not " +
                std::to_string(order));
  if (FmmLevels(grid, order, Boundaries::kPeriodic).count == 0)
    throw Error(
        "the grid of the fast multipole method must have even numbers of points, at least " +
        std::to_string(2 * kLeastTopEdge) + " per dimension, not " + std::to_string(grid.x) +
        " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z));
}

void check_gpu_fmm(const NonbondedSettings& settings) {
  const FmmLevels levels(settings);
  const Int3 grid = levels.grid, top = levels.points(levels.count);
  if (levels.is_open() || int64_t{top.x} * top.y * (top.z / 2 + 1) <= kMostTopWaves) return;
  throw Error(
      "the grid of the fast multipole method, " + std::to_string(grid.x) + " x " +
      std::to_string(grid.y) + " x " + std::to_string(grid.z) +
      ", can be halved too few times for a GPU: choose numbers of points that are multiples "
      "of 8 or 16 (fmm_grid), or leave out the grid");
}

}  // namespace quiltmd
