// SPDX-License-Identifier: Apache-2.0
// Angles by their cosines: harmonic ones, as in GROMOS force fields and Martini, and restricted bending.
#pragma once

#include "computes/bonded/forms/angle.h"

namespace quiltmd {

// The cosine and squared sine of the angle between -b[0] and b[1].
template <class Real>
struct AngleCosine {
  Vec3<Real> u, v;  // unit vectors from the middle atom
  Real per_u, per_v;
  Real cosine, sine2;

  QMD_HD explicit AngleCosine(const Vec3<Real>* b) : per_u(1 / norm(b[0])), per_v(1 / norm(b[1])) {
    u = (-per_u) * b[0];
    v = per_v * b[1];
    cosine = dot(u, v);
    const Vec3<Real> normal = cross(u, v);
    sine2 = dot(normal, normal);
  }

  // Forces on the first two atoms where the derivative of the energy by the cosine is `slope`.
  QMD_HD AngleForces<Real> forces(Real slope) const {
    const Vec3<Real> first = (-slope * per_u) * (v - cosine * u);
    const Vec3<Real> last = (-slope * per_v) * (u - cosine * v);
    return {first, -(first + last)};
  }
};

// E = k/2 (cos theta - cos theta0)^2: Oostenbrink et al., J. Comput. Chem. 25, 1656 (2004); Marrink et al.,
// J. Phys. Chem. B 111, 7812 (2007).
struct CosineAngleForm {
  static constexpr int kAtoms = 3;
  static constexpr TermPart kPart = TermPart::kAngle;
  static constexpr TermParameter kParameters[] = {{"theta0", "rad"}, {"k", "kJ/mol"}};
  static constexpr const char* kEnergies[] = {"angle"};
  static constexpr TermForm kForm{"cosine_angle",  "an angle by its cosine",
                                  "cosine_angles", "cosine_angle_parameters",
                                  kAtoms,          kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = std::cos(given[0]);
    p[1] = given[1];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 3> evaluate(const Vec3<Real>* b, const Real* p) {
    const AngleCosine<Real> angle(b);
    const Real bend = angle.cosine - p[0];
    const AngleForces<Real> force = angle.forces(p[1] * bend);
    return {{Real(0.5) * p[1] * bend * bend}, {force.first, force.second}};
  }
};

}  // namespace quiltmd
