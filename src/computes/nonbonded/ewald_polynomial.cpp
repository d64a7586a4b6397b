// SPDX-License-Identifier: Apache-2.0
// The fit of the Ewald polynomials. The *relative* error of P and Q is levelled: at the cutoff they are
// nearly 1/r^3 and 1/r, the sizes that the error has to be held against, and near r = 0, where only excluded
// pairs go, they count by themselves.
//
// Largest relative error of the force polynomial P (of the fit; evaluated in single precision):
//   alpha cutoff   degree 10         degree 14
//   2.20           2e-8 ; 4e-7       9e-13; 4e-7
//   2.63           5e-7 ; 7e-7       1e-10; 2e-7
//   2.754          1e-6 ; 1e-6       3e-10; 3e-7
//   3.12           1e-5 ; 1e-5       7e-9 ; 6e-7
//   3.50           7e-5 ; 7e-5       1e-7 ; 5e-7
//   3.72           2e-4 ; 2e-4       4e-7 ; 1e-6
//   4.20                             5e-6 ; 5e-6
//   4.50                             2e-5 ; 2e-5   refused
// The energy polynomial Q at degree 14 is below 6e-8 (fit) and 2e-7 (evaluated) throughout.
#include "computes/nonbonded/ewald_polynomial.h"

#include <cmath>
#include <cstdio>

#include "computes/nonbonded/polynomial_fit.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

// What the low degree may cost: little more than single precision loses anyway.
constexpr double kLowDegreeError = 1.5e-6;
// What is let pass at all: alpha * cutoff = 4.2, where PME's direct sum is wrong by 1e-8. Beyond, the
// error grows tenfold with every 0.6.
constexpr double kLargestError = 6e-6;
constexpr double kLargestProduct = 4.2;

// sum_k (-z)^k / (k! (2k + first)): the common series of P (first = 3) and Q (first = 1).
double erf_series(double z, int first) {
  double sum = 0, term = 1;
  for (int k = 0; k < 40; ++k) {
    sum += term / (2 * k + first);
    term *= -z / (k + 1);
  }
  return sum;
}

// erf(y)/y^3 - 2/sqrt(pi) exp(-y^2)/y^2 with y^2 = z: alpha^-3 P.
double smooth_force(double z) {
  const double two_over_root_pi = 2 / std::sqrt(kPi);
  if (z < 1) return 2 * two_over_root_pi * erf_series(z, 3);
  const double y = std::sqrt(z);
  return (std::erf(y) / y - two_over_root_pi * std::exp(-z)) / z;
}

// erf(y)/y: alpha^-1 Q.
double smooth_energy(double z) {
  if (z < 1) return 2 / std::sqrt(kPi) * erf_series(z, 1);
  return std::erf(std::sqrt(z)) / std::sqrt(z);
}

}  // namespace

EwaldPolynomial fit_ewald(double alpha, double cutoff) {
  EwaldPolynomial polynomial{};
  polynomial.force_degree = kEwaldLowDegree;
  if (alpha == 0) return polynomial;
  const double z_max = alpha * alpha * cutoff * cutoff;
  PolynomialFit force = fit_polynomial(smooth_force, z_max, kEwaldLowDegree);
  if (force.error > kLowDegreeError) {
    polynomial.force_degree = kEwaldDegree;
    force = fit_polynomial(smooth_force, z_max, kEwaldDegree);
  }
  if (force.error > kLargestError) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "the Ewald coefficient %g/nm times the cutoff %g nm is %.2f; forces are accurate "
                  "up to %.1f: choose a smaller coefficient or cutoff, or a larger tolerance",
                  alpha, cutoff, alpha * cutoff, kLargestProduct);
    throw Error(text);
  }
  const PolynomialFit energy = fit_polynomial(smooth_energy, z_max, kEwaldDegree);
  for (int k = 0; k <= kEwaldDegree; ++k) {
    polynomial.force[k] = static_cast<float>(alpha * alpha * alpha * force.powers[k]);
    polynomial.energy[k] = static_cast<float>(alpha * energy.powers[k]);
  }
  return polynomial;
}

EwaldPolynomial polynomial_of_field(double strength, double shift, double cutoff) {
  const double half = 0.5 * strength * cutoff * cutoff;  // strength r^2 = half (1 + t)
  EwaldPolynomial p{};
  p.force_degree = kEwaldLowDegree;
  p.force[0] = static_cast<float>(2 * strength);
  p.energy[0] = static_cast<float>(shift - half);
  p.energy[1] = static_cast<float>(-half);
  return p;
}

}  // namespace quiltmd
