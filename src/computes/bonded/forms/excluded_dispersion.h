// SPDX-License-Identifier: Apache-2.0
// What the mesh of Lennard-Jones PME holds of an excluded pair, taken back: for pairs that may be farther
// apart than the cutoff, beyond which the pair kernels see nothing.
#pragma once

#include "computes/bonded/forms/term_value.h"
#include "math/smooth_dispersion.h"

namespace quiltmd {

// E = C6 (1 - g(alpha r))/r^6, g(x) = exp(-x^2) (1 + x^2 + x^4/2), C6 by the geometric rule (Essmann et al.,
// J. Chem. Phys. 103, 8577 (1995), equation 5.2).
struct ExcludedDispersionForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kPair;
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {{"C6", "kJ/mol nm^6"}, {"alpha", "1/nm"}};
  static constexpr const char* kEnergies[] = {"lj"};  // with that of the pairs within the cutoff
  static constexpr TermForm kForm{"excluded_dispersion",
                                  "the dispersion of an excluded pair",
                                  nullptr,
                                  nullptr,
                                  kAtoms,
                                  kParameters,
                                  kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = given[0] * std::pow(given[1], 6);
    p[1] = given[1] * given[1];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const SmoothDispersion smooth = smooth_dispersion(p[1] * dot(b[0], b[0]));
    const Real push = 2 * p[0] * p[1] * Real(smooth.slope);
    return {{p[0] * Real(smooth.value)}, {-push * b[0]}};
  }
};

}  // namespace quiltmd
