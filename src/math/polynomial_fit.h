// SPDX-License-Identifier: Apache-2.0
// Weighted least squares in Chebyshev polynomials on Chebyshev points, which comes within a factor of two of
// the minimax fit and needs no iteration.
#pragma once

#include <array>
#include <functional>

namespace quiltmd {

inline constexpr int kMostTerms = 15;
using FitCoefficients = std::array<double, kMostTerms>;  // those beyond the degree are zero

struct PolynomialFit {
  FitCoefficients powers;  // of t, lowest first
  double error;            // the largest at the points, relative to the size
};

using Function = std::function<double(double)>;

// Fit f(z) for z in [0, z_max] by a polynomial in t = 2 z / z_max - 1; its error, relative to `size`, which is
// nowhere zero, is levelled.
PolynomialFit fit_polynomial(const Function& f, double z_max, int degree, const Function& size);
// The same with f, which is nowhere zero, as the size: the relative error is levelled.
PolynomialFit fit_polynomial(const Function& f, double z_max, int degree);

}  // namespace quiltmd
