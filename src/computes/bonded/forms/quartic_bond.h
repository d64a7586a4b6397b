// SPDX-License-Identifier: Apache-2.0
// Quartic bond, as in GROMOS force fields.
#pragma once

#include "computes/bonded/forms/longest.h"
#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = k/4 (r^2 - length^2)^2, without a square root: Oostenbrink et al., J. Comput. Chem. 25, 1656 (2004).
// 2 k length^2 is the force constant near the length.
struct QuarticBondForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kBond;
  static constexpr TermParameter kParameters[] = {{"length", "nm"}, {"k", "kJ/mol/nm^4"}};
  static constexpr const char* kEnergies[] = {"bond"};
  static constexpr TermForm kForm{
      "quartic_bond", "a quartic bond", "quartic_bonds", "quartic_bond_parameters",
      kAtoms,         kParameters,      kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = given[0] * given[0];
    p[1] = given[1];
  }

  static double longest(const double* given, double energy) {
    if (!(given[1] > 0)) return kUnbounded;
    return std::sqrt(given[0] * given[0] + 2 * std::sqrt(energy / given[1]));
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real beyond = dot(b[0], b[0]) - p[0];
    return {{Real(0.25) * p[1] * beyond * beyond}, {(p[1] * beyond) * b[0]}};
  }
};

}  // namespace quiltmd
