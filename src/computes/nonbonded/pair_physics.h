// SPDX-License-Identifier: Apache-2.0
// The short-range pair interaction, written once for every device.
//
// Lennard-Jones with a plain cutoff (optionally shifted to zero there), and Coulomb in one form for
// every method: force/r = qq (1/r^3 - P(r^2)), energy = qq (1/r - Q(r^2)). For PME, P and Q are
// polynomials fitted to the smooth erf part (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq.
// 2.5-2.6), so that neither erfc nor exp is evaluated; an excluded pair keeps -P and -Q alone,
// which removes what the reciprocal sum put in. For a plain cutoff P = Q = 0.
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

enum class Combination { kLorentzBerthelot, kTable };

struct PairParameters {
  float cutoff2;
  float t_scale;        // 2 / cutoff^2
  float lj_shift_6;     // 1 / cutoff^6 when the potential is shifted, else 0
  float coulomb_shift;  // energy offset of 1/r at the cutoff when shifted, else 0
  Combination combination;
  int lj_types;  // row length of the table
  EwaldPolynomial ewald;
};

// Fit the polynomials for the Ewald coefficient alpha (1/nm; 0 for a plain cutoff).
EwaldPolynomial fit_ewald(double alpha, double cutoff);

}  // namespace quiltmd
