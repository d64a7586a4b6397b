// SPDX-License-Identifier: Apache-2.0
// Morse bond.
#pragma once

#include "computes/bonded/forms/longest.h"
#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = D (1 - exp(-beta (r - length)))^2: Morse, Phys. Rev. 34, 57 (1929). D is the energy that breaks the
// bond, 2 D beta^2 the force constant near the length.
struct MorseForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kBond;
  static constexpr TermParameter kParameters[] = {
      {"length", "nm"}, {"D", "kJ/mol"}, {"beta", "1/nm"}};
  static constexpr const char* kEnergies[] = {"bond"};
  static constexpr TermForm kForm{"morse", "a Morse bond", "morse_bonds", "morse_parameters",
                                  kAtoms,  kParameters,    kEnergies};

  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  static double longest(const double* given, double energy) {
    if (!(given[2] > 0 && given[1] > energy)) return kUnbounded;
    return given[0] - std::log1p(-std::sqrt(energy / given[1])) / given[2];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real r = norm(b[0]);
    const Real decay = std::exp(-p[2] * (r - p[0])), rest = 1 - decay;
    const Real pull = r > 0 ? 2 * p[1] * p[2] * rest * decay / r : Real(0);
    return {{p[1] * rest * rest}, {pull * b[0]}};
  }
};

}  // namespace quiltmd
