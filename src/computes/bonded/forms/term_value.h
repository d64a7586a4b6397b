// SPDX-License-Identifier: Apache-2.0
// What a form of bonded terms gives, and what forms have in common.
#pragma once

#include <cmath>

#include "math/macros.h"
#include "math/symmetric.h"
#include "math/vec3.h"
#include "system/term_form.h"

namespace quiltmd {

// Energies, and the forces on all atoms but the last: its own is minus their sum, which kernels take
// in fixed point, where it is exact.
template <class Real, int Atoms, int Energies = 1>
struct TermValue {
  Real energy[Energies];
  Vec3<Real> force[Atoms - 1];
};

// Positions times forces over the atoms of a term, seen from the last.
template <int Atoms, int Energies>
QMD_HD Symmetric term_virial(const Vec3d* b, const TermValue<double, Atoms, Energies>& value) {
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

}  // namespace quiltmd
