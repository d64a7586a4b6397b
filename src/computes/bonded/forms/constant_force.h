// SPDX-License-Identifier: Apache-2.0
// Constant force: one that pulls an atom the same wherever it is, as a uniform electric field does.
#pragma once

#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = -F (r - place), (r - place) the vector from the place to the nearest image of the atom. In a
// periodic cell this energy has no meaning of its own: it jumps where the atom passes half a box from
// the place. The force does not. The place is stored as that of a position restraint. Without a box
// E = -F r, which is added where positions are known (computes/places.h).
struct ConstantForceForm {
  static constexpr int kAtoms = 1;
  static constexpr TermPart kPart = TermPart::kField;
  static constexpr bool kAnchored = true;
  static constexpr bool kEnergyByImage = true;
  static constexpr TermParameter kParameters[] = {{"a", ""},
                                                  {"b", ""},
                                                  {"c", ""},
                                                  {"x", "nm"},
                                                  {"y", "nm"},
                                                  {"z", "nm"},
                                                  {"force x", "kJ/mol/nm"},
                                                  {"force y", "kJ/mol/nm"},
                                                  {"force z", "kJ/mol/nm"}};
  static constexpr const char* kEnergies[] = {"external"};
  static constexpr TermForm kForm{
      "constant_force", "a constant force", "constant_forces", "constant_force_parameters",
      kAtoms,           kParameters,        kEnergies};

  // The place (Anchor), then the force.
  static constexpr int kPrepared = 9;
  static void prepare(const double* given, double* p) {
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Vec3<Real> force{p[6], p[7], p[8]};
    return {{dot(force, b[0])}, {force}};
  }
};

}  // namespace quiltmd
