// SPDX-License-Identifier: Apache-2.0
// Largest relative errors, of the fit and evaluated in single precision:
//   alpha cutoff   force             energy
//   2.63           5e-10; 1e-6       3e-10; 2e-6
//   3.35           3e-7 ; 1e-5       2e-7 ; 4e-6
//   3.60           2e-6 ; 3e-5       1e-6 ; 5e-6
//   4.00           2e-5 ; 5e-5       1e-5 ; 2e-5
//   4.50           2e-4 ; 3e-4       1e-4 ; 1e-4   refused
// The largest are near the cutoff, where the dispersion of a pair is some 1e-3 of that of its neighbours.
#include "computes/nonbonded/dispersion_polynomial.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "math/error.h"
#include "math/polynomial_fit.h"
#include "math/smooth_dispersion.h"

namespace quiltmd {
namespace {

static_assert(kDispersionDegree < kMostTerms);
constexpr double kLargestProduct = 4;  // where what the mesh leaves out at the cutoff is 2e-5

double smooth_force(double z) { return smooth_dispersion(z).slope; }
double smooth_energy(double z) { return smooth_dispersion(z).value; }

}  // namespace

DispersionPolynomial fit_dispersion(double alpha, double cutoff) {
  if (alpha * cutoff > kLargestProduct * (1 + 1e-9)) {
    char text[200];
    std::snprintf(
        text, sizeof text,
        "the Lennard-Jones Ewald coefficient %g/nm times the cutoff %g nm is %.2f; forces are "
        "accurate up to %.0f: choose a smaller coefficient or cutoff, or a larger tolerance",
        alpha, cutoff, alpha * cutoff, kLargestProduct);
    throw Error(text);
  }
  const double z_max = alpha * alpha * cutoff * cutoff;
  const PolynomialFit force = fit_polynomial(smooth_force, z_max, kDispersionDegree);
  const PolynomialFit energy = fit_polynomial(smooth_energy, z_max, kDispersionDegree);
  const double alpha6 = std::pow(alpha, 6);
  DispersionPolynomial p{};
  for (size_t k = 0; k <= kDispersionDegree; ++k) {
    p.force[k] = static_cast<float>(2 * alpha6 * alpha * alpha * force.powers[k]);
    p.energy[k] = static_cast<float>(alpha6 * energy.powers[k]);
  }
  p.at_cutoff = static_cast<float>(alpha6 * smooth_energy(z_max));
  return p;
}

}  // namespace quiltmd
