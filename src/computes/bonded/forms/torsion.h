// SPDX-License-Identifier: Apache-2.0
// Periodic torsion, proper or improper.
#pragma once

#include <string>

#include "computes/bonded/forms/dihedral.h"
#include "math/error.h"

namespace quiltmd {

// E = k (1 + cos(n phi - phase)). The cosine and sine of n phi come from complex powers, so that
// planar arrangements are as accurate as all others.
struct TorsionForm {
  static constexpr int kAtoms = 4;
  static constexpr TermPart kPart = TermPart::kDihedral;
  static constexpr bool kMayChange = true;
  static constexpr TermParameter kParameters[] = {
      {"periodicity", ""}, {"phase", "rad"}, {"k", "kJ/mol"}};
  static constexpr const char* kEnergies[] = {"torsion"};
  static constexpr TermForm kForm{"torsion", "a torsion", "torsions", "torsion_parameters",
                                  kAtoms,    kParameters, kEnergies};

  // n, k, k cos(phase), k sin(phase).
  static constexpr int kPrepared = 4;
  static constexpr int kMaxPeriodicity = 64;  // the cost of a torsion is proportional to it
  static void prepare(const double* given, double* p) {
    const double n = given[0], phase = given[1], k = given[2];
    if (!(n >= 1 && n <= kMaxPeriodicity) || n != std::floor(n))
      throw Error("has the periodicity " + std::to_string(n) + "; it must be 1, 2, 3, ... or " +
                  std::to_string(kMaxPeriodicity));
    p[0] = n;
    p[1] = k;
    p[2] = k * std::cos(phase);
    p[3] = k * std::sin(phase);
  }

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    const Dihedral<Real> phi(b);
    Real cn = 1, sn = 0;
    const int periodicity = static_cast<int>(p[0]);
    for (int k = 0; k < periodicity; ++k) {
      const Real next = cn * phi.cosine - sn * phi.sine;
      sn = sn * phi.cosine + cn * phi.sine;
      cn = next;
    }
    const DihedralForces<Real> force = phi.forces(b, p[0] * (p[3] * cn - p[2] * sn));
    return {{p[1] + p[2] * cn + p[3] * sn}, {force.first, force.second, force.third}};
  }
};

}  // namespace quiltmd
