// SPDX-License-Identifier: Apache-2.0
// The smooth part of the dispersion that a mesh has (math/smooth_dispersion.h), as polynomials in r^2, like
// that of charges (ewald_polynomial.h).
#pragma once

namespace quiltmd {

inline constexpr int kDispersionDegree = 14;

// For a product c_i c_j of 1: force divided by r and energy, coefficients in t = 2 r^2 / cutoff^2 - 1, lowest
// first; and the energy at the cutoff.
struct DispersionPolynomial {
  float force[kDispersionDegree + 1];
  float energy[kDispersionDegree + 1];
  float at_cutoff;
};

// Throws Error where alpha (1/nm) times the cutoff is too large for a good fit.
DispersionPolynomial fit_dispersion(double alpha, double cutoff);

}  // namespace quiltmd
