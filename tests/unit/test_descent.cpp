// SPDX-License-Identifier: Apache-2.0
// Minimisation without ranks: springs to places, whose minimum with and without a constraint is known.
#include "runtime/descent.h"

#include "check.h"
#include "math/error.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr double kSpring = 1000;  // kJ/mol/nm^2
const std::vector<Vec3d> kPlaces{{0, 0, 0}, {0.3, 0, 0}, {1, 1, 1}};

// E = k/2 sum |r - place|^2
Descent::Values springs(const std::vector<Vec3d>& positions) {
  Descent::Values found;
  for (size_t i = 0; i < positions.size(); ++i) {
    const Vec3d d = positions[i] - kPlaces[i];
    found.forces.push_back(-kSpring * d);
    found.energy += 0.5 * kSpring * dot(d, d);
  }
  return found;
}

System three_atoms() {
  System s;
  for (const double mass : {12.0, 1.0, 16.0}) add_atom(s, mass);
  return s;
}

int descend(Descent& descent, double tolerance) {
  int steps = 0;
  for (; steps < 100 && descent.largest_force() > tolerance; ++steps) {
    const double before = descent.energy();
    descent.step();
    CHECK(descent.energy() <= before * (1 + 1e-6));
  }
  return steps;
}

void free_atoms_reach_their_places() {
  const System system = with_groups(three_atoms());
  Descent descent(system, 1e-8, springs, {{0.2, 0, 0}, {0.3, 0.1, 0}, {0.9, 1.1, 1}});
  CHECK(descend(descent, 1e-3) < 100);
  for (size_t i = 0; i < kPlaces.size(); ++i)
    CHECK(norm(descent.positions()[i] - kPlaces[i]) < 1e-5);
}

// Held 0.1 nm apart, atoms whose places are 0.3 nm apart are 0.1 nm from these: E = k/2 (2 x 0.1^2).
void constraints_hold() {
  System given = three_atoms();
  constrain(given, 0, 1, 0.1);
  const System system = with_groups(given);
  Descent descent(system, 1e-8, springs, {{0.2, 0.03, 0}, {0.25, 0.1, 0}, {1, 1, 1}});
  CHECK(descend(descent, 1e-2) < 100);
  CHECK_NEAR(norm(descent.positions()[0] - descent.positions()[1]), 0.1, 1e-6);
  CHECK_NEAR(descent.energy(), kSpring * 0.01, 1e-4);
}

// Moves shrink until they say no more where every one of them raises the energy.
void hopeless_descents_end() {
  const System system = with_groups(three_atoms());
  int calls = 0;
  const auto rising = [&](const std::vector<Vec3d>& positions) {
    Descent::Values found = springs(positions);
    found.energy = ++calls;
    return found;
  };
  Descent descent(system, 1e-8, rising, {{0.2, 0, 0}, {0.3, 0, 0}, {1, 1, 1}});
  for (int k = 0; k < 20 && !descent.is_stuck(); ++k) descent.step();
  CHECK(descent.is_stuck());
  CHECK(descent.positions()[0].x == 0.2 && descent.energy() == 1);
}

}  // namespace

int main() {
  return run_all({{"free atoms reach their places", free_atoms_reach_their_places},
                  {"constraints hold", constraints_hold},
                  {"hopeless descents end", hopeless_descents_end}});
}
