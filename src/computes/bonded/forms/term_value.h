// SPDX-License-Identifier: Apache-2.0
// What a form of bonded terms gives, and what forms have in common.
#pragma once

#include <cmath>

#include "math/box.h"
#include "math/macros.h"
#include "math/symmetric.h"
#include "math/vec3.h"
#include "system/term_form.h"

namespace quiltmd {

// Role of the terms of a form in a molecule. Python's list of forms has the same roles.
enum class TermPart {
  kBond,       // a chemical bond: it links atoms to a molecule
  kAngle,      // what else keeps the shape of an angle, Urey-Bradley terms included
  kDihedral,   // torsions, impropers and torsion maps
  kPair,       // the nonbonded interaction of two atoms
  kRestraint,  // no part of the molecule: what a user adds to hold atoms
  kField       // a force from outside
};
inline constexpr const char* kTermParts[] = {"bond", "angle",     "dihedral",
                                             "pair", "restraint", "field"};

// Energies, and the forces on all atoms but the last: its own is minus their sum, which kernels take
// in fixed point, where it is exact.
template <class Real, int Atoms, int Energies = 1>
struct TermValue {
  Real energy[Energies];
  Vec3<Real> force[Atoms - 1];

  QMD_HD void scale(Real factor) {
    for (Real& one : energy) one *= factor;
    for (Vec3<Real>& one : force) one = factor * one;
  }
};

// sin^2 below which three atoms count as being in line: the square of the precision of Real.
template <class Real>
QMD_HD Real in_line() {
  return sizeof(Real) == 4 ? Real(1e-12) : Real(1e-24);
}

// Reference point of a term with one atom: a point in fractions of the box vectors, scaled with the box, and
// a constant distance from it (nm). The first prepared parameters of an anchored form.
struct Anchor {
  Vec3d fraction, beyond;

  QMD_HD explicit Anchor(const double* p) : fraction{p[0], p[1], p[2]}, beyond{p[3], p[4], p[5]} {}
  QMD_HD Vec3d place(const Box& box) const { return box.to_cartesian(fraction) + beyond; }
};

}  // namespace quiltmd
