// SPDX-License-Identifier: Apache-2.0
// Distance restraint: nothing between two distances, a spring below and above, in the end linear.
#pragma once

#include "computes/bonded/forms/longest.h"
#include "computes/bonded/forms/term_value.h"
#include "math/error.h"

namespace quiltmd {

// With u = lower - r below `lower`, r - upper above `upper`: E = k/2 u^2; beyond `linear` the force is
// that at `linear` (GROMACS Reference Manual, "Restraint potentials"). A plain spring has lower =
// upper and no end to the quadratic part.
struct DistanceRestraintForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kRestraint;
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {
      {"lower", "nm"}, {"upper", "nm"}, {"linear", "nm"}, {"k", "kJ/mol/nm^2"}};
  static constexpr const char* kEnergies[] = {"restraint"};
  static constexpr TermForm kForm{"distance_restraint",
                                  "a distance restraint",
                                  "distance_restraints",
                                  "distance_restraint_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 4;
  static void prepare(const double* given, double* p) {
    if (!(given[0] >= 0 && given[0] <= given[1] && given[1] <= given[2] && given[3] >= 0))
      throw Error("needs distances 0 <= lower <= upper <= linear and a k that is not negative");
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  static double longest(const double* given, double energy) {
    return given[1] + farthest_stretch(given[3], given[2] - given[1], energy);
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real r = norm(b[0]);
    const Real outside = r < p[0] ? r - p[0] : (r > p[1] ? r - p[1] : Real(0));
    const Real most = p[2] - p[1];
    const Real stretch = outside < most ? outside : most;  // what the force is proportional to
    const Real pull = r > 0 ? p[3] * stretch / r : Real(0);
    return {{p[3] * stretch * (outside - Real(0.5) * stretch)}, {pull * b[0]}};
  }
};

}  // namespace quiltmd
