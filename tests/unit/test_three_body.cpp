// SPDX-License-Identifier: Apache-2.0
// Three-body potentials: a lane for each neighbour finds the forces and the energy that a loop over all finds.
#include <random>

#include "check.h"
#include "computes/three_body/forms.h"

namespace quiltmd::test {
namespace {

using Random = std::mt19937_64;

// Parameters of triplets of two types, alike for both orders of the neighbours.
std::vector<double> parameters_of(const StillingerWeber&, int pair, int both) {
  return {200.0 + 10 * both, 0.2 + 0.01 * pair, 1.8, 20.0 + both, 1.2,
          -1.0 / 3,          7 + 0.5 * pair,    0.6, 4,           0.5};
}
std::vector<double> parameters_of(const Tersoff&, int pair, int both) {
  return {both ? 1.0 : 3.0,
          1,
          both ? 10.0 : 4.0,
          5,
          2,
          -0.3 - 0.1 * both,
          0.8,
          1.1,
          17,
          2e4,
          0.3 + 0.02 * pair,
          0.04,
          27,
          1e5 + 1e4 * pair};
}

template <class Form>
void lanes_find_what_a_loop_finds() {
  constexpr int kTypes = 2;
  std::vector<typename Form::Row> rows;
  for (int j = 0; j < kTypes; ++j)
    for (int k = 0; k < kTypes; ++k)
      rows.push_back(Form::row(parameters_of(Form{}, j, j + k).data()));
  Random random(7);
  std::normal_distribution<double> normal(0, 0.2);
  for (int count = 0; count < 12; ++count) {
    std::vector<Neighbour> near;
    while (static_cast<int>(near.size()) < count) {
      const Vec3d d{normal(random), normal(random), normal(random)};
      if (norm(d) < 0.18) continue;
      near.push_back({{d, norm(d), static_cast<int>(near.size()) % kTypes, near.size() % 3 != 0}});
    }
    const std::vector<NeighbourPlace> lanes(near.begin(), near.end());
    const RowsOfCentre<typename Form::Row> of{rows.data(), kTypes};
    const double expected = Form::add(of, near);
    std::vector<typename Form::Bond> bonds;
    for (int j = 0; j < count; ++j) bonds.push_back(Form::bond(of, lanes.data(), count, j));
    double energy = 0;
    for (int j = 0; j < count; ++j) {
      Neighbour own{lanes[static_cast<size_t>(j)]};
      energy += Form::add_to_one(of, lanes.data(), bonds.data(), count, j, own);
      const Vec3d wanted = near[static_cast<size_t>(j)].force;
      CHECK_NEAR(norm(own.force - wanted), 0, 1e-10 * (1 + norm(wanted)));
    }
    CHECK_NEAR(energy, expected, 1e-10 * (1 + std::abs(expected)));
  }
}

}  // namespace
}  // namespace quiltmd::test

int main() {
  using namespace quiltmd;
  using namespace quiltmd::test;
  std::vector<Case> cases;
  ThreeBodyForms::for_each(
      [&]<class Form>() { cases.push_back({Form::kName, lanes_find_what_a_loop_finds<Form>}); });
  return run_all(cases);
}
