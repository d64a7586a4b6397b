// SPDX-License-Identifier: Apache-2.0
// Which excluded pairs become terms: those of charges that bonds and constraints let be farther apart
// than the cutoff; and their energy where it is hard to evaluate.
#include <cmath>
#include <utility>

#include "check.h"
#include "computes/bonded/bond_paths.h"
#include "computes/bonded/excluded_pairs.h"
#include "computes/bonded/forms/forms.h"
#include "computes/long_range/ewald_split.h"
#include "math/prolate.h"
#include "one_rank.h"

namespace quiltmd::test {
namespace {

constexpr double kCutoff = 0.9, kAlpha = 3, kStiff = 2e5;

NonbondedSettings ewald() {
  NonbondedSettings settings;
  settings.cutoff = kCutoff;
  settings.alpha = kAlpha;
  return settings;
}

NonbondedSettings prolate(double bandwidth) {
  NonbondedSettings settings;
  settings.cutoff = kCutoff;
  settings.bandwidth = bandwidth;
  return settings;
}

// A chain of charges on bonds of 0.15 nm.
System chain(int atoms) {
  System s;
  for (int a = 0; a < atoms; ++a) {
    add_atom(s, 12);
    s.charges.back() = 0.1 * (a + 1);
    if (a == 0) continue;
    const int32_t ends[] = {a - 1, a};
    const double parameters[] = {0.15, kStiff};
    s.terms_to_fill(BondForm::kForm).add(ends, parameters);
  }
  return s;
}

using Pairs = std::vector<std::pair<int, int>>;

Pairs terms_of(const System& s) {
  Pairs found;
  if (const Terms* terms = s.terms_of(ExcludedPairForm::kForm))
    for (int t = 0; t < terms->count(); ++t)
      found.emplace_back(terms->atoms_of(t)[0], terms->atoms_of(t)[1]);
  return found;
}

void bonded_neighbours_are_no_terms() {
  System s = chain(10);
  for (int a = 0; a < 10; ++a)
    for (int b = a + 1; b < std::min(a + 5, 10); ++b) s.exclusions.push_back({a, b});
  CHECK(add_excluded_pairs(s, ewald()) == 0);
  CHECK(terms_of(s).empty() && s.terms.size() == 1);
}

void longer_paths_are() {
  System s = chain(10);
  const double bond = 0.15 + std::sqrt(2 * 100 / kStiff);
  s.exclusions = {{0, 6}, {9, 1}, {0, 4}, {0, 6}};
  CHECK_NEAR(add_excluded_pairs(s, ewald()), 8 * bond, 1e-12);
  CHECK((terms_of(s) == Pairs{{0, 6}, {1, 9}}));
  const auto parameters = s.terms_of(ExcludedPairForm::kForm)->parameters_of(1);
  CHECK_NEAR(parameters[0], 0.2 * 1.0, 1e-15);
  CHECK(parameters[1] == kAlpha);
}

// Atoms of a restraint are as far apart as bonds and restraints of distances let them be.
void restraints_reach_as_far_as_they_may() {
  System s = chain(10);
  CHECK(span_of_restraints(s) == 0);
  const double bond = 0.15 + std::sqrt(2 * 100 / kStiff);
  const int32_t torsion[] = {0, 2, 5, 6}, ends[] = {0, 9};
  const double held[] = {0, 0, 10}, soft[] = {0.1, 1.0, 1e6, 800}, linear[] = {0.1, 1.0, 1.01, 800};
  s.terms_to_fill(TorsionRestraintForm::kForm).add(torsion, held);
  CHECK_NEAR(span_of_restraints(s), 6 * bond, 1e-12);
  s.terms_to_fill(DistanceRestraintForm::kForm).add(ends, soft);
  CHECK_NEAR(span_of_restraints(s), 1.0 + 0.5, 1e-12);  // 100 kJ/mol is at 0.5 nm beyond
  s.terms_to_fill(DistanceRestraintForm::kForm).parameters.assign(linear, linear + 4);
  CHECK_NEAR(span_of_restraints(s), 9 * bond, 1e-12);  // the spring would let go of them
  s.terms.erase(s.terms.begin());
  CHECK(std::isinf(span_of_restraints(s)));
}

// The shortest way counts; a constraint does not stretch.
void constraints_hold_too() {
  System s = chain(10);
  constrain(s, 0, 8, 0.5);
  s.exclusions = {{0, 7}, {0, 5}, {0, 4}};
  CHECK(add_excluded_pairs(s, ewald()) > kCutoff);
  CHECK((terms_of(s) == Pairs{{0, 5}}));
}

void atoms_that_nothing_holds_together() {
  System s = chain(3);
  add_atom(s, 12);
  add_atom(s, 12);
  s.charges[3] = 1;
  const int32_t ends[] = {2, 3};
  const double nothing[] = {0.15, 0};
  s.terms_to_fill(BondForm::kForm).add(ends, nothing);
  s.exclusions = {{0, 3}, {1, 4}};  // the second without charge
  CHECK(std::isinf(add_excluded_pairs(s, ewald())));
  CHECK((terms_of(s) == Pairs{{0, 3}}));
}

// Pairs without charges are on the mesh of the dispersion, but for those without C6.
void dispersion_is_on_a_mesh_too() {
  System s = chain(10);
  s.pair_form = "lennard-jones";
  s.pair_type_count = 2;
  s.pair_tables = {{0, 0, 0, 0}, {0.04, 0.02, 0.02, 0}};
  for (double& charge : s.charges) charge = 0;
  s.pair_types[9] = 1;
  s.exclusions = {{0, 8}, {1, 9}, {0, 2}};
  System without = s;
  NonbondedSettings with_dispersion = ewald();
  with_dispersion.switching = Switching::kMesh;
  with_dispersion.dispersion_alpha = 2.5;
  CHECK(add_excluded_pairs(without, ewald()) == 0);
  CHECK(add_excluded_pairs(s, with_dispersion) > kCutoff);
  CHECK((terms_of(s) == Pairs{{0, 8}}));
  const Terms* const terms = s.terms_of(ExcludedDispersionForm::kForm);
  CHECK(terms && terms->count() == 1);
  CHECK_NEAR(terms->parameters_of(0)[0], 0.04, 1e-15);
  CHECK(terms->parameters_of(0)[1] == 2.5);
}

// The same from the series and from the closed form in long double.
void dispersion_of_near_atoms() {
  for (const double z : {0.0, 1e-6, 0.01, 0.3, 0.99, 1.01, 4.0, 12.0}) {
    const SmoothDispersion found = smooth_dispersion(z);
    long double value = 0, slope = 0, power = 1, factorial = 6;
    for (int k = 0; k < 200; ++k) {
      value += power / factorial;
      slope += 3 * power / (factorial * (k + 4));
      power *= z;
      factorial *= k + 4;
    }
    const long double decay = std::exp(-static_cast<long double>(z));
    CHECK_NEAR(found.value / static_cast<double>(decay * value), 1, 1e-13);
    CHECK_NEAR(found.slope / static_cast<double>(decay * slope), 1, 1e-13);
  }
}

// Against the closed form in long double, where the series takes over, too.
void energies_of_near_atoms() {
  const double given[] = {-0.5, kAlpha};
  double p[2];
  ExcludedPairForm::prepare(given, p);
  for (const double r : {1e-6, 1e-3, 0.01, 0.0333, 0.03334, 0.05, 0.3, 2.0}) {
    const Vec3d b[] = {{0.6 * r, 0, 0.8 * r}};
    const auto found = ExcludedPairForm::evaluate(b, p);
    const long double x = kAlpha * static_cast<long double>(r);
    const long double slope = 2 / std::sqrt(std::acos(-1.0L)) * kAlpha;
    const long double energy = p[0] * std::erf(x) / r;
    CHECK_NEAR(found.energy[0] / static_cast<double>(energy), 1, 1e-14);
    if (x < 1e-4) continue;  // where even these numbers cancel
    const long double force = -p[0] * (slope * std::exp(-x * x) - std::erf(x) / r) / r;
    CHECK_NEAR(norm(found.force[0]) / static_cast<double>(std::fabs(force)), 1, 1e-11);
    CHECK((found.force[0].x < 0) == (force > 0));
  }
  const Vec3d together[] = {{0, 0, 0}};
  const auto found = ExcludedPairForm::evaluate(together, p);
  CHECK_NEAR(found.energy[0] / (p[0] * 2 * kAlpha / std::sqrt(kPi)), 1, 1e-15);
  CHECK(norm(found.force[0]) == 0);
}

// Phi/r as a sum over the function itself, by Simpson's rule; and 1/r beyond the cutoff.
void energies_with_the_prolate_split() {
  constexpr double kBandwidth = 10;
  const Prolate psi(kBandwidth);
  const double given[] = {-0.5, kCutoff};
  double p[2];
  ExcludedPairProlateForm::prepare(given, p, 1);
  const std::vector<double> series = ExcludedPairProlateForm::prepare_shared({kBandwidth}, 1);
  const auto energy_at = [&](double r) {
    const Vec3d b[] = {{0.6 * r, 0, 0.8 * r}};
    return ExcludedPairProlateForm::evaluate(b, p, series.data());
  };
  const auto split = ewald_split(prolate(kBandwidth));
  for (const double r : {1e-3, 0.05, 0.3, 0.6, 0.899, 0.9, 0.901, 2.0}) {
    const double x = std::min(r / kCutoff, 1.0);
    double phi = 0;
    constexpr int n = 2000;
    for (int k = 0; k <= n; ++k)
      phi += (k % n == 0 ? 1 : k % 2 ? 4 : 2) * psi(std::pow(x * k / n, 2)) * x / (3. * n);
    const double energy = 0.5 * kCoulomb * phi / psi.integral() / r;
    CHECK_NEAR(energy_at(r).energy[0] / energy, 1, 1e-12);
    CHECK_NEAR(0.5 * kCoulomb * split->potential(r * r) / energy, 1, 1e-12);
    if (r > 0.89 && r < 0.91) continue;  // where the force jumps a little
    const double slope = (energy_at(r + 1e-5).energy[0] - energy_at(r - 1e-5).energy[0]) / 2e-5;
    CHECK_NEAR(energy_at(r).force[0].x / (0.6 * slope), 1, 1e-6);
    CHECK_NEAR(0.5 * kCoulomb * split->force(r * r) * r / -slope, 1, 1e-6);
  }
  const Vec3d together[] = {{0, 0, 0}};
  const auto found = ExcludedPairProlateForm::evaluate(together, p, series.data());
  CHECK_NEAR(found.energy[0], 0.5 * kCoulomb * 2.52313258 / kCutoff, 1e-6);
  CHECK(norm(found.force[0]) == 0);
}

void pairs_with_the_prolate_split_are_terms_of_their_own() {
  System s = chain(10);
  s.exclusions = {{0, 8}, {1, 9}, {0, 2}};
  CHECK(add_excluded_pairs(s, prolate(9)) > kCutoff);
  CHECK(terms_of(s).empty());
  const Terms* const terms = s.terms_of(ExcludedPairProlateForm::kForm);
  CHECK(terms && terms->count() == 2 && terms->shared == std::vector<double>{9});
  CHECK((excluded_pairs_of_terms(s) == std::vector<std::array<int32_t, 2>>{{0, 8}, {1, 9}}));
}

}  // namespace
}  // namespace quiltmd::test

int main() {
  using namespace quiltmd::test;
  return run_all({{"bonded neighbours are no terms", bonded_neighbours_are_no_terms},
                  {"longer paths are", longer_paths_are},
                  {"constraints hold, too", constraints_hold_too},
                  {"atoms that nothing holds together", atoms_that_nothing_holds_together},
                  {"restraints reach as far as they may", restraints_reach_as_far_as_they_may},
                  {"dispersion is on a mesh, too", dispersion_is_on_a_mesh_too},
                  {"dispersion of near atoms", dispersion_of_near_atoms},
                  {"energies of near atoms", energies_of_near_atoms},
                  {"energies with the prolate split", energies_with_the_prolate_split},
                  {"pairs with the prolate split are terms of their own",
                   pairs_with_the_prolate_split_are_terms_of_their_own}});
}
