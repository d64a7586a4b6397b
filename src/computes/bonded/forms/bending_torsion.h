// SPDX-License-Identifier: Apache-2.0
// Combined bending and torsion: a torsion that fades where an angle becomes straight.
#pragma once

#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// E = sin^3 theta1 sin^3 theta2 (a0 + a1 cos phi + ... + a4 cos^4 phi), theta1 and theta2 the two angles
// within the torsion: Bulacu and van der Giessen, J. Chem. Phys. 123, 114901 (2005). It is s^3 times a
// polynomial in m n / s, of the normals m and n of the two planes and s = |m| |n|.
struct BendingTorsionForm {
  static constexpr int kAtoms = 4;
  static constexpr TermPart kPart = TermPart::kDihedral;
  static constexpr TermParameter kParameters[] = {
      {"a0", "kJ/mol"}, {"a1", "kJ/mol"}, {"a2", "kJ/mol"}, {"a3", "kJ/mol"}, {"a4", "kJ/mol"}};
  static constexpr const char* kEnergies[] = {"torsion"};
  static constexpr TermForm kForm{"bending_torsion",
                                  "a combined bending-torsion term",
                                  "bending_torsions",
                                  "bending_torsion_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 5;
  static void prepare(const double* given, double* p) {
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    // From unit vectors along the bonds, so that the lengths of m and n are the sines.
    const Real per[3] = {1 / norm(b[0]), 1 / norm(b[1]), 1 / norm(b[2])};
    const Vec3<Real> u[3] = {per[0] * b[0], per[1] * b[1], per[2] * b[2]};
    const Vec3<Real> m = cross(u[0], u[1]), n = cross(u[1], u[2]);
    const Real m2 = dot(m, m), n2 = dot(n, n), s = std::sqrt(m2 * n2);
    const Real cosine = s > 0 ? dot(m, n) / s : Real(0);
    Real sum = p[4], slope = 0;  // by the cosine
    for (int k = 3; k >= 0; --k) {
      slope = slope * cosine + sum;
      sum = sum * cosine + p[k];
    }
    const Real energy = s * s * s * sum;
    const Real by_c = s * s * slope, per_s = s * (3 * sum - cosine * slope);
    const Vec3<Real> by_m = by_c * n + (per_s * n2) * m, by_n = by_c * m + (per_s * m2) * n;
    // Derivatives by the unit vectors, then by the bond vectors: components along these have no effect.
    const Vec3<Real> by_u[3] = {cross(u[1], by_m), cross(by_m, u[0]) + cross(u[2], by_n),
                                cross(by_n, u[1])};
    Vec3<Real> by_b[3];
    for (int k = 0; k < 3; ++k) by_b[k] = per[k] * (by_u[k] - dot(by_u[k], u[k]) * u[k]);
    return {{energy}, {by_b[0], by_b[1] - by_b[0], by_b[2] - by_b[1]}};
  }
};

}  // namespace quiltmd
