// SPDX-License-Identifier: Apache-2.0
// Ryckaert-Bellemans torsion, as GROMACS' files have it for OPLS and alkanes.
#pragma once

#include "computes/bonded/forms/dihedral.h"

namespace quiltmd {

// E = c0 + c1 cos psi + ... + c5 cos^5 psi, psi = phi - pi: Ryckaert and Bellemans, Faraday Discuss.
// Chem. Soc. 66, 95 (1978).
struct RyckaertBellemansForm {
  static constexpr int kAtoms = 4;
  static constexpr TermPart kPart = TermPart::kDihedral;
  static constexpr bool kMayChange = true;
  static constexpr TermParameter kParameters[] = {{"c0", "kJ/mol"}, {"c1", "kJ/mol"},
                                                  {"c2", "kJ/mol"}, {"c3", "kJ/mol"},
                                                  {"c4", "kJ/mol"}, {"c5", "kJ/mol"}};
  static constexpr const char* kEnergies[] = {"ryckaert_bellemans"};
  static constexpr TermForm kForm{"ryckaert_bellemans",
                                  "a Ryckaert-Bellemans torsion",
                                  "ryckaert_bellemans",
                                  "ryckaert_bellemans_parameters",
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  // Coefficients of powers of cos phi.
  static constexpr int kPrepared = 6;
  static void prepare(const double* given, double* p) {
    for (int n = 0; n < kPrepared; ++n) p[n] = n % 2 ? -given[n] : given[n];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 4> evaluate(const Vec3<Real>* b, const Real* p) {
    const Dihedral<Real> phi(b);
    Real energy = p[5], slope = 0;  // by cos phi
    for (int n = 4; n >= 0; --n) {
      slope = slope * phi.cosine + energy;
      energy = energy * phi.cosine + p[n];
    }
    const DihedralForces<Real> force = phi.forces(b, -slope * phi.sine);
    return {{energy}, {force.first, force.second, force.third}};
  }
};

}  // namespace quiltmd
