// SPDX-License-Identifier: Apache-2.0
// Harmonic bond.
#pragma once

#include "computes/bonded/forms/longest.h"
#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = k/2 (r - length)^2.
struct BondForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kBond;
  static constexpr bool kMayChange = true;
  static constexpr TermParameter kParameters[] = {{"length", "nm"}, {"k", "kJ/mol/nm^2"}};
  static constexpr const char* kEnergies[] = {"bond"};
  static constexpr TermForm kForm{"bond", "a bond",    "bonds",  "bond_parameters",
                                  kAtoms, kParameters, kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = given[0];
    p[1] = given[1];
  }

  static double longest(const double* given, double energy) {
    return given[0] + farthest_stretch(given[1], kUnbounded, energy);
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real r = norm(b[0]);
    const Real stretch = r - p[0];
    const Real pull = r > 0 ? p[1] * stretch / r : Real(0);
    return {{Real(0.5) * p[1] * stretch * stretch}, {pull * b[0]}};
  }
};

}  // namespace quiltmd
