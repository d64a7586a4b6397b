// SPDX-License-Identifier: Apache-2.0
// The interaction of an alchemical atom with another, in double precision, for all devices, with a soft core of any
// form (forms/list.h). The energy of a pair is the sum of those of both ends: with the share s that is present
// (1 - lambda of van der Waals, or lambda), s times the form's energy, which is a/r^12 - b/r^6 at s = 1. Where a
// pair interacts at both ends, nothing must be softened, and alpha is 0.
#pragma once

#include "computes/alchemy/forms/list.h"

namespace quiltmd {

// Factor of the energy between the switching distance and the cutoff, and its derivative divided by r.
struct SwitchValue {
  double value, slope;
};
QMD_HD SwitchValue switch_value(const SoftCore& core, double r2) {
  const double start = core.switch_start;
  if (core.inverse == 0 || r2 <= start * start) return {1, 0};
  const double r = std::sqrt(r2), x = (r - start) * core.inverse;
  return {1 + x * x * x * (-10 + x * (15 - 6 * x)),
          -30 * x * x * (1 - x) * (1 - x) * core.inverse / r};
}

// sigma^6 of the soft core.
QMD_HD double soft_sigma6(const SoftCore& core, double a, double b) {
  const double own = a > 0 && b > 0 ? a / b : 0;
  return own > core.least_sigma6 ? own : core.least_sigma6;
}

// The energy at one end; the slope is that by lambda of the end.
template <class Form>
QMD_HD SoftValue soft_lennard_jones(const SoftCore& core, const SoftPair& pair,
                                    const PresentShare& share, double r2) {
  if (pair.a == 0 && pair.b == 0) return {0, 0, 0};
  const SoftValue full = Form::lennard_jones(pair, share.absent, r2);
  const double shift = (pair.a * core.shift_6 - pair.b) * core.shift_6, s = share.present;
  const SwitchValue end = switch_value(core, r2);
  return {s * (full.energy * end.value - shift),
          s * (full.force * end.value - full.energy * end.slope),
          share.slope * (full.energy * end.value - shift + s * full.slope * end.value)};
}

// Coefficients of a pair at lambda 0 and 1.
struct TwoEnds {
  double a[2], b[2];

  QMD_HD bool interacts(int end) const { return a[end] != 0 || b[end] != 0; }
};

QMD_HD double soft_sigma6(const SoftCore& core, const TwoEnds& ends, bool is_last) {
  return is_last ? soft_sigma6(core, ends.a[1], ends.b[1])
                 : soft_sigma6(core, ends.a[0], ends.b[0]);
}

QMD_HD SoftPair soft_pair(const SoftCore& core, double alpha, double a, double b) {
  return {a, b, alpha, alpha == 0 ? 0 : soft_sigma6(core, a, b)};
}

// The slope is that by lambda.
template <class Form>
QMD_HD SoftValue soft_lennard_jones(const SoftCore& core, const TwoEnds& ends, double lambda,
                                    double r2) {
  const double alpha = ends.interacts(0) && ends.interacts(1) ? 0 : core.alpha;
  const SoftValue first = soft_lennard_jones<Form>(
      core, soft_pair(core, alpha, ends.a[0], ends.b[0]), Form::share(1 - lambda, lambda), r2);
  const SoftValue last = soft_lennard_jones<Form>(
      core, soft_pair(core, alpha, ends.a[1], ends.b[1]), Form::share(lambda, 1 - lambda), r2);
  return {first.energy + last.energy, first.force + last.force, last.slope - first.slope};
}

// The product of two charges, each linear in lambda, over 4 pi eps0.
struct ChargeProduct {
  double by_power[3];

  QMD_HD static ChargeProduct of(const double* first, const double* second) {
    const double change = first[1] - first[0], other = second[1] - second[0];
    return {{first[0] * second[0], first[0] * other + change * second[0], change * other}};
  }
  QMD_HD double at(double x) const { return by_power[0] + x * (by_power[1] + x * by_power[2]); }
  QMD_HD double slope(double x) const { return by_power[1] + 2 * x * by_power[2]; }
  QMD_HD bool is_zero() const { return by_power[0] == 0 && by_power[1] == 0 && by_power[2] == 0; }
};

// Of a pair of which an atom vanishes, or appears.
QMD_HD SoftCharges soft_charges(const SoftCore& core, const TwoEnds& ends,
                                const ChargeProduct& product, bool appears) {
  return {core.alpha_coulomb, soft_sigma6(core, ends, appears), product.at(appears ? 1 : 0),
          std::sqrt(core.cutoff2)};
}

// The direct potential of unit charges, of which that of an atom is `absent` to some part; the slope is that by the
// present part.
template <class Form>
QMD_HD SoftValue soft_coulomb(const SoftCharges& charges, double absent, const SmoothValue& smooth,
                              double r2) {
  if (charges.alpha == 0) return hard_coulomb(smooth, r2);
  const PresentShare share = Form::share(1 - absent, absent);
  SoftValue value = Form::coulomb(charges, share.absent, smooth, r2);
  value.slope *= share.slope;
  return value;
}

}  // namespace quiltmd
