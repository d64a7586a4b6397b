// SPDX-License-Identifier: Apache-2.0
#include "decomposition/open_box.h"

#include <algorithm>
#include <cmath>

#include "math/error.h"

namespace quiltmd {
namespace {

constexpr double kMaxCells = 1e6;  // along a dimension; the grid as a whole has a limit of its own

int cells_along(double low, double high, double width) {
  const double layers = std::floor(high / width) - std::floor(low / width) + 1;
  if (!(layers < kMaxCells))
    throw Error(
        "a system without a periodic box is too large: atoms, or the points where restraints hold "
        "them, are too far apart; move them closer, or give a periodic box");
  const int count = static_cast<int>(layers), spare = 1 + count / 4;
  return 2 * (count + spare + 1);
}

}  // namespace

Spread spread_of(const std::vector<Vec3d>& positions) {
  Spread spread{positions.front(), positions.front()};
  for (const Vec3d& x : positions)
    for (int d = 0; d < 3; ++d) {
      spread.low[d] = std::min(spread.low[d], x[d]);
      spread.high[d] = std::max(spread.high[d], x[d]);
    }
  return spread;
}

Spread with_places(Spread spread, const std::vector<HeldCoordinate>& held) {
  for (const auto& [axis, at] : held) {
    spread.low[axis] = std::min(spread.low[axis], at);
    spread.high[axis] = std::max(spread.high[axis], at);
  }
  return spread;
}

std::vector<int32_t> layers_with_places(const std::vector<HeldCoordinate>& held, Int3 cells,
                                        double width) {
  const int first[3] = {0, cells.x, cells.x + cells.y};
  std::vector<int32_t> layers(static_cast<size_t>(cells.x + cells.y + cells.z), 0);
  for (const auto& [axis, at] : held) {
    const double layer = std::floor(at / width), n = cells[axis];
    layers[static_cast<size_t>(first[axis] + static_cast<int>(layer - n * std::floor(layer / n)))] =
        1;
  }
  return layers;
}

Box box_around(const Spread& spread, double reach) {
  const Vec3d width = 2.0 * (spread.high - spread.low + Vec3d{reach + 1, reach + 1, reach + 1});
  return {width.x, 0, width.y, 0, 0, width.z};
}

Int3 open_cells(const Spread& spread, double width, std::optional<Int3> before) {
  const auto serves = [&](int d) {
    return (*before)[d] >= 6 &&
           spread.high[d] - spread.low[d] < width * std::floor(0.5 * (*before)[d]);
  };
  if (before && serves(0) && serves(1) && serves(2)) return *before;
  Int3 cells{};
  for (int d = 0; d < 3; ++d) cells[d] = cells_along(spread.low[d], spread.high[d], width);
  return cells;
}

Box open_box(Int3 cells, double width) {
  return {cells.x * width, 0, cells.y * width, 0, 0, cells.z * width};
}

}  // namespace quiltmd
