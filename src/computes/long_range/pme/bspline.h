// SPDX-License-Identifier: Apache-2.0
// Cardinal B-splines of the charge grid (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq. 4.1),
// written once for every device: by recursion, and as the polynomials that the recursion yields,
// for kernels that evaluate all weights of an atom side by side.
#pragma once

#include "math/macros.h"

namespace quiltmd {

// Weights and their derivatives by t of the grid points floor(u) - Order + 1 + j, j = 0 .. Order-1,
// for an atom at grid coordinate u with t = u - floor(u).
template <int Order, class Real>
QMD_HD void bspline(Real t, Real* weight, Real* slope) {
  weight[0] = 1 - t;
  weight[1] = t;
  for (int k = 3; k <= Order; ++k) {
    if (k == Order) {
      slope[0] = -weight[0];
      for (int j = 1; j < Order - 1; ++j) slope[j] = weight[j - 1] - weight[j];
      slope[Order - 1] = weight[Order - 2];
    }
    const Real scale = Real(1) / (k - 1);
    weight[k - 1] = scale * t * weight[k - 2];
    for (int j = k - 2; j > 0; --j)
      weight[j] = scale * ((t + (k - 1 - j)) * weight[j - 1] + (j + 1 - t) * weight[j]);
    weight[0] = scale * (1 - t) * weight[0];
  }
}

// The same weights as polynomials in t: weight j = sum over d of weight[d][j] t^d; entries beyond
// the order are zero.
inline constexpr int kSplineWidth = 8;
struct SplinePolynomials {
  float weight[5][kSplineWidth];
  float slope[4][kSplineWidth];
};

template <int Order>
constexpr SplinePolynomials spline_polynomials() {
  static_assert(Order <= 5);
  double p[Order][Order] = {};  // [j][power]
  p[0][0] = 1;
  p[0][1] = -1;
  p[1][1] = 1;
  for (int k = 3; k <= Order; ++k) {
    double next[Order][Order] = {};
    for (int j = 0; j < k; ++j)
      for (int d = 0; d < k - 1; ++d) {
        const double below = j > 0 ? p[j - 1][d] : 0, same = j < k - 1 ? p[j][d] : 0;
        next[j][d] += ((k - 1 - j) * below + (j + 1) * same) / (k - 1);
        next[j][d + 1] += (below - same) / (k - 1);
      }
    for (int j = 0; j < k; ++j)
      for (int d = 0; d < k; ++d) p[j][d] = next[j][d];
  }
  SplinePolynomials result{};
  for (int j = 0; j < Order; ++j)
    for (int d = 0; d < Order; ++d) {
      result.weight[d][j] = static_cast<float>(p[j][d]);
      if (d > 0) result.slope[d - 1][j] = static_cast<float>(d * p[j][d]);
    }
  return result;
}

}  // namespace quiltmd
