// SPDX-License-Identifier: Apache-2.0
#include "math/polynomial_fit.h"

#include <cmath>

#include "math/units.h"

namespace quiltmd {
namespace {

constexpr int kPoints = 200;

// Solve the symmetric positive system a x = b in place (Cholesky); x is left in b.
void solve(std::array<FitCoefficients, kMostTerms>& a, FitCoefficients& b, int terms) {
  for (int i = 0; i < terms; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (int k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
    for (int k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (int i = terms - 1; i >= 0; --i) {
    for (int k = i + 1; k < terms; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
}

// From Chebyshev coefficients to those of powers of t.
FitCoefficients to_powers(const FitCoefficients& chebyshev, int terms) {
  FitCoefficients powers{}, previous{}, current{};
  previous[0] = 1;  // T_0
  current[1] = 1;   // T_1
  for (int n = 0; n < terms; ++n) {
    for (int k = 0; k < kMostTerms; ++k) powers[k] += chebyshev[n] * previous[k];
    FitCoefficients next{};
    for (int k = 0; k < kMostTerms; ++k) next[k] = (k ? 2 * current[k - 1] : 0) - previous[k];
    previous = current;
    current = next;
  }
  return powers;
}

double horner(const FitCoefficients& c, double t) {
  double sum = 0;
  for (int k = kMostTerms - 1; k >= 0; --k) sum = sum * t + c[k];
  return sum;
}

}  // namespace

PolynomialFit fit_polynomial(const Function& f, double z_max, int degree, const Function& size) {
  const int terms = degree + 1;
  std::array<FitCoefficients, kMostTerms> matrix{};
  FitCoefficients right{};
  std::array<double, kPoints> points, values, sizes;
  for (int p = 0; p < kPoints; ++p) {
    const double t = points[p] = std::cos(kPi * (p + 0.5) / kPoints);
    const double z = z_max * (t + 1) / 2, value = values[p] = f(z), size_here = sizes[p] = size(z);
    FitCoefficients basis{};
    for (int n = 0; n < terms; ++n) {
      basis[n] = n == 0 ? 1 : n == 1 ? t : 2 * t * basis[n - 1] - basis[n - 2];
    }
    for (int i = 0; i < terms; ++i) {
      for (int j = 0; j <= i; ++j) matrix[i][j] += basis[i] * basis[j] / (size_here * size_here);
      right[i] += basis[i] * value / (size_here * size_here);
    }
  }
  solve(matrix, right, terms);
  PolynomialFit result{to_powers(right, terms), 0};
  for (int p = 0; p < kPoints; ++p) {
    const double deviation = std::fabs((horner(result.powers, points[p]) - values[p]) / sizes[p]);
    result.error = std::fmax(result.error, deviation);
  }
  return result;
}

PolynomialFit fit_polynomial(const Function& f, double z_max, int degree) {
  return fit_polynomial(f, z_max, degree, f);
}

}  // namespace quiltmd
