// SPDX-License-Identifier: Apache-2.0
// Torsion restraint: a harmonic torsion with a flat bottom, apart from impropers in the log.
#pragma once

#include "computes/bonded/forms/flat_bottom.h"
#include "computes/bonded/forms/improper.h"

namespace quiltmd {

// E = k/2 max(0, |phi - theta0| - width)^2, of phi - theta0 the value between -pi and pi (GROMACS Reference
// Manual, "Dihedral restraints").
struct TorsionRestraintForm : FlatBottomForm {
  static constexpr int kAtoms = 4;
  static constexpr TermPart kPart = TermPart::kRestraint;
  static constexpr TermForm kForm{"torsion_restraint",
                                  "a torsion restraint",
                                  "torsion_restraints",
                                  "torsion_restraint_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    const Dihedral<Real> phi(b);
    const Real bend = beyond_width(torsion_beyond(phi, p[0]), p[1]);
    const DihedralForces<Real> force = phi.forces(b, p[2] * bend);
    return {{Real(0.5) * p[2] * bend * bend}, {force.first, force.second, force.third}};
  }
};

}  // namespace quiltmd
