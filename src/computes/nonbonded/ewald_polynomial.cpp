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
// and of a prolate split (by bandwidth, of the fit):
//   9              degree 7  3e-7
//   10                       9e-7
//   10.5                     1.5e-6
//   12             degree 10 2e-9
//   16                       1e-7
//   20             degree 14 4e-10
// The energy polynomial Q at degree 14 is below 6e-8 (fit) and 2e-7 (evaluated) throughout.
#include "computes/nonbonded/ewald_polynomial.h"

#include <cstdio>

#include "math/error.h"
#include "math/polynomial_fit.h"

namespace quiltmd {
namespace {

// Error allowed for the degree: little more than that of single precision.
constexpr double kDegreeError = 1.5e-6;
// Largest error allowed at the highest degree: alpha * cutoff = 4.2 of a Gaussian, where PME's direct sum has
// an error of 1e-8. Beyond this value, the error grows tenfold with every 0.6.
constexpr double kLargestError = 6e-6;

struct ForceFit {
  int degree = 0;
  PolynomialFit fit{};
};

// Fits with the smallest of the degrees that is accurate enough.
template <int... degrees>
ForceFit fit_force(const Function& force, double cutoff2, std::integer_sequence<int, degrees...>) {
  ForceFit found;
  for (const int degree : {degrees...}) {
    found = {degree, fit_polynomial(force, cutoff2, degree)};
    if (found.fit.error <= kDegreeError) break;
  }
  return found;
}

}  // namespace

EwaldPolynomial fit_ewald(const EwaldSplit& split, double cutoff) {
  const double cutoff2 = cutoff * cutoff;
  const auto of_force = [&](double r2) { return split.force(r2); };
  const ForceFit force = fit_force(of_force, cutoff2, ForceDegrees{});
  if (force.fit.error > kLargestError) {
    char text[250];
    std::snprintf(
        text, sizeof text,
        "the Ewald coefficient is too large for the cutoff of %g nm: their product must be at "
        "most 4.2 for accurate forces; choose a smaller coefficient or cutoff, or a larger "
        "tolerance",
        cutoff);
    throw Error(text);
  }
  const auto of_potential = [&](double r2) { return split.potential(r2); };
  const PolynomialFit energy = fit_polynomial(of_potential, cutoff2, kEwaldDegree);
  EwaldPolynomial polynomial{};
  polynomial.force_degree = force.degree;
  for (int k = 0; k <= kEwaldDegree; ++k) {
    polynomial.force[k] = static_cast<float>(force.fit.powers[k]);
    polynomial.energy[k] = static_cast<float>(energy.powers[k]);
  }
  return polynomial;
}

EwaldPolynomial no_ewald() {
  EwaldPolynomial polynomial{};
  polynomial.force_degree = kLeastForceDegree;
  return polynomial;
}

EwaldPolynomial polynomial_of_field(double strength, double shift, double cutoff) {
  const double half = 0.5 * strength * cutoff * cutoff;  // strength r^2 = half (1 + t)
  EwaldPolynomial p{};
  p.force_degree = kLeastForceDegree;
  p.force[0] = static_cast<float>(2 * strength);
  p.energy[0] = static_cast<float>(shift - half);
  p.energy[1] = static_cast<float>(-half);
  return p;
}

}  // namespace quiltmd
