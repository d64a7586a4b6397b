// SPDX-License-Identifier: Apache-2.0
// SETTLE, stars, the matrix of large groups, SHAKE and RATTLE against each other and against what constraints must
// conserve.
#include <limits>

#include "check.h"
#include "computes/constraints/coupled.h"
#include "computes/constraints/settle.h"
#include "computes/constraints/shake.h"
#include "computes/constraints/star.h"
#include "integrators/group_constraints.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr GroupConstraint kWater[3] = {{0, 1, kLeg}, {0, 2, kLeg}, {1, 2, kBase}};
constexpr double kWaterInverse[3] = {1 / kOxygen, 1 / kHydrogen, 1 / kHydrogen};

struct Molecule {
  std::vector<Vec3d> from, to;
  System system;
};

// A constrained molecule and where its atoms would go in a step, `move` nm away or so.
Molecule moved_water(Random& random, double move) {
  Molecule m;
  add_water(m.system, m.from, random_vector(random, 3), random);
  for (const Vec3d& x : m.from) m.to.push_back(x + random_vector(random, move));
  return m;
}

Molecule moved_carbon(Random& random, double move, double hydrogen_mass, int hydrogens = 4) {
  Molecule m;
  add_carbon(m.system, m.from, random_vector(random, 3), hydrogens, hydrogen_mass, random);
  for (const Vec3d& x : m.from) m.to.push_back(x + random_vector(random, move));
  return m;
}

std::vector<double> inverse(const std::vector<double>& masses) {
  std::vector<double> result;
  for (const double m : masses) result.push_back(1 / m);
  return result;
}

std::vector<GroupConstraint> constraints_of(const System& s) {
  std::vector<GroupConstraint> result;
  for (size_t k = 0; k < s.constraints.size(); ++k)
    result.push_back({s.constraints[k][0], s.constraints[k][1], s.constraint_lengths[k]});
  return result;
}

// constrain(from, moved, correction), applied to `to`.
template <class Constrain>
void move_to(Molecule& m, const Constrain& constrain) {
  std::vector<Vec3d> moved, correction(m.to.size());
  for (size_t i = 0; i < m.to.size(); ++i) moved.push_back(m.to[i] - m.from[i]);
  constrain(m.from.data(), moved.data(), correction.data());
  for (size_t i = 0; i < m.to.size(); ++i) m.to[i] = m.from[i] + (moved[i] + correction[i]);
}

void settle_to(const Triangle& triangle, Molecule& m) {
  move_to(m, [&](const Vec3d* at, const Vec3d* moved, Vec3d* correction) {
    settle(triangle, at, moved, correction);
  });
}

// Momentum and angular momentum (about `from`) that the corrections to - before carry.
void check_conserved(const Molecule& m, const std::vector<Vec3d>& before, double tolerance) {
  Vec3d momentum{0, 0, 0}, angular{0, 0, 0};
  for (size_t i = 0; i < before.size(); ++i) {
    const Vec3d p = m.system.masses[i] * (m.to[i] - before[i]);
    momentum += p;
    angular += cross(m.from[i] - m.from[0], p);
  }
  CHECK_NEAR(norm(momentum), 0, tolerance);
  CHECK_NEAR(norm(angular), 0, tolerance);
}

double worst_length(const Molecule& m) {
  double worst = 0;
  for (const GroupConstraint& c : constraints_of(m.system))
    worst = std::max(worst, std::fabs(norm(m.to[c.first] - m.to[c.second]) / c.length - 1));
  return worst;
}

void settle_equals_shake() {
  Random random(1);
  const Triangle triangle = make_triangle(kOxygen, kHydrogen, kLeg, kBase);
  for (int n = 0; n < 2000; ++n) {
    Molecule m = moved_water(random, 0.005);
    const std::vector<Vec3d> before = m.to;
    std::vector<Vec3d> shaken = m.to;
    settle_to(triangle, m);
    CHECK(shake(ConstraintSet{kWater, 3, kWaterInverse}, m.from.data(), shaken.data(), 1e-13));
    for (int i = 0; i < 3; ++i) CHECK_NEAR(norm(shaken[i] - m.to[i]), 0, 1e-12);
    CHECK(worst_length(m) < 1e-12);
    check_conserved(m, before, 1e-12);
  }
}

void settle_leaves_a_rigid_motion_alone() {
  Random random(2);
  const Triangle triangle = make_triangle(kOxygen, kHydrogen, kLeg, kBase);
  Molecule m = moved_water(random, 0);
  const Vec3d shift{0.01, -0.02, 0.003};
  for (Vec3d& x : m.to) x += shift;
  settle_to(triangle, m);
  for (int i = 0; i < 3; ++i) CHECK_NEAR(norm(m.to[i] - (m.from[i] + shift)), 0, 1e-15);
}

void shake_converges_and_conserves() {
  Random random(3);
  for (const double hydrogen : {1.008, 3.024}) {
    for (const double tolerance : {1e-6, 1e-10, 1e-13}) {
      for (int n = 0; n < 200; ++n) {
        Molecule m = moved_carbon(random, 0.005, hydrogen);
        const std::vector<Vec3d> before = m.to;
        const auto list = constraints_of(m.system);
        const auto inverse_mass = inverse(m.system.masses);
        const ConstraintSet set{list.data(), 4, inverse_mass.data()};
        CHECK(shake(set, m.from.data(), m.to.data(), tolerance));
        CHECK(worst_length(m) < 1.1 * tolerance);
        check_conserved(m, before, 1e-13);
      }
    }
  }
}

// Atoms and constraints of a star of a carbon and some hydrogens, missing ones at rest.
struct CarbonStar {
  Molecule m;
  std::vector<GroupConstraint> list;
  std::vector<double> inverse_mass;
  double length[kStarBonds] = {};

  CarbonStar(Random& random, double move, double hydrogen_mass, int hydrogens)
      : m(moved_carbon(random, move, hydrogen_mass, hydrogens)),
        list(constraints_of(m.system)),
        inverse_mass(inverse(m.system.masses)) {
    for (size_t k = 0; k < list.size(); ++k) length[k] = list[k].length;
    inverse_mass.resize(kStarAtoms);
  }
  Star star() const { return {inverse_mass.data(), length, static_cast<int>(list.size())}; }
  ConstraintSet set() const {
    return {list.data(), static_cast<int>(list.size()), inverse_mass.data()};
  }
};

void stars_equal_shake() {
  Random random(6);
  for (int hydrogens = 0; hydrogens <= 3; ++hydrogens) {
    for (const double tolerance : {1e-6, 1e-10, 1e-13}) {
      for (int n = 0; n < 200; ++n) {
        CarbonStar c(random, 0.005, 1.008, hydrogens);
        std::vector<Vec3d> before = c.m.to, shaken = c.m.to;
        CHECK(shake(c.set(), c.m.from.data(), shaken.data(), 1e-14));
        bool converged = false;
        c.m.from.resize(kStarAtoms), c.m.to.resize(kStarAtoms);
        move_to(c.m, [&](const Vec3d* at, const Vec3d* moved, Vec3d* correction) {
          converged = constrain(c.star(), at, moved, correction, tolerance);
        });
        CHECK(converged && worst_length(c.m) < 1.1 * tolerance + 1e-13);
        for (size_t i = 0; i < shaken.size(); ++i)
          CHECK_NEAR(norm(shaken[i] - c.m.to[i]), 0, 2 * tolerance + 1e-13);
        check_conserved(c.m, before, 1e-13);
      }
    }
  }
}

void velocities_of_stars() {
  Random random(7);
  for (int hydrogens = 0; hydrogens <= 3; ++hydrogens) {
    for (int n = 0; n < 200; ++n) {
      CarbonStar c(random, 0, 1.008, hydrogens);
      std::vector<Vec3d> v;
      for (size_t i = 0; i < c.m.from.size(); ++i) v.push_back(random_vector(random, 1));
      std::vector<Vec3d> by_rattle = v;
      CHECK(rattle(c.set(), c.m.from.data(), by_rattle.data(), 1e-12));
      v.resize(kStarAtoms), c.m.from.resize(kStarAtoms);
      CHECK(project(c.star(), c.m.from.data(), v.data()));
      for (size_t i = 0; i < by_rattle.size(); ++i) CHECK_NEAR(norm(v[i] - by_rattle[i]), 0, 1e-11);
    }
  }
}

void hopeless_cases_end() {
  Random random(4);
  Molecule m = moved_carbon(random, 0.001, kHydrogen);
  const auto list = constraints_of(m.system);
  const auto inverse_mass = inverse(m.system.masses);
  const ConstraintSet set{list.data(), 4, inverse_mass.data()};
  m.to[2].y = std::numeric_limits<double>::quiet_NaN();
  CHECK(!shake(set, m.from.data(), m.to.data(), 1e-10));
  CHECK(!rattle(set, m.from.data(), m.to.data(), 1e-10));
  m = moved_carbon(random, 0, kHydrogen);
  std::swap(m.to[0], m.to[1]);  // a bond turned around
  CHECK(!shake(set, m.from.data(), m.to.data(), 1e-10));

  const CarbonStar c(random, 0, kHydrogen, 3);
  std::vector<Vec3d> moved(kStarAtoms), correction(kStarAtoms);
  const auto holds = [&] {
    return constrain(c.star(), c.m.from.data(), moved.data(), correction.data(), 1e-10);
  };
  CHECK(holds());
  moved[1] = 1.9 * (c.m.from[0] - c.m.from[1]);
  CHECK(!holds());
  moved[1] = {0, std::numeric_limits<double>::quiet_NaN(), 0};
  CHECK(!holds() && !project(c.star(), c.m.from.data(), moved.data()));
}

void velocities_of_water() {
  Random random(5);
  const Triangle triangle = make_triangle(kOxygen, kHydrogen, kLeg, kBase);
  for (int n = 0; n < 1000; ++n) {
    const Molecule m = moved_water(random, 0);
    std::vector<Vec3d> v;
    for (int i = 0; i < 3; ++i) v.push_back(random_vector(random, 1));
    std::vector<Vec3d> by_rattle = v, projected = v;
    project(triangle, m.from.data(), projected.data());
    CHECK(rattle(ConstraintSet{kWater, 3, kWaterInverse}, m.from.data(), by_rattle.data(), 1e-12));
    Vec3d momentum{0, 0, 0}, angular{0, 0, 0};
    for (int i = 0; i < 3; ++i) {
      CHECK_NEAR(norm(projected[i] - by_rattle[i]), 0, 1e-11);
      const Vec3d p = m.system.masses[i] * (projected[i] - v[i]);
      momentum += p;
      angular += cross(m.from[i] - m.from[0], p);
    }
    CHECK_NEAR(norm(momentum), 0, 1e-13);
    CHECK_NEAR(norm(angular), 0, 1e-13);
    for (const GroupConstraint& c : kWater) {
      const Vec3d edge = m.from[c.first] - m.from[c.second];
      CHECK_NEAR(dot(edge, projected[c.first] - projected[c.second]), 0, 2e-14);
    }
    std::vector<Vec3d> twice = projected;
    project(triangle, m.from.data(), twice.data());
    for (int i = 0; i < 3; ++i) CHECK_NEAR(norm(twice[i] - projected[i]), 0, 2e-13);
  }
}

// A large group with room for the factor: a zigzag with side chains, closed to rings in two places.
struct LargeMolecule {
  Molecule m;
  GroupConstraints list;
  std::vector<double> inverse_mass, rows, multiplier;
  std::vector<Vec3d> edge;

  LargeMolecule(Random& random, double move) {
    System given;
    std::vector<Vec3d> at;
    const int backbone = 24;
    for (int i = 0; i < backbone; ++i) {
      add_atom(given, i % 3 ? 12.011 : 15.999);
      at.push_back({0.12 * i, 0.08 * (i % 2), 0.05 * (i / 2 % 2)});
    }
    for (int i = 0; i < backbone; i += 2) {
      add_atom(given, kHydrogen);
      at.push_back(at[static_cast<size_t>(i)] + Vec3d{0.02, -0.1, 0.03});
    }
    const auto hold = [&](int i, int j) {
      constrain(given, i, j, norm(at[static_cast<size_t>(i)] - at[static_cast<size_t>(j)]));
    };
    for (int i = 0; i + 1 < backbone; ++i) hold(i, i + 1);
    for (int i = 0; i < backbone; i += 2) hold(i, backbone + i / 2);
    hold(3, 8);
    hold(15, 17);
    m.system = with_groups(given);
    for (const int32_t i : m.system.input_index) {
      m.from.push_back(at[static_cast<size_t>(i)]);
      m.to.push_back(m.from.back() + random_vector(random, move));
    }
    list = constraints_by_group(m.system);
    inverse_mass = inverse(m.system.masses);
    const auto count = list.all.size();
    rows.resize(static_cast<size_t>(list.all.back().row) + count);
    multiplier.resize(count);
    edge.resize(count);
  }
  ConstraintSet set() const {
    return {list.all.data(), static_cast<int>(list.all.size()), inverse_mass.data()};
  }
  CoupledConstraints<ConstraintSet> coupled() {
    return {set(), rows.data(), multiplier.data(), edge.data()};
  }
};

void large_groups_equal_shake() {
  Random random(8);
  for (const double tolerance : {1e-6, 1e-12}) {
    for (int n = 0; n < 20; ++n) {
      LargeMolecule l(random, 0.003);
      CHECK(l.m.system.is_large(0) && l.m.system.group_count() == 1);
      const std::vector<Vec3d> before = l.m.to;
      std::vector<Vec3d> shaken = l.m.to, moved, correction(before.size());
      CHECK(shake(l.set(), l.m.from.data(), shaken.data(), 1e-13));
      for (size_t i = 0; i < before.size(); ++i) moved.push_back(before[i] - l.m.from[i]);
      l.coupled().factor(l.m.from);
      CHECK(l.coupled().constrain(moved, correction, l.m.system.atom_count(), tolerance));
      for (size_t i = 0; i < before.size(); ++i) l.m.to[i] = before[i] + correction[i];
      CHECK(worst_length(l.m) < 1.1 * tolerance);
      for (size_t i = 0; i < before.size(); ++i)
        CHECK_NEAR(norm(shaken[i] - l.m.to[i]), 0, 5 * tolerance + 1e-11);
      check_conserved(l.m, before, 1e-12);
    }
  }
}

void velocities_of_large_groups() {
  Random random(9);
  for (int n = 0; n < 20; ++n) {
    LargeMolecule l(random, 0);
    std::vector<Vec3d> v;
    for (size_t i = 0; i < l.m.from.size(); ++i) v.push_back(random_vector(random, 1));
    std::vector<Vec3d> by_rattle = v;
    CHECK(rattle(l.set(), l.m.from.data(), by_rattle.data(), 1e-12));
    l.coupled().factor(l.m.from);
    CHECK(l.coupled().project(v));
    for (size_t i = 0; i < v.size(); ++i) CHECK_NEAR(norm(v[i] - by_rattle[i]), 0, 1e-10);
    v[3].x = std::numeric_limits<double>::quiet_NaN();
    CHECK(!l.coupled().project(v));
    std::vector<Vec3d> correction(v.size());
    CHECK(!l.coupled().constrain(v, correction, l.m.system.atom_count(), 1e-10));
  }
}

// A flat square with both diagonals has a constraint that follows from the others.
void dependent_constraints_do_no_harm() {
  Random random(10);
  const std::vector<Vec3d> at{{0, 0, 0}, {0.2, 0, 0}, {0.2, 0.2, 0}, {0, 0.2, 0}};
  std::vector<GroupConstraint> list;
  for (int32_t i = 0, used = 0; i < 4; ++i)
    for (int32_t j = i + 1; j < 4; ++j) {
      list.push_back(
          {i, j, norm(at[static_cast<size_t>(i)] - at[static_cast<size_t>(j)]), 0, used});
      used += static_cast<int32_t>(list.size());
    }
  const std::vector<double> inverse_mass(4, 0.1);
  std::vector<double> rows(21), multiplier(6);
  std::vector<Vec3d> edge(6), v;
  for (size_t i = 0; i < 4; ++i) v.push_back(random_vector(random, 1));
  const CoupledConstraints<ConstraintSet> coupled{
      {list.data(), 6, inverse_mass.data()}, rows.data(), multiplier.data(), edge.data()};
  coupled.factor(at);
  CHECK(coupled.project(v));
  for (const GroupConstraint& c : list) {
    const auto i = static_cast<size_t>(c.first), j = static_cast<size_t>(c.second);
    CHECK_NEAR(dot(at[i] - at[j], v[i] - v[j]), 0, 1e-12);
  }
}

}  // namespace

int main() {
  return run_all({{"settle equals shake", settle_equals_shake},
                  {"settle leaves a rigid motion alone", settle_leaves_a_rigid_motion_alone},
                  {"shake converges and conserves", shake_converges_and_conserves},
                  {"stars equal shake", stars_equal_shake},
                  {"velocities of stars", velocities_of_stars},
                  {"hopeless cases end", hopeless_cases_end},
                  {"velocities of water", velocities_of_water},
                  {"large groups equal shake", large_groups_equal_shake},
                  {"velocities of large groups", velocities_of_large_groups},
                  {"dependent constraints do no harm", dependent_constraints_do_no_harm}});
}
