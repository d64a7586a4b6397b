// SPDX-License-Identifier: Apache-2.0
// A bias potential of one or two collective variables, the sum of hills of metadynamics, on a grid: of each point
// the energy, its slopes and the mixed second derivative, and between points the bicubic function that has them.
// Forces are those of this energy.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "math/macros.h"

namespace quiltmd {

inline constexpr int kBiasNumbers = 4;  // of a point: V, dV/dx, dV/dy, d2V/dxdy
inline constexpr int kMostBiasAxes = 2;

// An axis of the grid: a variable, and equidistant values of it.
struct BiasAxis {
  int32_t term;  // the restraint whose variable it is
  int32_t points;
  double least, spacing;
  int32_t periodic;  // the first point follows the last

  bool operator==(const BiasAxis&) const = default;
};

struct BiasTable {
  int axes;  // 0: there is no bias
  BiasAxis axis[kMostBiasAxes];
  const double* grid;  // the second axis runs fastest
};

struct BiasValue {
  double energy, slope[kMostBiasAxes];
};

// Hermite's polynomials between two points of an axis, and their derivatives: of values, and of slopes.
struct BiasWeights {
  int at[2];
  double value[2], slope[2], value_slope[2], slope_slope[2];

  // An axis that there is not.
  QMD_HD BiasWeights() : at{0, 0}, value{1, 0}, slope{}, value_slope{}, slope_slope{} {}

  // Beyond the ends of an axis that is not periodic the energy is that of the end.
  QMD_HD BiasWeights(const BiasAxis& axis, double x) {
    const int points = axis.points, last = axis.periodic ? points : points - 1;
    double place = (x - axis.least) / axis.spacing;
    if (axis.periodic) place -= points * std::floor(place / points);
    const bool outside = !(place >= 0 && place <= last);
    place = place > 0 ? (place < last ? place : last) : 0;
    const int cell = static_cast<int>(place) < last ? static_cast<int>(place) : last - 1;
    const double t = place - cell, u = 1 - t, h = axis.spacing, within = outside ? 0 : 1;
    at[0] = cell;
    at[1] = cell + 1 < points ? cell + 1 : 0;
    value[0] = (1 + 2 * t) * u * u;
    value[1] = t * t * (3 - 2 * t);
    slope[0] = h * t * u * u;
    slope[1] = -h * t * t * u;
    value_slope[0] = within * -6 * t * u / h;
    value_slope[1] = within * 6 * t * u / h;
    slope_slope[0] = within * u * (1 - 3 * t);
    slope_slope[1] = within * t * (3 * t - 2);
  }
};

QMD_HD BiasValue bias_at(const BiasTable& table, const double* values) {
  const BiasWeights x(table.axis[0], values[0]);
  const BiasWeights y = table.axes > 1 ? BiasWeights(table.axis[1], values[1]) : BiasWeights();
  const int row = table.axes > 1 ? table.axis[1].points : 1;
  BiasValue found{};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const double* const p =
          table.grid + kBiasNumbers * (static_cast<ptrdiff_t>(x.at[i]) * row + y.at[j]);
      const double along_x = x.value[i] * p[0] + x.slope[i] * p[1];
      const double twisted = x.value[i] * p[2] + x.slope[i] * p[3];
      found.energy += y.value[j] * along_x + y.slope[j] * twisted;
      found.slope[0] += y.value[j] * (x.value_slope[i] * p[0] + x.slope_slope[i] * p[1]) +
                        y.slope[j] * (x.value_slope[i] * p[2] + x.slope_slope[i] * p[3]);
      found.slope[1] += y.value_slope[j] * along_x + y.slope_slope[j] * twisted;
    }
  return found;
}

// A Gaussian: its centre and widths along the axes, and its height, kJ/mol.
struct BiasHill {
  double centre[kMostBiasAxes], width[kMostBiasAxes], height;
};

// On the host.
struct Bias {
  Bias() = default;
  explicit Bias(std::vector<BiasAxis> of);

  // Throws Error where these are no axes, or others than those that there are.
  void check(const std::vector<BiasAxis>& others, size_t restraints) const;
  void add(const BiasHill& hill);
  // Packed numbers, empty without a bias.
  std::vector<double> packed() const;
  static Bias unpacked(const std::vector<double>& numbers);

  std::vector<BiasAxis> axes;
  std::vector<double> grid;
};

}  // namespace quiltmd
