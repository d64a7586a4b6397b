// SPDX-License-Identifier: Apache-2.0
#include "computes/embedded/tables.h"

#include <cmath>

namespace quiltmd {
namespace {

// Derivatives at the points by the number of intervals.
std::vector<double> slopes_of(std::span<const double> y) {
  const size_t n = y.size();
  std::vector<double> slope(n);
  slope[0] = y[1] - y[0];
  slope[1] = (y[2] - y[0]) / 2;
  for (size_t k = 2; k + 2 < n; ++k)
    slope[k] = (y[k - 2] - y[k + 2] + 8 * (y[k + 1] - y[k - 1])) / 12;
  slope[n - 2] = (y[n - 1] - y[n - 3]) / 2;
  slope[n - 1] = y[n - 1] - y[n - 2];
  return slope;
}

std::span<const double> table(const std::vector<double>& all, int number, int points) {
  return std::span(all).subspan(static_cast<size_t>(number) * static_cast<size_t>(points),
                                static_cast<size_t>(points));
}

}  // namespace

std::vector<Cubic> cubics(std::span<const double> values) {
  const std::vector<double> slope = slopes_of(values);
  std::vector<Cubic> found;
  for (size_t k = 0; k + 1 < values.size(); ++k) {
    const double rise = values[k + 1] - values[k], first = slope[k], last = slope[k + 1];
    found.push_back({values[k], first, 3 * rise - 2 * first - last, first + last - 2 * rise});
  }
  return found;
}

double density_unit(const EmbeddedAtoms& embedded) {
  const double largest = embedded.density_step * embedded.density_points();
  return std::exp2(46 - std::ceil(std::log2(largest)));
}

std::vector<float> pair_rows(const EmbeddedAtoms& embedded) {
  std::vector<float> rows;
  for (int pair = 0; pair < embedded.types * embedded.types; ++pair) {
    const auto energy = cubics(table(embedded.pairs, pair, embedded.points()));
    const auto density = cubics(table(embedded.densities, pair, embedded.points()));
    for (size_t k = 0; k < energy.size(); ++k) {
      rows.insert(rows.end(), energy[k].begin(), energy[k].end());
      rows.insert(rows.end(), density[k].begin(), density[k].end());
    }
  }
  return rows;
}

std::vector<double> embedding_rows(const EmbeddedAtoms& embedded) {
  std::vector<double> rows;
  for (int type = 0; type < embedded.types; ++type)
    for (const Cubic& cubic : cubics(table(embedded.embedding, type, embedded.density_points())))
      rows.insert(rows.end(), cubic.begin(), cubic.end());
  return rows;
}

}  // namespace quiltmd
