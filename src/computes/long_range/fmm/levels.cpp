// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/levels.h"

#include <cmath>
#include <string>

#include "math/error.h"
#include "math/prolate.h"

namespace quiltmd {
namespace {

constexpr int64_t kTopPoints = 1000;  // a transform of this size costs little
constexpr int kLeastTopEdge = 4;
constexpr int64_t kMostTopWaves = 2048;  // one block of a GPU sums them

}  // namespace

LevelSeries::LevelSeries(const NonbondedSettings& settings) {
  const Prolate psi(settings.bandwidth);
  powers = psi.series();
  z_per_m2_ = std::pow(2 * kPi / settings.bandwidth * settings.cutoff, 2);
  end_ = psi.first_zero();
}

FmmLevels::FmmLevels(Int3 points) : grid(points), count(0) {
  const auto may_halve = [](int n) { return n % 2 == 0 && n / 2 >= kLeastTopEdge; };
  for (Int3 n = points; (count == 0 || int64_t{n.x} * n.y * n.z > kTopPoints) && may_halve(n.x) &&
                        may_halve(n.y) && may_halve(n.z);
       ++count)
    n = {n.x / 2, n.y / 2, n.z / 2};
}

void check_fmm_grid(int order, Int3 grid) {
  if (order != kFmmOrder)
    throw Error("the fast multipole method needs splines of order " + std::to_string(kFmmOrder) +
                ", not " + std::to_string(order));
  if (FmmLevels(grid).count == 0)
    throw Error(
        "the grid of the fast multipole method must have even numbers of points, at least " +
        std::to_string(2 * kLeastTopEdge) + " per dimension, not " + std::to_string(grid.x) +
        " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z));
}

void check_gpu_fmm_grid(Int3 grid) {
  const FmmLevels levels(grid);
  const Int3 top = levels.points(levels.count);
  if (int64_t{top.x} * top.y * (top.z / 2 + 1) <= kMostTopWaves) return;
  throw Error(
      "the grid of the fast multipole method, " + std::to_string(grid.x) + " x " +
      std::to_string(grid.y) + " x " + std::to_string(grid.z) +
      ", can be halved too few times for a GPU: choose numbers of points that are multiples "
      "of 8 or 16 (fmm_grid), or leave out the grid");
}

}  // namespace quiltmd
