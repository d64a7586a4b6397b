// SPDX-License-Identifier: Apache-2.0
// One row for each form of bonded terms: where its atoms are along a chain, parameters to try, and
// its energy from positions by the textbook, written apart from the form itself. Forces, virial,
// placement, every device and any number of ranks are tested on all rows alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "computes/bonded/forms/forms.h"
#include "math/box.h"
#include "math/prolate.h"
#include "math/units.h"
#include "system/system.h"

namespace quiltmd::test {

// That terms by themselves are evaluated in.
inline constexpr Box kTermBox{100, 0, 90, 0, 0, 110};

struct TermRow {
  const TermForm& form;
  std::vector<int> places;                       // along the chain, ascending from 0
  std::function<std::vector<double>(int)> some;  // parameters number 0, 1, 2, ...
  std::function<double(const std::vector<Vec3d>&, const std::vector<double>&)> energy;
  double precision = 1e-9;  // of the energy, relative to the textbook's
  std::function<void(Terms&)> share = [](Terms&) {};

  // Add the term that ends with the i-th atom of a chain, the system's atom `last`.
  void add_last(System& system, int i, int last) const {
    if (i < places.back()) return;
    std::vector<int32_t> atoms;
    for (const int place : places) atoms.push_back(last - places.back() + place);
    Terms& terms = system.terms_to_fill(form);
    if (terms.atoms.empty()) share(terms);
    terms.add(atoms, some(i));
  }
};

inline double textbook_torsion(const Vec3d& i, const Vec3d& j, const Vec3d& k, const Vec3d& l) {
  const Vec3d m = cross(j - i, k - j), n = cross(k - j, l - k);
  const double angle = std::acos(std::clamp(dot(m, n) / (norm(m) * norm(n)), -1.0, 1.0));
  return dot(j - i, n) < 0 ? -angle : angle;
}

inline double textbook_cosine(const std::vector<Vec3d>& r) {
  const Vec3d u = r[0] - r[1], v = r[2] - r[1];
  return dot(u, v) / (norm(u) * norm(v));
}

// Two torsion maps smooth enough for a spline.
inline double map_energy(bool second, double phi, double psi) {
  return second ? 3 * std::cos(phi - 0.4) * std::sin(psi) : 2 * std::sin(phi + psi) + std::cos(psi);
}

inline const std::vector<TermRow>& term_rows() {
  using Points = std::vector<Vec3d>;
  using Values = std::vector<double>;
  static const std::vector<TermRow> rows{
      {BondForm::kForm,
       {0, 1},
       [](int) { return Values{0.153, 2.2e5}; },
       [](const Points& r, const Values& p) {
         return 0.5 * p[1] * std::pow(norm(r[1] - r[0]) - p[0], 2);
       }},
      {AngleForm::kForm,
       {0, 1, 2},
       [](int) { return Values{1.9, 400}; },
       [](const Points& r, const Values& p) {
         const Vec3d u = r[0] - r[1], v = r[2] - r[1];
         return 0.5 * p[1] * std::pow(std::acos(dot(u, v) / (norm(u) * norm(v))) - p[0], 2);
       }},
      {TorsionForm::kForm,
       {0, 1, 2, 3},
       [](int i) { return Values{double(1 + i % 6), 0.3 * i, 5}; },
       [](const Points& r, const Values& p) {
         return p[2] * (1 + std::cos(p[0] * textbook_torsion(r[0], r[1], r[2], r[3]) - p[1]));
       }},
      {RyckaertBellemansForm::kForm,
       {0, 1, 2, 3},
       [](int i) { return Values{9.3, 12.2 - i % 3, -13.1, -3.1, 26.2, -31.5}; },
       [](const Points& r, const Values& p) {
         const double psi = textbook_torsion(r[0], r[1], r[2], r[3]) - kPi;
         double energy = 0;
         for (int n = 0; n < 6; ++n) energy += p[n] * std::pow(std::cos(psi), n);
         return energy;
       }},
      {Pair14Form::kForm,
       {0, 3},
       [](int) { return Values{0.1, 0.1, 0.3}; },
       [](const Points& r, const Values& p) {
         const double distance = norm(r[1] - r[0]), s6 = std::pow(p[1] / distance, 6);
         return 4 * p[2] * (s6 * s6 - s6) + kCoulomb * p[0] / distance;
       }},
      {ExcludedPairForm::kForm,
       {0, 4},
       [](int) { return Values{0.2, 3.1}; },
       [](const Points& r, const Values& p) {
         const double distance = norm(r[1] - r[0]);
         return -kCoulomb * p[0] * std::erf(p[1] * distance) / distance;
       }},
      {ExcludedPairProlateForm::kForm,
       {0, 4},
       [](int i) { return Values{0.2, i % 2 ? 0.3 : 0.9}; },
       [](const Points& r, const Values& p) {
         const double distance = norm(r[1] - r[0]), x = std::min(distance / p[1], 1.0);
         const Prolate psi(8);
         double phi = 0;
         constexpr int n = 400;
         for (int k = 0; k <= n; ++k)
           phi += (k % n == 0 ? 1 : k % 2 ? 4 : 2) * psi(std::pow(x * k / n, 2)) * x / (3. * n);
         return -kCoulomb * p[0] * phi / psi.integral() / distance;
       },
       1e-9,
       [](Terms& terms) {
         terms.shared_rows = 1;
         terms.shared = {8};
       }},
      {ExcludedDispersionForm::kForm,
       {0, 4},
       [](int i) { return Values{0.01, i % 2 ? 3.1 : 1.0}; },
       [](const Points& r, const Values& p) {
         const double r2 = dot(r[1] - r[0], r[1] - r[0]), x2 = p[1] * p[1] * r2;
         return p[0] * (1 - std::exp(-x2) * (1 + x2 + x2 * x2 / 2)) / (r2 * r2 * r2);
       }},
      {UreyBradleyForm::kForm,
       {0, 2},
       [](int) { return Values{0.25, 9000}; },
       [](const Points& r, const Values& p) {
         return 0.5 * p[1] * std::pow(norm(r[1] - r[0]) - p[0], 2);
       }},
      {MorseForm::kForm,
       {0, 1},
       [](int i) { return Values{0.14, 100.0 + 50 * i % 400, 18.5}; },
       [](const Points& r, const Values& p) {
         const double x = p[2] * (norm(r[1] - r[0]) - p[0]);
         return p[1] * (1 + std::exp(-2 * x) - 2 * std::exp(-x));
       }},
      {QuarticBondForm::kForm,
       {0, 1},
       [](int i) { return Values{0.14 + 0.01 * (i % 2), 2e6}; },
       [](const Points& r, const Values& p) {
         return 0.25 * p[1] * std::pow(dot(r[1] - r[0], r[1] - r[0]) - p[0] * p[0], 2);
       }},
      {FeneForm::kForm,
       {0, 1},
       [](int i) { return Values{0.4 + 0.1 * (i % 2), 3000, 0.05 * (i % 4), 2.0 * (i % 3)}; },
       [](const Points& r, const Values& p) {
         const double distance = norm(r[1] - r[0]);
         const double s6 = std::pow(p[2] / distance, 6);
         const bool repels = distance < std::pow(2, 1. / 6) * p[2];
         return -0.5 * p[1] * p[0] * p[0] * std::log(1 - std::pow(distance / p[0], 2)) +
                (repels ? p[3] * (4 * (s6 * s6 - s6) + 1) : 0);
       }},
      {CosineAngleForm::kForm,
       {0, 1, 2},
       [](int i) { return Values{1.9 + 0.3 * (i % 2), 400}; },
       [](const Points& r, const Values& p) {
         return 0.5 * p[1] * std::pow(textbook_cosine(r) - std::cos(p[0]), 2);
       }},
      {RestrictedAngleForm::kForm,
       {0, 1, 2},
       [](int i) { return Values{1.9 + 0.3 * (i % 2), 0.005}; },
       [](const Points& r, const Values& p) {
         const double c = textbook_cosine(r);
         const double s2 = 1 - c * c, least = RestrictedAngleForm::kLeast;
         const double per_s2 = s2 > least ? 1 / s2 : (2 - s2 / least) / least;
         return 0.5 * p[1] * std::pow(c - std::cos(p[0]), 2) * per_s2;
       }},
      {BendingTorsionForm::kForm,
       {0, 1, 2, 3},
       [](int i) { return Values{9.3, 12.2 - i % 3, -13.1, -3.1, 4.2}; },
       [](const Points& r, const Values& p) {
         const double c = std::cos(textbook_torsion(r[0], r[1], r[2], r[3]));
         const double first = std::sqrt(1 - std::pow(textbook_cosine(r), 2));
         const double last = std::sqrt(1 - std::pow(textbook_cosine({r[1], r[2], r[3]}), 2));
         return std::pow(first * last, 3) *
                (p[0] + c * (p[1] + c * (p[2] + c * (p[3] + c * p[4]))));
       }},
      {PositionRestraintForm::kForm,
       {0},
       [](int i) {
         const double radius = i % 2 ? 0.05 : 0;
         return Values{0.001, 0.003 * (i % 3),  -0.002, 0.1, -0.2, 0.03 * i, 80, radius, 1,
                       0.5,   i % 4 ? 1.0 : 0.0};
       },
       [](const Points& r, const Values& p) {
         const Vec3d place{kTermBox.ax * p[0] + p[3], kTermBox.by * p[1] + p[4],
                           kTermBox.cz * p[2] + p[5]};
         const Vec3d d = r[0] - place;
         const double from = std::sqrt(p[8] * d.x * d.x + p[9] * d.y * d.y + p[10] * d.z * d.z);
         return 0.5 * p[6] * std::pow(std::max(0.0, from - p[7]), 2);
       }},
      {DistanceRestraintForm::kForm,
       {0, 3},
       [](int i) {  // a spring, a flat bottom, one that is linear soon
         const double upper = i % 3 ? 0.3 : 0.2;
         return Values{0.2, upper, i % 3 == 2 ? upper + 0.01 : 1e6, 900};
       },
       [](const Points& r, const Values& p) {
         const double distance = norm(r[1] - r[0]), most = p[2] - p[1];
         if (distance > p[2]) return p[3] * most * (distance - p[2]) + 0.5 * p[3] * most * most;
         return 0.5 * p[3] * std::pow(distance - std::clamp(distance, p[0], p[1]), 2);
       }},
      {AngleRestraintForm::kForm,
       {0, 1, 3},
       [](int i) { return Values{1.6, 0.1 * (i % 3), 200}; },
       [](const Points& r, const Values& p) {
         const Vec3d u = r[0] - r[1], v = r[2] - r[1];
         const double off = std::acos(dot(u, v) / (norm(u) * norm(v))) - p[0];
         return 0.5 * p[2] * std::pow(std::max(0.0, std::fabs(off) - p[1]), 2);
       }},
      {TorsionRestraintForm::kForm,
       {0, 1, 2, 4},
       [](int i) { return Values{0.7 * (i % 5), 0.2 * (i % 3), 60}; },
       [](const Points& r, const Values& p) {
         const double off =
             std::remainder(textbook_torsion(r[0], r[1], r[2], r[3]) - p[0], 2 * kPi);
         return 0.5 * p[2] * std::pow(std::max(0.0, std::fabs(off) - p[1]), 2);
       }},
      {ConstantForceForm::kForm,
       {0},
       [](int i) {
         return Values{0.001, 0.003 * (i % 3), -0.002, 0.1, -0.2, 0.03 * i, 9.6, -4.0 * (i % 2), 2};
       },
       [](const Points& r, const Values& p) {
         const Vec3d place{kTermBox.ax * p[0] + p[3], kTermBox.by * p[1] + p[4],
                           kTermBox.cz * p[2] + p[5]};
         return -dot(Vec3d{p[6], p[7], p[8]}, r[0] - place);
       }},
      {OppositeForcesForm::kForm,
       {0, 1},
       [](int i) { return Values{9.6, -4.0 * (i % 2), 2.0 * (i % 3)}; },
       [](const Points& r, const Values& p) { return dot(Vec3d{p[0], p[1], p[2]}, r[0] - r[1]); }},
      {ImproperForm::kForm,
       {0, 1, 2, 3},
       [](int i) { return Values{0.2 * (i % 3), 80}; },
       [](const Points& r, const Values& p) {
         const double phi = textbook_torsion(r[0], r[1], r[2], r[3]) - p[0];
         return 0.5 * p[1] * std::pow(std::remainder(phi, 2 * kPi), 2);
       }},
      {CmapForm::kForm,
       {0, 1, 2, 3, 4},
       [](int i) { return Values{double(i % 2)}; },
       [](const Points& r, const Values& p) {
         return map_energy(p[0] != 0, textbook_torsion(r[0], r[1], r[2], r[3]),
                           textbook_torsion(r[1], r[2], r[3], r[4]));
       },
       1e-3,
       [](Terms& terms) {
         constexpr int n = 24;
         terms.shared_rows = 2;
         for (int k = 0; k < 2 * n * n; ++k)
           terms.shared.push_back(
               map_energy(k >= n * n, 2 * kPi * (k / n % n) / n, 2 * kPi * (k % n) / n));
       }}};
  return rows;
}

}  // namespace quiltmd::test
