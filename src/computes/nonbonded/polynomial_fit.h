// SPDX-License-Identifier: Apache-2.0
// Weighted least squares in Chebyshev polynomials on Chebyshev points, which comes within a factor of two of
// the minimax fit and needs no iteration.
#pragma once

#include <array>

namespace quiltmd {

inline constexpr int kMostTerms = 15;
using FitCoefficients = std::array<double, kMostTerms>;  // those beyond the degree are zero

struct PolynomialFit {
  FitCoefficients powers;  // of t, lowest first
  double error;            // largest relative error at the points
};

// Fit f(z), which is nowhere zero, for z in [0, z_max] by a polynomial in t = 2 z / z_max - 1; its relative
// error is levelled.
PolynomialFit fit_polynomial(double (*f)(double), double z_max, int degree);

}  // namespace quiltmd
