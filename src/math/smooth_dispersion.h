// SPDX-License-Identifier: Apache-2.0
// The smooth part of 1/r^6 that a mesh sums up (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq. 5.2):
//   (1 - g(alpha r))/r^6 = alpha^6 F(z),   g(x) = exp(-x^2) (1 + x^2 + x^4/2),   z = (alpha r)^2.
#pragma once

#include <cmath>

#include "math/macros.h"

namespace quiltmd {

struct SmoothDispersion {
  double value;  // F
  double slope;  // -F'

  // Force over r of E = -alpha^6 F(z), the interaction of two coefficients 1, with opposite sign.
  double force_over_r(double alpha) const { return 2 * std::pow(alpha, 8) * slope; }
};

// For z >= 0. Below 1, where nearly equal numbers would be subtracted, F = exp(-z) sum_k z^k/(k + 3)!,
// to the precision of double numbers.
QMD_HD SmoothDispersion smooth_dispersion(double z) {
  const double decay = std::exp(-z);
  if (z > 1) {
    const double value = (1 - decay * (1 + z + 0.5 * z * z)) / (z * z * z);
    return {value, (3 * value - 0.5 * decay) / z};
  }
  double value = 0, slope = 0;
  for (int k = 16; k > 0; --k) {
    value = (1 + value) * z / (k + 3);
    slope = (1 + slope) * z / (k + 4);
  }
  return {decay * (1 + value) / 6, decay * (1 + slope) / 8};
}

}  // namespace quiltmd
