// SPDX-License-Identifier: Apache-2.0
// Bonded terms: the forms by finite differences, hard geometries included; placement and forces on
// the `cpu` device against the reference, for any threads, any cut into ranks and any patch grid.
#include <cmath>

#include "bonded_rank.h"
#include "check.h"
#include "computes/bonded/term_physics.h"
#include "device/host/kernels.h"
#include "math/error.h"

namespace quiltmd::test {
namespace {

// ---- forms ----

template <class Form>
double energy_at(const std::vector<Vec3d>& r, const double* parameters) {
  Vec3d b[Form::kAtoms - 1];
  for (int k = 0; k + 1 < Form::kAtoms; ++k) b[k] = r[k + 1] - r[k];
  const auto value = Form::template evaluate<double>(b, parameters);
  return value.energy[0] + value.energy[1];
}

template <class Form>
void check_gradient(const std::vector<Vec3d>& r, const double* parameters, double tolerance) {
  Vec3d b[Form::kAtoms - 1];
  Vec3<float> single[Form::kAtoms - 1];
  float single_parameters[4];
  for (int k = 0; k + 1 < Form::kAtoms; ++k) {
    b[k] = r[k + 1] - r[k];
    single[k] = {float(b[k].x), float(b[k].y), float(b[k].z)};
  }
  for (int p = 0; p < 4; ++p) single_parameters[p] = static_cast<float>(parameters[p]);
  const auto value = Form::template evaluate<double>(b, parameters);
  const auto rough = Form::template evaluate<float>(single, single_parameters);
  const double step = 1e-6;
  for (int a = 0; a + 1 < Form::kAtoms; ++a)
    for (int d = 0; d < 3; ++d) {
      std::vector<Vec3d> up = r, down = r;
      up[a][d] += step;
      down[a][d] -= step;
      const double slope =
          (energy_at<Form>(up, parameters) - energy_at<Form>(down, parameters)) / (2 * step);
      CHECK_NEAR(value.force[a][d], -slope, tolerance);
      CHECK_NEAR(rough.force[a][d], value.force[a][d], 1e-3 * (1 + std::fabs(value.force[a][d])));
    }
}

void forms_are_gradients() {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Vec3d> r;
    for (int a = 0; a < 4; ++a)
      r.push_back(Vec3d{0.12 * a, 0.07 * (a % 2), 0} + random_vector(random, 0.02));
    const double bond[4] = {0.11, 2e5, 0, 0}, angle[4] = {1.9, 400, 0, 0};
    const double torsion[4] = {double(1 + trial % 6), 7, 7 * std::cos(0.8), 7 * std::sin(0.8)};
    const double pair[4] = {-12, 0.2, 0.5, 0};
    check_gradient<BondForm>({r[0], r[1]}, bond, 1e-3);
    check_gradient<AngleForm>({r[0], r[1], r[2]}, angle, 1e-4);
    check_gradient<TorsionForm>(r, torsion, 1e-4);
    check_gradient<Pair14Form>({r[0], r[3]}, pair, 1e-4);
  }
}

// Four atoms with a given torsion angle.
std::vector<Vec3d> twisted(double phi) {
  return {{0.1, 0.05, 0}, {0, 0, 0}, {0, 0, 0.15}, {0.1 * std::cos(phi), 0.1 * std::sin(phi), 0.2}};
}

void torsion_follows_its_convention() {
  for (const double phi : {-2.9, -0.4, 0.0, 1e-9, 0.7, 3.1}) {
    std::vector<Vec3d> r = twisted(phi);
    r[0] = {0.1, 0, -0.03};
    for (const int n : {1, 2, 3, 6}) {
      const double p[4] = {double(n), 3, 3 * std::cos(0.6), 3 * std::sin(0.6)};
      CHECK_NEAR(energy_at<TorsionForm>(r, p), 3 * (1 + std::cos(n * phi - 0.6)), 1e-12);
    }
  }
}

void flat_and_straight_are_no_exceptions() {
  const double pi = kPi;
  for (const double phi : {0.0, 1e-12, 1e-5, pi - 1e-9, pi})
    for (const int n : {1, 2, 3}) {
      std::vector<Vec3d> r = twisted(phi);
      r[0] = {0.1, 0, -0.03};
      const double p[4] = {double(n), 3, 3 * std::cos(0.6), 3 * std::sin(0.6)};
      check_gradient<TorsionForm>(r, p, 1e-6);
    }
  // Straight angles at their minimum and away from it: finite, and right where defined.
  const double straight[4] = {pi, 500, 0, 0};
  for (const double bend : {1e-3, 1e-6, 0.0})
    check_gradient<AngleForm>({{-0.1, bend, 0}, {0, 0, 0}, {0.1, 0, 0}}, straight, 2e-2);
  const double bent[4] = {1.9, 500, 0, 0};
  for (const Vec3d first : {Vec3d{-0.1, 0, 0}, Vec3d{0.2, 0, 0}}) {
    const Vec3d b[2] = {-first, {0.1, 0, 0}};
    const auto value = AngleForm::evaluate<double>(b, bent);
    CHECK(std::isfinite(value.energy[0]) && std::isfinite(norm(value.force[0])));
  }
  const Vec3d in_line[3] = {{0.1, 0, 0}, {0.1, 0, 0}, {0.1, 0, 0}};
  const double p[4] = {2, 3, 3, 0};
  const auto value = TorsionForm::evaluate<double>(in_line, p);
  CHECK(std::isfinite(value.energy[0]) && std::isfinite(norm(value.force[1])));
}

// ---- kernels ----

BondedResult run_kernels(const BondedRun& run, const System& s, const std::vector<Vec3d>& positions,
                         int threads = 1) {
  HostDevice device(threads, host_kernels());
  return run_bonded(device, run, s, positions);
}

const Box kBoxes[] = {{3.1, 0, 3.4, 0, 0, 3.0}, {3.3, 0.9, 3.2, -1.0, 0.8, 3.1}};

void kernels_meet_reference() {
  for (const Box& box : kBoxes) {
    Random random(2);
    std::vector<Vec3d> positions;
    const System s = chains(40, 20, box, positions, random);
    const BondedResult result = run_kernels({box, 1, 1}, s, positions);
    Evaluation expected;
    reference_bonded(s, box, positions, expected);
    CHECK(result.faults.list_overflow == 0 && result.faults.blowup_atom == 0);
    const double rounding = s.bonds.size() / kEnergyScale;  // no kind has more terms
    for (const EnergyKind kind : {kBond, kAngle, kTorsion, kLj14, kCoulomb14})
      CHECK_NEAR(from_fixed(result.energy[kind], kEnergyScale), expected.energy[kind], rounding);
    CHECK_NEAR(virial_error(result.energy, expected), 0, 4 * rounding + 1e-6);
    for (int d = 0; d < 3; ++d) {
      int64_t sum = 0;
      for (size_t a = 0; a < positions.size(); ++a) {
        sum += result.force[d][a];
        const double force = expected.forces[a][d];
        CHECK_NEAR(from_fixed(result.force[d][a], kForceScale), force,
                   1e-7 + 1e-8 * std::fabs(force));
      }
      CHECK(sum == 0);
    }
  }
}

void nothing_depends_on_threads_or_ranks() {
  for (const Box& box : kBoxes) {
    Random random(3);
    std::vector<Vec3d> positions;
    const System s = chains(200, 12, box, positions, random);
    const BondedResult one = run_kernels({box, 1, 1}, s, positions);
    for (const int ranks : {1, 4, 7}) {
      const BondedResult other = run_kernels({box, 1, ranks}, s, positions, 1 + ranks % 3);
      CHECK(other.energy == one.energy);
      for (int d = 0; d < 3; ++d) CHECK(other.force[d] == one.force[d]);
    }
  }
}

// Smaller patches move patch centres, which double precision does not notice beyond its last bits.
void two_away_agrees() {
  Random random(4);
  std::vector<Vec3d> positions;
  const System s = chains(40, 12, kBoxes[1], positions, random);
  const BondedResult one = run_kernels({kBoxes[1], 1, 1}, s, positions);
  const BondedResult two = run_kernels({kBoxes[1], 2, 3}, s, positions);
  for (size_t a = 0; a < positions.size(); ++a)
    CHECK_NEAR(from_fixed(two.force[0][a] - one.force[0][a], kForceScale), 0, 1e-6);
}

void odd_periodicities_are_refused() {
  System s;
  for (int a = 0; a < 4; ++a) add_atom(s, 12);
  s.torsions.atoms.push_back({0, 1, 2, 3});
  s.torsions.parameters.push_back({2.5, 0, 1});
  bool refused = false;
  try {
    term_arrays(s);
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused);
}

}  // namespace
}  // namespace quiltmd::test

int main() {
  using namespace quiltmd::test;
  return run_all({{"forms are gradients", forms_are_gradients},
                  {"torsion follows its convention", torsion_follows_its_convention},
                  {"flat and straight are no exceptions", flat_and_straight_are_no_exceptions},
                  {"kernels meet reference", kernels_meet_reference},
                  {"nothing depends on threads or ranks", nothing_depends_on_threads_or_ranks},
                  {"two-away agrees", two_away_agrees},
                  {"odd periodicities are refused", odd_periodicities_are_refused}});
}
