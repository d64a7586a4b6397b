// SPDX-License-Identifier: Apache-2.0
// The expansion in Legendre polynomials P_0, P_2, ... is the eigenvector of a tridiagonal matrix with the
// smallest eigenvalue (Xiao, Rokhlin and Yarvin, Inverse Problems 17, 805 (2001), eq. 3.8 ff.), found by
// inverse iteration; the polynomials are then written out in powers of x^2.
#include "math/prolate.h"

#include <cmath>
#include <cstdio>

#include "math/error.h"

namespace quiltmd {
namespace {

using Series = std::vector<long double>;

constexpr double kLeastBandwidth = 1, kLargestBandwidth = 20;
constexpr int kTerms = 40;        // Legendre polynomials of even degree
constexpr int kIterations = 100;  // each brings the eigenvector closer by a factor of four or more

// Coefficients of P_0, P_2, ... times a common factor.
Series legendre_expansion(long double c) {
  Series diagonal(kTerms), beside(kTerms), x(kTerms, 1);
  for (int i = 0; i < kTerms; ++i) {
    const long double k = 2 * i;
    diagonal[i] = k * (k + 1) + (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1)) * c * c;
    beside[i] = (k + 2) * (k + 1) / ((2 * k + 3) * std::sqrt((2 * k + 1) * (2 * k + 5))) * c * c;
  }
  for (int n = 0; n < kIterations; ++n) {  // solve the system for x, in place
    Series pivot = diagonal;
    for (int i = 1; i < kTerms; ++i) {
      const long double factor = beside[i - 1] / pivot[i - 1];
      pivot[i] -= factor * beside[i - 1];
      x[i] -= factor * x[i - 1];
    }
    for (int i = kTerms - 1; i >= 0; --i)
      x[i] = (x[i] - (i + 1 < kTerms ? beside[i] * x[i + 1] : 0)) / pivot[i];
    for (int i = kTerms - 1; i >= 0; --i) x[i] /= x[0];
  }
  for (int i = 0; i < kTerms; ++i) x[i] *= std::sqrt(2 * i + 0.5L);  // of normalised polynomials
  return x;
}

// From coefficients of P_0, P_2, ... to those of 1, x^2, x^4, ...
Series to_powers(const Series& legendre) {
  Series powers(kTerms, 0);
  Series before(2 * kTerms, 0), here(2 * kTerms, 0);  // P_(n-1), P_n, in powers of x
  here[0] = 1;
  for (int n = 0; n < 2 * kTerms - 1; ++n) {
    if (n % 2 == 0)
      for (int k = 0; k <= n; k += 2) powers[k / 2] += legendre[n / 2] * here[k];
    Series next(2 * kTerms, 0);
    for (int k = 0; k <= n; ++k) next[k + 1] = (2 * n + 1) * here[k] / (n + 1);
    for (int k = 0; k <= n; ++k) next[k] -= n * before[k] / (n + 1);
    before = here;
    here = next;
  }
  return powers;
}

}  // namespace

Prolate::Prolate(double bandwidth) {
  if (!(bandwidth >= kLeastBandwidth && bandwidth <= kLargestBandwidth)) {
    char text[120];
    std::snprintf(text, sizeof text, "the bandwidth of the prolate split must be %g to %g, not %g",
                  kLeastBandwidth, kLargestBandwidth, bandwidth);
    throw Error(text);
  }
  const Series powers = to_powers(legendre_expansion(bandwidth));
  double square = 0;
  for (int k = 0; k < kTerms; ++k) {
    series_.push_back(static_cast<double>(powers[k] / powers[0]));
    integral_ += series_[k] / (2 * k + 1);
    square += series_[k] / (2 * k + 3);
  }
  mean_square_ = square / integral_;
}

double Prolate::sum(const std::vector<double>& series, double z) {
  double value = 0;
  for (size_t k = series.size(); k-- > 0;) value = value * z + series[k];
  return value;
}

double Prolate::slope(double z) const {
  double value = 0;
  for (size_t k = series_.size() - 1; k > 0; --k)
    value = value * z + static_cast<double>(k) * series_[k];
  return value;
}

std::vector<double> Prolate::mean_series() const {
  std::vector<double> series;
  for (const double power : series_)
    series.push_back(power / (integral_ * (2 * static_cast<double>(series.size()) + 1)));
  return series;
}

double Prolate::first_zero() const {
  double low = 1, high = 1;
  while ((*this)(high) > 0) high += 0.01;
  for (int n = 0; n < 60; ++n) {
    const double middle = 0.5 * (low + high);
    ((*this)(middle) > 0 ? low : high) = middle;
  }
  return low;
}

}  // namespace quiltmd
