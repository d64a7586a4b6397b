// SPDX-License-Identifier: Apache-2.0
// Constant forces on two atoms, opposite to each other: what a uniform electric field does to a dipole.
#pragma once

#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = -F (r2 - r1): the force F on the second atom, -F on the first. With F = q E it is the energy of
// the dipole of charges -q and q in the field E, and the same for all periodic images.
struct OppositeForcesForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kField;
  static constexpr TermParameter kParameters[] = {
      {"force x", "kJ/mol/nm"}, {"force y", "kJ/mol/nm"}, {"force z", "kJ/mol/nm"}};
  static constexpr const char* kEnergies[] = {"external"};
  static constexpr TermForm kForm{"opposite_force",
                                  "a pair of opposite forces",
                                  "opposite_forces",
                                  "opposite_force_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Vec3<Real> force{p[0], p[1], p[2]};
    return {{-dot(force, b[0])}, {-force}};
  }
};

}  // namespace quiltmd
