// SPDX-License-Identifier: Apache-2.0
// The smooth part of the Coulomb interaction, as polynomials in r^2: for PME, P and Q of
// forms/coulomb.h are fitted to the erf part (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq.
// 2.5-2.6), so that no kernel evaluates erfc or exp. For a plain cutoff P = Q = 0; a reaction field is
// such a polynomial itself.
#pragma once

namespace quiltmd {

// Degree of the energy polynomial, and the largest of the force polynomial.
inline constexpr int kEwaldDegree = 14;
// A force polynomial of this degree serves alpha * cutoff up to 2.78; the default tolerance, 5e-4,
// asks for 2.754.
inline constexpr int kEwaldLowDegree = 10;

// Coefficients in t = 2 r^2 / cutoff^2 - 1, lowest first: Horner in [-1, 1] keeps single
// precision accurate. `force_degree` is one of the two degrees above; the force coefficients
// beyond it are zero, so that evaluating all of them gives the same bits.
struct EwaldPolynomial {
  int force_degree;
  float force[kEwaldDegree + 1];
  float energy[kEwaldDegree + 1];
};

// Fit the polynomials for the Ewald coefficient alpha (1/nm; 0 for a plain cutoff). Throws Error where
// alpha * cutoff is too large for a good fit.
EwaldPolynomial fit_ewald(double alpha, double cutoff);

// P = 2 strength, Q = shift - strength r^2.
EwaldPolynomial polynomial_of_field(double strength, double shift, double cutoff);

}  // namespace quiltmd
