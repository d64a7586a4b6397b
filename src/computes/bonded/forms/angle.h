// SPDX-License-Identifier: Apache-2.0
// Harmonic angle.
#pragma once

#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = k/2 (theta - theta0)^2. The angle comes from atan2, so that straight ones are as accurate as
// all others.
struct AngleForm {
  static constexpr int kAtoms = 3;
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
    const Vec3<Real> u = -b[0], v = b[1];
    const Vec3<Real> normal = cross(u, v);
    const Real u2 = dot(u, u), v2 = dot(v, v), area2 = dot(normal, normal);
    const Real least = in_line<Real>() * u2 * v2;
    const Real area = std::sqrt(area2 > least ? area2 : least);
    const Real bend = std::atan2(area, dot(u, v)) - p[0];
    const Real slope = p[1] * bend / (area * u2 * v2);
    const Vec3<Real> first = (-slope * v2) * cross(u, normal);
    const Vec3<Real> last = (-slope * u2) * cross(normal, v);
    return {{Real(0.5) * p[1] * bend * bend}, {first, -(first + last)}};
  }
};

}  // namespace quiltmd
