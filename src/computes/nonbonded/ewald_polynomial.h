// SPDX-License-Identifier: Apache-2.0
// The smooth part of the Coulomb interaction, as polynomials in r^2: for PME, P and Q of
// forms/coulomb.h are fitted to the smooth part of the Ewald split (ewald_split.h), so that no kernel
// evaluates erfc or exp. For a plain cutoff P = Q = 0; a reaction field is
// such a polynomial itself.
#pragma once

#include <utility>

#include "computes/long_range/ewald_split.h"

namespace quiltmd {

// Degree of the energy polynomial, and the largest of the force polynomial.
inline constexpr int kEwaldDegree = 14;
// Degrees of the force polynomial for which kernels are compiled; the smallest sufficient one is used. Degree
// 7 is for prolate splits with bandwidths up to 10.5, 10 for Gaussian splits with alpha * cutoff up to 2.78;
// at the default tolerance, 5e-4, and 0.9 nm these are 10.3 and 2.754.
inline constexpr int kLeastForceDegree = 7;
using ForceDegrees = std::integer_sequence<int, kLeastForceDegree, 10, kEwaldDegree>;

// Coefficients in t = 2 r^2 / cutoff^2 - 1, lowest first: Horner in [-1, 1] keeps single
// precision accurate. `force_degree` is one of the degrees above; the force coefficients
// beyond it are zero, so that evaluating all of them gives the same bits.
struct EwaldPolynomial {
  int force_degree;
  float force[kEwaldDegree + 1];
  float energy[kEwaldDegree + 1];
};

// Call visit(std::integral_constant<int, d>) with the degree that a polynomial has.
template <class Visit, int first, int... rest>
auto with_degree(std::integer_sequence<int, first, rest...>, int degree, const Visit& visit) {
  if constexpr (sizeof...(rest) > 0)
    if (degree != first) return with_degree(std::integer_sequence<int, rest...>{}, degree, visit);
  return visit(std::integral_constant<int, first>{});
}
template <class Visit>
auto with_force_degree(const EwaldPolynomial& polynomial, const Visit& visit) {
  return with_degree(ForceDegrees{}, polynomial.force_degree, visit);
}

// Fit the polynomials. Throws Error where the split is too steep for a good fit.
EwaldPolynomial fit_ewald(const EwaldSplit& split, double cutoff);
// The polynomial of a plain cutoff, P = Q = 0.
EwaldPolynomial no_ewald();

// P = 2 strength, Q = shift - strength r^2.
EwaldPolynomial polynomial_of_field(double strength, double shift, double cutoff);

}  // namespace quiltmd
