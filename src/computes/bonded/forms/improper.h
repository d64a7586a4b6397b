// SPDX-License-Identifier: Apache-2.0
// Harmonic improper torsion, as in CHARMM's force field.
#pragma once

#include "computes/bonded/forms/dihedral.h"
#include "math/units.h"

namespace quiltmd {

// Deviation of a torsion from phi0: between -pi and pi.
template <class Real>
QMD_HD Real torsion_beyond(const Dihedral<Real>& phi, Real phi0) {
  const Real turn = Real(2 * kPi), beyond = std::atan2(phi.sine, phi.cosine) - phi0;
  return beyond - turn * std::floor(beyond / turn + Real(0.5));
}

// E = k/2 (phi - phi0)^2, of phi - phi0 the value between -pi and pi: MacKerell et al., J. Phys.
// Chem. B 102, 3586 (1998). The force changes sign at the far side, where no improper should be.
struct ImproperForm {
  static constexpr int kAtoms = 4;
  static constexpr TermPart kPart = TermPart::kDihedral;
  static constexpr bool kMayChange = true;
  static constexpr TermParameter kParameters[] = {{"phi0", "rad"}, {"k", "kJ/mol/rad^2"}};
  static constexpr const char* kEnergies[] = {"improper"};
  static constexpr TermForm kForm{
      "improper", "an improper torsion", "impropers", "improper_parameters",
      kAtoms,     kParameters,           kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = given[0];
    p[1] = given[1];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    const Dihedral<Real> phi(b);
    const Real bend = torsion_beyond(phi, p[0]);
    const DihedralForces<Real> force = phi.forces(b, p[1] * bend);
    return {{Real(0.5) * p[1] * bend * bend}, {force.first, force.second, force.third}};
  }
};

}  // namespace quiltmd
