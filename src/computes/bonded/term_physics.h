// SPDX-License-Identifier: Apache-2.0
// The functional forms of bonded terms, written once for every device.
//
// A form sees b[k] = r[k+1] - r[k], the vectors from each atom of the term to the next, so that it
// needs neither positions nor the periodic cell, and loses no digits in single precision. It gives
// the forces on all atoms but the last; the last one's is minus their sum, which the kernel takes
// in fixed point, where it is exact.
//
// No form divides by a quantity that vanishes in a sane structure: angles come from atan2, torsions
// from the sine and cosine of n phi by complex powers, so that planar and straight arrangements are
// as accurate as all others. Where a torsion is not defined (three atoms in line) its force is
// bounded, not infinite.
#pragma once

#include <cmath>

#include "decomposition/slots.h"
#include "math/symmetric.h"
#include "math/vec3.h"

namespace quiltmd {

template <class Real, int Atoms>
struct TermValue {
  Real energy[2];  // the second only where a form has two
  Vec3<Real> force[Atoms - 1];
};

// Positions times forces over the atoms of a term, seen from the last.
template <int Atoms>
QMD_HD Symmetric term_virial(const Vec3d* b, const TermValue<double, Atoms>& value) {
  Symmetric virial{};
  Vec3d from_last{0, 0, 0};
  for (int k = Atoms - 2; k >= 0; --k) {
    from_last -= b[k];
    virial.add_product(from_last, value.force[k]);
  }
  return virial;
}

// sin^2 below which three atoms count as being in line: the square of the precision of Real.
template <class Real>
QMD_HD Real in_line() {
  return sizeof(Real) == 4 ? Real(1e-12) : Real(1e-24);
}

// E = k/2 (r - length)^2. Parameters: length (nm), k (kJ/mol/nm^2).
struct BondForm {
  static constexpr int kAtoms = 2;
  static constexpr int kEnergies = 1;
  static constexpr EnergyKind kKinds[2] = {kBond, kBond};

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real r = norm(b[0]);
    const Real stretch = r - p[0];
    const Real pull = r > 0 ? p[1] * stretch / r : Real(0);
    return {{Real(0.5) * p[1] * stretch * stretch, 0}, {pull * b[0]}};
  }
};

// E = k/2 (theta - theta0)^2. Parameters: theta0 (rad), k (kJ/mol/rad^2).
struct AngleForm {
  static constexpr int kAtoms = 3;
  static constexpr int kEnergies = 1;
  static constexpr EnergyKind kKinds[2] = {kAngle, kAngle};

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
    return {{Real(0.5) * p[1] * bend * bend, 0}, {first, -(first + last)}};
  }
};

// E = k (1 + cos(n phi - phase)), phi positive clockwise along the middle bond (IUPAC), zero when
// the outer atoms are on the same side. Parameters: n, k, k cos(phase), k sin(phase) (kJ/mol).
// Gradients as in Blondel and Karplus, J. Comput. Chem. 17, 1132 (1996).
struct TorsionForm {
  static constexpr int kAtoms = 4;
  static constexpr int kEnergies = 1;
  static constexpr EnergyKind kKinds[2] = {kTorsion, kTorsion};

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    const Vec3<Real> m = cross(b[0], b[1]), n = cross(b[1], b[2]);
    const Real axis2 = dot(b[1], b[1]), axis = std::sqrt(axis2);
    const Real least_m = in_line<Real>() * axis2 * dot(b[0], b[0]);
    const Real least_n = in_line<Real>() * axis2 * dot(b[2], b[2]);
    const Real m2 = dot(m, m) > least_m ? dot(m, m) : least_m;
    const Real n2 = dot(n, n) > least_n ? dot(n, n) : least_n;

    // (cosine, sine) of phi, normalised; then of n phi.
    Real c = dot(m, n), s = axis * dot(b[0], n);
    const Real length2 = c * c + s * s;
    const Real scale = length2 > 0 ? 1 / std::sqrt(length2) : Real(0);
    c = length2 > 0 ? c * scale : Real(1);
    s = s * scale;
    Real cn = 1, sn = 0;
    const int periodicity = static_cast<int>(p[0]);
    for (int k = 0; k < periodicity; ++k) {
      const Real next = cn * c - sn * s;
      sn = sn * c + cn * s;
      cn = next;
    }
    const Real slope = p[0] * (p[3] * cn - p[2] * sn);  // dE/dphi

    const Real per_axis2 = 1 / axis2;
    const Vec3<Real> first = (slope * axis / m2) * m;
    const Vec3<Real> last = (-slope * axis / n2) * n;
    const Vec3<Real> lever =
        (dot(b[0], b[1]) * per_axis2) * first - (dot(b[1], b[2]) * per_axis2) * last;
    return {{p[1] + p[2] * cn + p[3] * sn, 0}, {first, -(first + lever), lever - last}};
  }
};

// Lennard-Jones and Coulomb between atoms three bonds apart, both scaled already, no cutoff.
// Parameters: charge product / (4 pi eps0) (kJ nm/mol), sigma (nm), epsilon (kJ/mol).
struct Pair14Form {
  static constexpr int kAtoms = 2;
  static constexpr int kEnergies = 2;
  static constexpr EnergyKind kKinds[2] = {kLj14, kCoulomb14};

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real inverse2 = 1 / dot(b[0], b[0]);
    const Real coulomb = p[0] * std::sqrt(inverse2);
    const Real s2 = p[1] * p[1] * inverse2, s6 = s2 * s2 * s2;
    const Real attraction = 4 * p[2] * s6, lj = attraction * (s6 - 1);
    const Real push = (coulomb + 12 * lj + 6 * attraction) * inverse2;
    return {{lj, coulomb}, {-push * b[0]}};
  }
};

}  // namespace quiltmd
