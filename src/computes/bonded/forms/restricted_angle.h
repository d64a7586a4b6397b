// SPDX-License-Identifier: Apache-2.0
// Restricted bending: an angle that cannot become straight.
#pragma once

#include "computes/bonded/forms/cosine_angle.h"

namespace quiltmd {

// E = k/2 (cos theta - cos theta0)^2 / sin^2 theta, so that torsions across the angle are always defined:
// Bulacu et al., J. Chem. Theory Comput. 9, 3282 (2013). Within 1.8 degrees of a straight angle, where the energy
// is some k/2 * 1000 times the square above, 1 / sin^2 theta goes on linearly in sin^2 theta, and stays finite.
struct RestrictedAngleForm {
  static constexpr int kAtoms = 3;
  static constexpr TermPart kPart = TermPart::kAngle;
  static constexpr TermParameter kParameters[] = {{"theta0", "rad"}, {"k", "kJ/mol"}};
  static constexpr const char* kEnergies[] = {"angle"};
  static constexpr TermForm kForm{"restricted_angle",
                                  "a restricted angle",
                                  "restricted_angles",
                                  "restricted_angle_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr double kLeast = 1e-3;  // sin^2 theta
  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) { CosineAngleForm::prepare(given, p); }

  template <class Real>
  QMD_HD static TermValue<Real, 3> evaluate(const Vec3<Real>* b, const Real* p) {
    const AngleCosine<Real> angle(b);
    const Real bend = angle.cosine - p[0], s2 = angle.sine2, least = Real(kLeast);
    const bool is_bent = s2 > least;
    const Real per_s2 = is_bent ? 1 / s2 : (2 - s2 / least) / least;
    const Real by_s2 = is_bent ? -per_s2 * per_s2 : -1 / (least * least);
    const AngleForces<Real> force =
        angle.forces(p[1] * bend * (per_s2 - bend * angle.cosine * by_s2));
    return {{Real(0.5) * p[1] * bend * bend * per_s2}, {force.first, force.second}};
  }
};

}  // namespace quiltmd
