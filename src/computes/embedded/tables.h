// SPDX-License-Identifier: Apache-2.0
// Tables of embedded atoms as cubics between their points. The slopes at the points are differences of fourth order
// of the values around them, so what lies between two points depends on six of them, and has an error of h^4/384
// times the fourth derivative, h being their distance.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "math/macros.h"
#include "system/embedded_atoms.h"

namespace quiltmd {

// c[0] + c[1] f + c[2] f^2 + c[3] f^3 for the fraction f of an interval.
using Cubic = std::array<double, 4>;

// The cubics of all intervals; of five values or more.
std::vector<Cubic> cubics(std::span<const double> values);

struct CubicValue {
  double value, slope;  // by the place
};
// At a place counted in intervals. Beyond the ends: the straight line there.
QMD_HD CubicValue cubic_at(const double* coefficients, int intervals, double place) {
  const double inside = place < 0 ? 0 : place < intervals ? place : intervals;
  const int interval = inside < intervals ? static_cast<int>(inside) : intervals - 1;
  const double* const c = coefficients + 4 * interval;
  const double f = inside - interval, slope = c[1] + f * (2 * c[2] + 3 * f * c[3]);
  return {c[0] + f * (c[1] + f * (c[2] + f * c[3])) + slope * (place - inside), slope};
}

// Of how many units densities are in fixed point: a power of two, such that sums of far more than any table of
// embedding energies has fit.
double density_unit(const EmbeddedAtoms& embedded);

// What kernels of pairs look up, single precision: for each pair of types (s, t) and each interval the cubic of
// r phi, then that of the density at s of t.
inline constexpr int kEmbeddedRow = 8;
std::vector<float> pair_rows(const EmbeddedAtoms& embedded);
// The cubics of the embedding energies of all types, one after the other.
std::vector<double> embedding_rows(const EmbeddedAtoms& embedded);

}  // namespace quiltmd
