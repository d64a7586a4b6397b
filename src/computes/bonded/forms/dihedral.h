// SPDX-License-Identifier: Apache-2.0
// The angle between two planes, and forces from the slope of an energy by it: what torsions,
// impropers and torsion maps share.
#pragma once

#include "computes/bonded/forms/term_value.h"

namespace quiltmd {

// On the first three of four atoms.
template <class Real>
struct DihedralForces {
  Vec3<Real> first, second, third;
};

// The torsion of b[0], b[1], b[2]: phi positive clockwise along the middle bond (IUPAC), zero when
// the outer atoms are on the same side; known by its cosine and sine. Gradients as in Blondel and
// Karplus, J. Comput. Chem. 17, 1132 (1996). Where it is not defined (three atoms in line) its
// forces are bounded, not infinite.
template <class Real>
struct Dihedral {
  Vec3<Real> m, n;
  Real axis2, axis, m2, n2;
  Real cosine, sine;

  QMD_HD explicit Dihedral(const Vec3<Real>* b) : m(cross(b[0], b[1])), n(cross(b[1], b[2])) {
    axis2 = dot(b[1], b[1]);
    axis = std::sqrt(axis2);
    const Real least_m = in_line<Real>() * axis2 * dot(b[0], b[0]);
    const Real least_n = in_line<Real>() * axis2 * dot(b[2], b[2]);
    m2 = dot(m, m) > least_m ? dot(m, m) : least_m;
    n2 = dot(n, n) > least_n ? dot(n, n) : least_n;
    const Real c = dot(m, n), s = axis * dot(b[0], n);
    const Real length2 = c * c + s * s;
    const Real scale = length2 > 0 ? 1 / std::sqrt(length2) : Real(0);
    cosine = length2 > 0 ? c * scale : Real(1);
    sine = s * scale;
  }

  // Forces on the first three atoms where dE/dphi is `slope`.
  QMD_HD DihedralForces<Real> forces(const Vec3<Real>* b, Real slope) const {
    const Real per_axis2 = 1 / axis2;
    const Vec3<Real> first = (slope * axis / m2) * m;
    const Vec3<Real> last = (-slope * axis / n2) * n;
    const Vec3<Real> lever =
        (dot(b[0], b[1]) * per_axis2) * first - (dot(b[1], b[2]) * per_axis2) * last;
    return {first, -(first + lever), lever - last};
  }
};

}  // namespace quiltmd
