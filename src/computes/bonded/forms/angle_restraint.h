// SPDX-License-Identifier: Apache-2.0
// Angle restraint: a harmonic angle with a flat bottom, apart from angles in the log.
#pragma once

#include "computes/bonded/forms/angle.h"
#include "math/error.h"

namespace quiltmd {

// E = k/2 max(0, |theta - theta0| - width)^2.
struct AngleRestraintForm {
  static constexpr int kAtoms = 3;
  static constexpr bool kRestrains = true;
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {
      {"theta0", "rad"}, {"width", "rad"}, {"k", "kJ/mol/rad^2"}};
  static constexpr const char* kEnergies[] = {"restraint"};
  static constexpr TermForm kForm{"angle_restraint",
                                  "an angle restraint",
                                  "angle_restraints",
                                  "angle_restraint_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    if (!(given[1] >= 0 && given[2] >= 0))
      throw Error("needs a width and a k that are not negative");
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 3> evaluate(const Vec3<Real>* b, const Real* p) {
    const Angle<Real> angle(b);
    const Real bend = beyond_width(angle.theta - p[0], p[1]);
    const AngleForces<Real> force = angle.forces(p[2] * bend);
    return {{Real(0.5) * p[2] * bend * bend}, {force.first, force.second}};
  }
};

}  // namespace quiltmd
