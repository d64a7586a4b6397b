// SPDX-License-Identifier: Apache-2.0
// What restraints of angles and of torsions have in common: harmonic, with a flat bottom.
#pragma once

#include "computes/bonded/forms/term_value.h"
#include "math/error.h"

namespace quiltmd {

// Part of a deviation outside a flat bottom of half width `width`.
template <class Real>
QMD_HD Real beyond_width(Real deviation, Real width) {
  return deviation > width ? deviation - width : (deviation < -width ? deviation + width : Real(0));
}

struct FlatBottomForm {
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {
      {"theta0", "rad"}, {"width", "rad"}, {"k", "kJ/mol/rad^2"}};
  static constexpr const char* kEnergies[] = {"restraint"};

  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    if (!(given[1] >= 0 && given[2] >= 0))
      throw Error("needs a width and a k that are not negative");
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }
};

}  // namespace quiltmd
