// SPDX-License-Identifier: Apache-2.0
// Angle restraint: a harmonic angle with a flat bottom, apart from angles in the log.
#pragma once

#include "computes/bonded/forms/angle.h"
#include "computes/bonded/forms/flat_bottom.h"

namespace quiltmd {

// E = k/2 max(0, |theta - theta0| - width)^2.
struct AngleRestraintForm : FlatBottomForm {
  static constexpr int kAtoms = 3;
  static constexpr TermPart kPart = TermPart::kRestraint;
  static constexpr TermForm kForm{"angle_restraint",
                                  "an angle restraint",
                                  "angle_restraints",
                                  "angle_restraint_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  template <class Real>
  QMD_HD static TermValue<Real, 3> evaluate(const Vec3<Real>* b, const Real* p) {
    const Angle<Real> angle(b);
    const Real bend = beyond_width(angle.theta - p[0], p[1]);
    const AngleForces<Real> force = angle.forces(p[2] * bend);
    return {{Real(0.5) * p[2] * bend * bend}, {force.first, force.second}};
  }
};

}  // namespace quiltmd
