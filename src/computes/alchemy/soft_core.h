// SPDX-License-Identifier: Apache-2.0
// The interaction of an alchemical atom with another, in double precision, for all devices: Lennard-Jones with a
// soft core, and Coulomb of which a mesh has the smooth part.
//
// With the scale s of an end (1 - lambda of van der Waals, or lambda) and D = alpha (1 - s) sigma^6 + r^6,
//   E = s (a/D^2 - b/D)
// (Beutler et al., Chem. Phys. Lett. 222, 529 (1994), with the powers 1, 1 and 6 of Pham and Shirts, J. Chem.
// Phys. 135, 034114 (2011)): finite where atoms meet, and a/r^12 - b/r^6 at s = 1. The energy of a pair is the
// sum of those of both ends. Where it interacts at both, nothing must be softened, and alpha is 0.
//
// Charges have 1/D'^(1/6) in place of 1/r, where D' = alpha' (1 - s) sigma^6 + r^6 is of the end at which the atom
// is present.
#pragma once

#include <cmath>

#include "math/macros.h"

namespace quiltmd {

// Ending of the energy at the cutoff, and the constants of the soft core.
struct SoftCore {
  double alpha, alpha_coulomb, least_sigma6;
  double cutoff2;
  double shift_6;  // 1/cutoff^6 where energies are shifted to zero there, else 0
  double switch_start,
      inverse;  // of a switching function the distance, and 1/(cutoff - it); 0: none
};

struct SoftValue {
  double energy;
  double force;  // over r
  double slope;  // derivative of the energy by s, or by lambda
};

// Factor of the energy between the switching distance and the cutoff, and its derivative divided by r.
struct SwitchValue {
  double value, slope;
};
QMD_HD SwitchValue switch_value(const SoftCore& core, double r2) {
  const double start = core.switch_start;
  if (core.inverse == 0 || r2 <= start * start) return {1, 0};
  const double r = std::sqrt(r2), x = (r - start) * core.inverse;
  return {1 + x * x * x * (-10 + x * (15 - 6 * x)),
          -30 * x * x * (1 - x) * (1 - x) * core.inverse / r};
}

// sigma^6 of the soft core.
QMD_HD double soft_sigma6(const SoftCore& core, double a, double b) {
  const double own = a > 0 && b > 0 ? a / b : 0;
  return own > core.least_sigma6 ? own : core.least_sigma6;
}

QMD_HD SoftValue soft_lennard_jones(const SoftCore& core, double a, double b, double alpha,
                                    double s, double r2) {
  if (a == 0 && b == 0) return {0, 0, 0};
  const double r4 = r2 * r2, widening = alpha == 0 ? 0 : alpha * soft_sigma6(core, a, b);
  const double inverse = 1 / (widening * (1 - s) + r4 * r2);
  const double full = (a * inverse - b) * inverse;                // E/s
  const double push = (2 * a * inverse - b) * inverse * inverse;  // -d(E/s)/dD
  const double shift = (a * core.shift_6 - b) * core.shift_6;
  const SwitchValue end = switch_value(core, r2);
  return {s * (full * end.value - shift), s * (6 * r4 * push * end.value - full * end.slope),
          full * end.value - shift + s * push * widening * end.value};
}

// Coefficients of a pair at lambda 0 and 1.
struct TwoEnds {
  double a[2], b[2];

  QMD_HD bool interacts(int end) const { return a[end] != 0 || b[end] != 0; }
};

QMD_HD double soft_sigma6(const SoftCore& core, const TwoEnds& ends, bool is_last) {
  return is_last ? soft_sigma6(core, ends.a[1], ends.b[1])
                 : soft_sigma6(core, ends.a[0], ends.b[0]);
}

// The slope is that by lambda.
QMD_HD SoftValue soft_lennard_jones(const SoftCore& core, const TwoEnds& ends, double lambda,
                                    double r2) {
  const double alpha = ends.interacts(0) && ends.interacts(1) ? 0 : core.alpha;
  const SoftValue first = soft_lennard_jones(core, ends.a[0], ends.b[0], alpha, 1 - lambda, r2);
  const SoftValue last = soft_lennard_jones(core, ends.a[1], ends.b[1], alpha, lambda, r2);
  return {first.energy + last.energy, first.force + last.force, last.slope - first.slope};
}

// In place of 1/r, of charges of which that of an atom is `absent` (1 - s) to some part.
QMD_HD SoftValue soft_inverse(double widening, double absent, double r2) {
  if (widening * absent == 0) {
    const double inverse = 1 / std::sqrt(r2), cube = inverse * inverse * inverse;
    return {inverse, cube, widening == 0 ? 0 : cube * cube * inverse * widening / 6};
  }
  const double r4 = r2 * r2, d = widening * absent + r4 * r2;
  const double inverse = 1 / std::sqrt(std::cbrt(d)), steep = inverse / d;
  return {inverse, r4 * steep, widening * steep / 6};
}

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

}  // namespace quiltmd
