// SPDX-License-Identifier: Apache-2.0
// Torsion restraint: a harmonic torsion with a flat bottom, apart from impropers in the log.
#pragma once

#include "computes/bonded/forms/improper.h"
#include "math/error.h"

namespace quiltmd {

// E = k/2 max(0, |phi - phi0| - width)^2, of phi - phi0 the value between -pi and pi (GROMACS Reference
// Manual, "Dihedral restraints").
struct TorsionRestraintForm {
  static constexpr int kAtoms = 4;
  static constexpr bool kRestrains = true;
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {
      {"phi0", "rad"}, {"width", "rad"}, {"k", "kJ/mol/rad^2"}};
  static constexpr const char* kEnergies[] = {"restraint"};
  static constexpr TermForm kForm{"torsion_restraint",
                                  "a torsion restraint",
                                  "torsion_restraints",
                                  "torsion_restraint_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 3;
  static void prepare(const double* given, double* p) {
    if (!(given[1] >= 0 && given[2] >= 0))
      throw Error("needs a width and a k that are not negative");
    for (int i = 0; i < kPrepared; ++i) p[i] = given[i];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    const Dihedral<Real> phi(b);
    const Real bend = beyond_width(torsion_beyond(phi, p[0]), p[1]);
    const DihedralForces<Real> force = phi.forces(b, p[2] * bend);
    return {{Real(0.5) * p[2] * bend * bend}, {force.first, force.second, force.third}};
  }
};

}  // namespace quiltmd
