// SPDX-License-Identifier: Apache-2.0
// Generalized Born: the equations, written once for the reference, hosts and GPUs. docs/theory/solvent.md
// has them in print, with sources.
//
// Atom i has the radius rho_i, less an offset o_i, and the sum of integrals I_i of how much solvent the
// scaled spheres s_j of all other atoms displace; its Born radius B_i follows from I_i.
#pragma once

#include <cmath>

#include "math/elementary.h"
#include "math/vec3.h"
#include "system/implicit_solvent.h"

namespace quiltmd {

// A function of a distance, and its derivative.
template <class Real>
struct Curve {
  Real value, slope;
};

// The same of spheres that do not overlap, as a series in the scaled radius over the distance x, q = x^2:
// the sum over k of k/(2k + 1) x^(2k + 1) / r. Six terms are good to 5e-8 of the whole for x up to 1/4,
// three to 1e-6 for x up to 1/10 and 8e-8 up to 1/16. Most pairs are so far apart, and all digits would
// cancel in the difference of logarithms.
template <class Real>
QMD_HD Curve<Real> distant_screening(Real per_r, Real x, Real q) {
  constexpr double kFactors[] = {1. / 3, 2. / 5, 3. / 7, 4. / 9, 5. / 11, 6. / 13};
  constexpr int kLast = 5;
  Real value = Real(kFactors[kLast]), slope = Real((2 * kLast + 4) * kFactors[kLast]);
  for (int k = kLast - 1; k >= 0; --k) {
    value = multiply_add(value, q, Real(kFactors[k]));
    slope = multiply_add(slope, q, Real((2 * k + 4) * kFactors[k]));
  }
  const Real leading = x * q * per_r;
  return {leading * value, -leading * per_r * slope};
}

// The same in powers of t = 1/r^2 for one screening atom: t^2 times these for the value, t^3 times these for
// the slope over -r. Which of the two `leading`, `second` and `third` say.
struct ScreeningSeries {
  float leading, second, third;

  static QMD_HD ScreeningSeries of_value(float scaled_radius) {
    return of(scaled_radius, {1. / 3, 2. / 5, 3. / 7});
  }
  static QMD_HD ScreeningSeries of_slope(float scaled_radius) {
    return of(scaled_radius, {4. / 3, 12. / 5, 24. / 7});
  }
  QMD_HD float three_terms(float t) const {
    return multiply_add(multiply_add(third, t, second), t, leading);
  }

 private:
  static QMD_HD ScreeningSeries of(float s, Vec3d factors) {
    const float q = s * s, cube = s * q;
    return {cube * static_cast<float>(factors.x), cube * q * static_cast<float>(factors.y),
            cube * q * q * static_cast<float>(factors.z)};
  }
};
// Six terms over the leading one, q = s^2/r^2.
QMD_HD float six_values(float q) {
  float sum = 18.0f / 13;
  for (const float factor : {15.0f / 11, 4.0f / 3, 9.0f / 7, 6.0f / 5, 1.0f})
    sum = multiply_add(sum, q, factor);
  return sum;
}
QMD_HD float six_slopes(float q) {
  float sum = 63.0f / 13;
  for (const float factor : {45.0f / 11, 10.0f / 3, 18.0f / 7, 9.0f / 5, 1.0f})
    sum = multiply_add(sum, q, factor);
  return sum;
}

// Screening of one atom by another, without the neck: Hawkins, Cramer and Truhlar, J. Phys. Chem. 100, 19824
// (1996), equation 10, with atoms inside another atom as in Schaefer and Froemmel, J. Mol. Biol. 216, 1045
// (1990). `o`: offset radius of the screened atom, `s`: scaled radius of the other; 1/nm.
template <class Real>
QMD_HD Curve<Real> screening(Real r, Real per_r, Real o, Real s) {
  if (!(r + s > o)) return {0, 0};
  const Real ratio = s * per_r, q = ratio * ratio;
  if (q < Real(1. / 16) && r - s >= o) return distant_screening(per_r, ratio, q);
  const Real apart = std::fabs(r - s), lower = apart > o ? apart : o, upper = r + s;
  const Real l = inverse(lower), u = inverse(upper);
  const Real log = logarithm(lower * u), difference = (u - l) * (u + l);
  Curve<Real> found;
  found.value = Real(0.5) * (l - u + Real(0.25) * multiply_add(-s, ratio, r) * difference +
                             Real(0.5) * log * per_r);
  found.slope = Real(0.125) * (1 + q) * difference - Real(0.25) * log * per_r * per_r;
  if (o < s - r) found.value += inverse(o) - l;
  return found;
}

// Both numbers are found and one is chosen: left to itself, the GPU's compiler makes a branch of it.
QMD_HD float choose(bool first, float a, float b) {
#ifdef __CUDA_ARCH__
  float chosen;
  asm("{.reg .pred p; setp.ne.s32 p, %3, 0; selp.f32 %0, %1, %2, p;}"
      : "=f"(chosen)
      : "f"(a), "f"(b), "r"(static_cast<int>(first)));
  return chosen;
#else
  return first ? a : b;
#endif
}

// The same in single precision for any two atoms, without branches: all cases are found and one is chosen.
struct ScreeningLogarithms {
  float upper, product, difference, sum, log;

  QMD_HD ScreeningLogarithms(float r, float per_r, float o, float s) : upper(r + s) {
    const float lower = std::fmax(std::fabs(r - s), o);
    product = inverse(lower * upper);
    difference = (upper - lower) * product;
    sum = (upper + lower) * product;
    constexpr float kQuarterLog = 0.25f * 0.693147181f;
    log = logarithm2(lower * lower * product) * (kQuarterLog * per_r);
  }
};
// `per_o`: 1/o; `leading`: of the series. An instruction for logarithms leaves 4e-8/nm too much or too
// little, always the same, which would add up over the many atoms at a middle distance.
QMD_HD float screening_value(float r, float per_r, float o, float per_o, float s, float leading) {
  const ScreeningLogarithms found(r, per_r, o, s);
  const float t = per_r * per_r, ratio = s * per_r, q = ratio * ratio;
  float value = multiply_add(found.difference,
                             multiply_add((r - s * ratio) * found.sum, -0.125f, 0.5f), found.log);
  value += choose(s - r > o, per_o - found.upper * found.product, 0.0f);
  value = choose(r + s > o, value, 0.0f);
  const bool apart = (q < 1.0f / 16) & (r - s >= o);
  return choose(apart, leading * (t * t) * six_values(q), value);
}
QMD_HD float screening_slope(float r, float per_r, float o, float s) {
  const ScreeningLogarithms found(r, per_r, o, s);
  const float ratio = s * per_r;
  const float slope = -multiply_add(found.difference * found.sum,
                                    multiply_add(ratio * ratio, 0.125f, 0.125f), found.log * per_r);
  return r + s > o ? slope : 0.0f;
}

// The space between two atoms that is too narrow for water: Mongan, Simmerling, McCammon, Case and
// Onufriev, J. Chem. Theory Comput. 3, 156 (2007), equation 13, up to the sum of both radii and 0.68 nm.
inline constexpr double kNeckReach = 0.68;  // nm
template <class Real>
QMD_HD Curve<Real> neck(Real r, Real distance, Real height) {
  const Real x = r - distance, x2 = x * x, x4 = x2 * x2;
  const Real bottom = inverse(1 + 100 * x2 + Real(3e5) * x4 * x2);
  const Real value = height * bottom;
  return {value, -value * bottom * x * (200 + Real(1.8e6) * x4)};
}

// Born radius as a function of the sum of integrals: HCT, as above; OBC, Onufriev, Bashford and Case,
// Proteins 55, 383 (2004), equation 6.
QMD_HD Curve<double> born_radius(double sum, const BornAtom& atom, BornFunction function) {
  constexpr double kLargest = 3;  // nm, of atoms that HCT finds buried altogether, as in Amber
  if (function == BornFunction::kInverse) {
    const double inverse = 1 / atom.offset_radius - sum;
    if (!(inverse > 1 / kLargest)) return {kLargest, 0};
    return {1 / inverse, 1 / (inverse * inverse)};
  }
  const double psi = sum * atom.offset_radius;
  const double t = std::tanh(((atom.gamma * psi - atom.beta) * psi + atom.alpha) * psi);
  const double radius = 1 / (1 / atom.offset_radius - t / atom.radius);
  const double inner = atom.alpha + psi * (3 * atom.gamma * psi - 2 * atom.beta);
  return {radius, radius * radius * (1 - t * t) * inner * atom.offset_radius / atom.radius};
}

// The polarisation energy of two charges whose product (with 1/(4 pi eps0)) is `qq`, Still et al., J. Am.
// Chem. Soc. 112, 6127 (1990), with salt as in Srinivasan et al., Theor. Chem. Acc. 101, 426 (1999):
// E = -qq (1 - exp(-kappa f)/eps) (1/f - 1/cutoff), f^2 = r^2 + B_i B_j exp(-r^2/(4 B_i B_j)).
template <class Real>
struct Polarisation {
  Real energy;
  Real force_over_r;  // -dE/dr / r
  Real by_product;    // dE/d(B_i B_j)
};
// `product`: B_i B_j; `per_product`: its inverse; `per_cutoff`: zero without a cutoff.
template <class Real>
QMD_HD Polarisation<Real> polarisation(Real r2, Real product, Real per_product, Real qq,
                                       Real inverse_dielectric, Real kappa, Real per_cutoff) {
  const Real quarter = Real(0.25) * r2 * per_product, decay = exponential(-quarter);
  const Real f2 = multiply_add(product, decay, r2), per_f = inverse_root(f2);
  const Real salt = inverse_dielectric * (kappa > 0 ? exponential(-kappa * f2 * per_f) : Real(1));
  const Real energy = qq * (salt - 1) * per_f, inside = 1 - per_cutoff * f2 * per_f;
  const Real by_f_over_f =
      -multiply_add(qq * kappa * inside, salt, energy) * per_f * per_f;  // dE/df / f
  return {energy * inside, -by_f_over_f * multiply_add(Real(-0.25), decay, Real(1)),
          Real(0.5) * by_f_over_f * decay * (1 + quarter)};
}

// Energies of an atom by itself and their derivative by its Born radius: polarisation by its own charge
// (`qq`: its square, with 1/(4 pi eps0)), and the surface term of ACE, Schaefer, Bartels and Karplus, J.
// Mol. Biol. 284, 835 (1998): E = surface (rho + 0.14 nm)^2 (rho/B)^6.
struct OfOneAtom {
  double polarisation, surface, by_radius;
};
QMD_HD OfOneAtom energy_of_one(double born, const BornAtom& atom, double qq,
                               double inverse_dielectric, double kappa, double surface) {
  constexpr double kProbe = 0.14;  // nm, radius of water
  const double salt = inverse_dielectric * std::exp(-kappa * born);
  const double own = -0.5 * qq * (1 - salt) / born;
  const double ratio = atom.radius / born, ratio3 = ratio * ratio * ratio;
  const double width = atom.radius + kProbe, area = surface * width * width * ratio3 * ratio3;
  return {own, area, -(own + 0.5 * qq * kappa * salt + 6 * area) / born};
}

}  // namespace quiltmd
