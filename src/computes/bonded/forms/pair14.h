// SPDX-License-Identifier: Apache-2.0
// The interaction of two atoms three bonds apart.
#pragma once

#include "computes/bonded/forms/term_value.h"
#include "math/units.h"

namespace quiltmd {

// Lennard-Jones and Coulomb, both scaled already, no cutoff:
// E = 4 epsilon ((sigma/r)^12 - (sigma/r)^6) + charge product / (4 pi eps0 r).
struct Pair14Form {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kPair;
  static constexpr bool kMayChange = true;
  static constexpr TermParameter kParameters[] = {{"charge product", "e^2", kLambdaCoulomb},
                                                  {"sigma", "nm", kLambdaVdw},
                                                  {"epsilon", "kJ/mol", kLambdaVdw}};
  static constexpr const char* kEnergies[] = {"lj14", "coulomb14"};
  static constexpr TermForm kForm{"pair14", "a 1-4 pair", "pairs14", "pair14_parameters",
                                  kAtoms,   kParameters,  kEnergies};

  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    p[0] = given[0] * kCoulomb;
    p[1] = given[1];
    p[2] = given[2];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real inverse2 = 1 / dot(b[0], b[0]);
    const Real coulomb = p[0] * std::sqrt(inverse2);
    const Real s2 = p[1] * p[1] * inverse2, s6 = s2 * s2 * s2;
    const Real attraction = 4 * p[2] * s6, lj = attraction * (s6 - 1);
    const Real push = (coulomb + 12 * lj + 6 * attraction) * inverse2;
    return {{lj, coulomb}, {-push * b[0]}};
  }
};

}  // namespace quiltmd
