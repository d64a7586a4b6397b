// SPDX-License-Identifier: Apache-2.0
// What soft cores are made of: their numbers, and the Coulomb potential of which a mesh has the smooth part. The
// forms themselves are in forms/; what they have in common is in soft_pairs.h.
#pragma once

#include <cmath>

#include "math/macros.h"

namespace quiltmd {

// Form of the soft core and its constants, and the ending of the energy at the cutoff.
struct SoftCore {
  int form;  // position in SoftForms (forms/list.h)
  double alpha, alpha_coulomb, least_sigma6;
  double cutoff2;
  double shift_6;  // 1/cutoff^6 where energies are shifted to zero there, else 0
  double switch_start,
      inverse;  // of a switching function the distance, and 1/(cutoff - it); 0: none
};

struct SoftValue {
  double energy;
  double force;  // over r
  double slope;  // derivative of the energy by the share of it that is present, or by lambda
};

// The share of an end's energy that is present, the rest, and the derivative of the first by lambda of the end.
struct PresentShare {
  double present, absent, slope;
};

// Coefficients of a pair at one end, and how it is softened there.
struct SoftPair {
  double a, b, alpha, sigma6;
};

// How charges of a pair are softened. `full` is the product of charges, over 4 pi eps0, of the end at which the
// atom that vanishes or appears is present.
struct SoftCharges {
  double alpha, sigma6, full, cutoff;
};

// Positions that agree to the last bit have no direction: their force is zero.
QMD_HD double inverse_distance(double r2) { return r2 > 0 ? 1 / std::sqrt(r2) : 0; }

// The smooth part of the Coulomb potential of unit charges, which a mesh has (computes/long_range/ewald_split.h).
struct SmoothCoulomb {
  double alpha;                    // of a Gaussian, 1/nm; 0: prolate
  double cutoff, inverse_cutoff2;  // of the prolate split
  int powers;                      // an even number
  const double* series;            // of it cutoff times the potential, by powers of (r/cutoff)^2
};

struct SmoothValue {
  double energy;
  double force;  // over r
};

QMD_HD SmoothValue smooth_gaussian(double alpha, double r2) {
  const double two_over_root_pi = 1.1283791670955126;
  const double z = alpha * alpha * r2;
  if (z >= 0.5) {
    const double y = std::sqrt(z), potential = std::erf(y) / y;
    return {alpha * potential,
            alpha * alpha * alpha * (potential - two_over_root_pi * std::exp(-z)) / z};
  }
  double energy = 0, force = 0, term = 1;  // their series, where the formulas cancel
  for (int k = 0; k < 24; ++k) {
    energy += term / (2 * k + 1);
    force += 2 * term / (2 * k + 3);
    term *= -z / (k + 1);
  }
  return {alpha * two_over_root_pi * energy, alpha * alpha * alpha * two_over_root_pi * force};
}

QMD_HD SmoothValue smooth_coulomb(const SmoothCoulomb& smooth, double r2) {
  if (smooth.alpha > 0) return smooth_gaussian(smooth.alpha, r2);
  const double z = r2 * smooth.inverse_cutoff2;
  if (z >= 1) {
    const double r = std::sqrt(r2);
    return {1 / r, 1 / (r2 * r)};
  }
  // Even and odd powers side by side: a GPU waits for each operation.
  const double z2 = z * z;
  double even = 0, odd = 0, even_slope = 0, odd_slope = 0;  // slopes: by z^2
  for (int k = smooth.powers - 2; k >= 0; k -= 2) {
    even_slope = even_slope * z2 + even;
    odd_slope = odd_slope * z2 + odd;
    even = even * z2 + smooth.series[k];
    odd = odd * z2 + smooth.series[k + 1];
  }
  const double slope = odd + 2 * (z * even_slope + z2 * odd_slope);
  const double scale = 1 / smooth.cutoff;
  return {scale * (even + z * odd), -2 * scale * smooth.inverse_cutoff2 * slope};
}

// The direct part, without a soft core.
QMD_HD SoftValue hard_coulomb(const SmoothValue& smooth, double r2) {
  const double inverse = 1 / std::sqrt(r2);
  return {inverse - smooth.energy, inverse * inverse * inverse - smooth.force, 0};
}

}  // namespace quiltmd
