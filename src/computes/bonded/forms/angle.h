// SPDX-License-Identifier: Apache-2.0
// Harmonic angle.
#pragma once

#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// On the first two of three atoms.
template <class Real>
struct AngleForces {
  Vec3<Real> first, second;
};

// The angle between -b[0] and b[1]. It comes from atan2, so that straight ones are as accurate as all
// others.
template <class Real>
struct Angle {
  Vec3<Real> u, v, normal;
  Real u2, v2, area, theta;

  QMD_HD explicit Angle(const Vec3<Real>* b) : u(-b[0]), v(b[1]), normal(cross(u, v)) {
    u2 = dot(u, u);
    v2 = dot(v, v);
    const Real area2 = dot(normal, normal), least = in_line<Real>() * u2 * v2;
    area = std::sqrt(area2 > least ? area2 : least);
    theta = std::atan2(area, dot(u, v));
  }

  // Forces on the first two atoms where dE/dtheta is `slope`.
  QMD_HD AngleForces<Real> forces(Real slope) const {
    const Real scale = slope / (area * u2 * v2);
    const Vec3<Real> first = (-scale * v2) * cross(u, normal);
    const Vec3<Real> last = (-scale * u2) * cross(normal, v);
    return {first, -(first + last)};
  }
};

// E = k/2 (theta - theta0)^2.
struct AngleForm {
  static constexpr int kAtoms = 3;
  static constexpr TermPart kPart = TermPart::kAngle;
  static constexpr bool kMayChange = true;
  static constexpr TermParameter kParameters[] = {{"theta0", "rad"}, {"k", "kJ/mol/rad^2"}};
  static constexpr const char* kEnergies[] = {"angle"};
  static constexpr TermForm kForm{"angle", "an angle",  "angles", "angle_parameters",
                                  kAtoms,  kParameters, kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = given[0];
    p[1] = given[1];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 3> evaluate(const Vec3<Real>* b, const Real* p) {
    const Angle<Real> angle(b);
    const Real bend = angle.theta - p[0];
    const AngleForces<Real> force = angle.forces(p[1] * bend);
    return {{Real(0.5) * p[1] * bend * bend}, {force.first, force.second}};
  }
};

}  // namespace quiltmd
