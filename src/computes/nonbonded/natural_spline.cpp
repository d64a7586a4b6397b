// SPDX-License-Identifier: Apache-2.0
#include "computes/nonbonded/natural_spline.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quiltmd {
namespace {

// Second derivatives by the number of intervals at all values: m[k-1] + 4 m[k] + m[k+1] is six times
// the second difference, by elimination.
std::vector<double> second_derivatives(std::span<const double> y) {
  const size_t n = y.size();
  std::vector<double> m(n, 0.0), upper(n, 0.0);
  for (size_t k = 1; k + 1 < n; ++k) {
    const double pivot = 4 - upper[k - 1];
    upper[k] = 1 / pivot;
    m[k] = (6 * (y[k + 1] - 2 * y[k] + y[k - 1]) - m[k - 1]) / pivot;
  }
  for (size_t k = n - 1; k-- > 1;) m[k] -= upper[k] * m[k + 1];
  return m;
}

}  // namespace

NaturalSpline::NaturalSpline(double first, double last, std::span<const double> values)
    : first_(first), width_((last - first) / static_cast<double>(values.size() - 1)) {
  const std::vector<double> m = second_derivatives(values);
  for (size_t k = 0; k + 1 < values.size(); ++k) {
    const double rise = values[k + 1] - values[k];
    pieces_.push_back({values[k], {rise - (2 * m[k] + m[k + 1]) / 6, m[k], (m[k + 1] - m[k]) / 2}});
  }
}

double NaturalSpline::operator()(double x) const {
  const double place = (x - first_) / width_;
  if (place < 0) return pieces_[0].value + place * pieces_[0].slope[0];
  if (place > static_cast<double>(pieces_.size())) return 0;
  const size_t interval = std::min(static_cast<size_t>(place), pieces_.size() - 1);
  return pieces_[interval].at(place - static_cast<double>(interval));
}

// Gauss' rule of three points is exact for each interval: the integrand has degree five.
double NaturalSpline::second_moment(double begin) const {
  const double from = (begin - first_) / width_, node = std::sqrt(0.6);
  double sum = 0;
  if (from > static_cast<double>(pieces_.size())) return sum;
  for (auto k = static_cast<size_t>(from); k < pieces_.size(); ++k) {
    const double low = std::max(from - static_cast<double>(k), 0.0), half = (1 - low) / 2;
    for (const auto& [at, weight] : {std::pair{-node, 5.0}, {0.0, 8.0}, {node, 5.0}}) {
      const double f = low + half * (1 + at), x = first_ + width_ * (static_cast<double>(k) + f);
      sum += half * weight / 9 * pieces_[k].at(f) * x * x;
    }
  }
  return width_ * sum;
}

}  // namespace quiltmd
