// SPDX-License-Identifier: Apache-2.0
// FENE bond: finitely extensible, nonlinear, elastic.
#pragma once

#include "computes/bonded/forms/longest.h"
#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = -k/2 longest^2 ln(1 - (r/longest)^2), Warner, Ind. Eng. Chem. Fundam. 11, 379 (1972), and below 2^(1/6)
// sigma the repulsion 4 epsilon ((sigma/r)^12 - (sigma/r)^6) + epsilon of Kremer and Grest, J. Chem. Phys. 92,
// 5057 (1990). From 0.9999995 of the longest distance on the energy goes on linearly in r^2, with a
// slope of at least 1e8 kJ/mol/nm^2: an overstretched bond, however weak, gets a force that no run survives, so
// that it is named, and no number that is none.
struct FeneForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kBond;
  static constexpr TermParameter kParameters[] = {
      {"longest", "nm"}, {"k", "kJ/mol/nm^2"}, {"sigma", "nm"}, {"epsilon", "kJ/mol"}};
  static constexpr const char* kEnergies[] = {"bond"};
  static constexpr TermForm kForm{"fene", "a FENE bond", "fene_bonds", "fene_parameters",
                                  kAtoms, kParameters,   kEnergies};

  // k, 1 / longest^2, longest^2 / 2, sigma^2, epsilon.
  static constexpr int kPrepared = 5;
  static void prepare(const double* given, double* p) {
    p[0] = given[1];
    p[1] = given[0] > 0 ? 1 / (given[0] * given[0]) : 0;
    p[2] = 0.5 * given[0] * given[0];
    p[3] = given[2] * given[2];
    p[4] = given[3];
  }

  static double longest(const double* given, double energy) {  // no repulsion is below zero
    if (!(given[1] > 0)) return kUnbounded;
    return given[0] * std::sqrt(-std::expm1(-2 * energy / (given[1] * given[0] * given[0])));
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    constexpr Real kLeast = Real(1e-6), kLeastSlope = Real(1e8);
    const Real r2 = dot(b[0], b[0]);
    const Real rest = 1 - r2 * p[1];
    const Real left = rest > kLeast ? rest : kLeast;
    Real pull = p[0] / left;
    if (rest < left && pull > 0 && pull < kLeastSlope) pull = kLeastSlope;
    Real energy = p[2] * (pull * (left - rest) - p[0] * std::log(left));
    const Real s2 = p[3] / r2, s6 = s2 * s2 * s2;
    if (s6 > Real(0.5)) {
      const Real attraction = 4 * p[4] * s6, repulsion = attraction * s6;
      energy += repulsion - attraction + p[4];
      pull -= (12 * repulsion - 6 * attraction) / r2;
    }
    return {{energy}, {pull * b[0]}};
  }
};

}  // namespace quiltmd
