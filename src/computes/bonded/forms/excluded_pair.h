// SPDX-License-Identifier: Apache-2.0
// What the reciprocal sum holds of an excluded pair, taken back: for pairs that may be farther apart
// than the cutoff, beyond which the pair kernels see nothing.
#pragma once

#include "computes/bonded/forms/term_value.h"
#include "math/units.h"

namespace quiltmd {

// E = -charge product / (4 pi eps0) erf(alpha r) / r (Essmann et al., J. Chem. Phys. 103, 8577 (1995),
// equation 2.5). Such pairs repel each other by nothing, so they may meet: r = 0 is no exception.
struct ExcludedPairForm {
  static constexpr int kAtoms = 2;
  static constexpr TermPart kPart = TermPart::kPair;
  static constexpr bool kApart = true;
  static constexpr TermParameter kParameters[] = {{"charge product", "e^2"}, {"alpha", "1/nm"}};
  static constexpr const char* kEnergies[] = {
      "coulomb"};  // with that of the pairs within the cutoff
  static constexpr TermForm kForm{"excluded_pair", "an excluded pair", nullptr,  nullptr,
                                  kAtoms,          kParameters,        kEnergies};

  static constexpr int kPrepared = 2;
  static void prepare(const double* given, double* p) {
    p[0] = -given[0] * kCoulomb;
    p[1] = given[1];
  }

  template <class Real>
  QMD_HD static TermValue<Real, 2> evaluate(const Vec3<Real>* b, const Real* p) {
    const Real slope =
        Real(2 / 1.7724538509055160273) * p[1];  // of erf(alpha r) at 0: 2 alpha/sqrt(pi)
    const Real r2 = dot(b[0], b[0]), x2 = p[1] * p[1] * r2;
    if (x2 < kSeries) return near_zero(b[0], p, slope, x2);
    const Real r = std::sqrt(r2), potential = std::erf(p[1] * r) / r;
    const Real push = p[0] * (potential - slope * std::exp(-x2)) / r2;
    return {{p[0] * potential}, {-push * b[0]}};
  }

 private:
  // Below this, two nearly equal numbers would be subtracted: uses the series of erf, with double
  // precision.
  static constexpr double kSeries = 0.01;
  template <class Real>
  QMD_HD static TermValue<Real, 2> near_zero(Vec3<Real> b, const Real* p, Real slope, Real x2) {
    constexpr double c[] = {1, -1. / 3, 1. / 10, -1. / 42, 1. / 216, -1. / 1320, 1. / 9360};
    Real value = 0, derivative = 0;  // of the sum over k of c[k] x^2k, by x^2
    for (int k = 6; k > 0; --k) {
      value = (value + Real(c[k])) * x2;
      derivative = derivative * x2 + k * Real(c[k]);
    }
    const Real push = -2 * p[0] * slope * p[1] * p[1] * derivative;
    return {{p[0] * slope * (1 + value)}, {-push * b}};
  }
};

}  // namespace quiltmd
