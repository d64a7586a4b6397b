// SPDX-License-Identifier: Apache-2.0
// FENE bond: finitely extensible, nonlinear, elastic.
#pragma once

#include "computes/bonded/forms/longest.h"
#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = -k/2 longest^2 ln(1 - (r/longest)^2): Warner, Ind. Eng. Chem. Fundam. 11, 379 (1972). No repulsion is
// part of it. From 0.9999995 of the longest distance on the energy goes on linearly in r^2: an overstretched
// bond gets a force that no run survives, so that it is named, and no number that is none.
struct FeneForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kBond;
  static constexpr TermParameter kParameters[] = {{"longest", "nm"}, {"k", "kJ/mol/nm^2"}};
  static constexpr const char* kEnergies[] = {"bond"};
  static constexpr TermForm kForm{"fene", "a FENE bond", "fene_bonds", "fene_parameters",
                                  kAtoms, kParameters,   kEnergies};

  // k, 1 / longest^2, k/2 longest^2.
  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    p[0] = given[1];
    p[1] = given[0] > 0 ? 1 / (given[0] * given[0]) : 0;
    p[2] = 0.5 * given[1] * given[0] * given[0];
  }

  static double longest(const double* given, double energy) {
    if (!(given[1] > 0)) return kUnbounded;
    return given[0] * std::sqrt(-std::expm1(-2 * energy / (given[1] * given[0] * given[0])));
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    constexpr Real kLeast = Real(1e-6);
    const Real rest = 1 - dot(b[0], b[0]) * p[1];
    const Real left = rest > kLeast ? rest : kLeast;
    const Real energy = p[2] * ((left - rest) / left - std::log(left));
    return {{energy}, {(p[0] / left) * b[0]}};
  }
};

}  // namespace quiltmd
