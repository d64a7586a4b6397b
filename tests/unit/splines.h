// SPDX-License-Identifier: Apache-2.0
// Cardinal B-splines by their definition (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq. 4.1).
#pragma once

#include <cmath>

namespace quiltmd::test {

// M_n(x).
inline double spline(int n, double x) {
  if (x <= 0 || x >= n) return 0;
  if (n == 2) return 1 - std::abs(x - 1);
  return (x * spline(n - 1, x) + (n - x) * spline(n - 1, x - 1)) / (n - 1);
}

}  // namespace quiltmd::test
