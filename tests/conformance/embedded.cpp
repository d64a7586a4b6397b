// SPDX-License-Identifier: Apache-2.0
// Embedded atoms: forces, energies and virial are the reference's; shells, slots and repetition change no bit.
#include "computes/embedded/embedded_memory.h"

#include <algorithm>
#include <cmath>

#include "computes/embedded/reference.h"
#include "pair_rank.h"
#include "suites.h"
#include "virial.h"

namespace quiltmd::test {
namespace {

const Box kBox{2.2, 0.5, 2.0, -0.4, 0.6, 2.1};
constexpr double kCutoff = 0.5;

// A function that ends smoothly at the cutoff.
double falling(double r, double strength, double decay) {
  const double rest = std::max(1 - r * r / (kCutoff * kCutoff), 0.0);
  return strength * std::exp(-decay * r) * rest * rest * rest;
}

EmbeddedAtoms functions(int types, int atoms) {
  EmbeddedAtoms e;
  e.types = types;
  e.cutoff = kCutoff;
  e.spacing = kCutoff / 400;
  e.density_step = 0.05;
  for (int a = 0; a < atoms; ++a) e.type_of_atom.push_back(a % types);
  for (int first = 0; first < types; ++first)
    for (int second = 0; second < types; ++second)
      for (int point = 0; point <= 400; ++point) {
        const double r = point * e.spacing;
        e.densities.push_back(falling(r, 30 + 10 * first + 4 * second, 12));
        e.pairs.push_back(r * falling(r, 3e4 + 4e3 * (first + second), 20));
      }
  for (int type = 0; type < types; ++type)
    for (int point = 0; point <= 500; ++point)
      e.embedding.push_back(-(60 + 15 * type) * std::sqrt(point * e.density_step + 0.2));
  return e;
}

// Atoms of so many types on a displaced lattice.
Molecules metal(int types) {
  constexpr int kEdge = 9;
  Random random(static_cast<uint64_t>(types));
  Molecules m;
  m.box = kBox;
  for (int n = 0; n < kEdge * kEdge * kEdge; ++n) {
    const double place[] = {double(n % kEdge), double(n / kEdge % kEdge),
                            double(n / (kEdge * kEdge))};
    m.positions.push_back(
        kBox.to_cartesian({place[0] / kEdge, place[1] / kEdge, place[2] / kEdge}) +
        random_vector(random, 0.015));
    add_atom(m.system, 60);
  }
  m.system = with_groups(m.system);
  m.system.pair_type_count = 1;
  m.system.pair_tables = {{0}, {0}};
  m.system.embedded = functions(types, m.system.atom_count());
  return m;
}

class EmbeddedRank : public PairRank {
 public:
  EmbeddedRank(Device& on, const Molecules& m, const Choices& choices)
      : PairRank(on, m, choices), embedded(*this, lists) {
    build();
    embedded.set_plan(plan());
    for (const Work& work : embedded.rebuild_work()) work.launch(Stream::kMain, 0);
  }

  void evaluate(Energies energies, int shell = kShells - 1) {
    device.fill(force.data(), 0, force.bytes(), Stream::kMain);
    clear_energy();
    std::vector<Work> steps = embedded.step_work(energies);
    std::ranges::stable_sort(steps, {}, &Work::phase);
    for (const Work& work : steps) work.launch(Stream::kMain, shell);
  }

  EmbeddedMemory embedded;
};

PairRank::Choices choices() {
  PairRank::Choices choices;
  choices.settings.electrostatics = Electrostatics::kCutoff;
  choices.settings.cutoff = kCutoff;
  choices.reach = 0.6;
  return choices;
}

void forces_meet_the_reference(Pair devices) {
  for (const int types : {1, 3}) {
    const Molecules m = metal(types);
    Evaluation exact{std::vector<Vec3d>(m.positions.size())};
    reference_embedded({m.system, {}, m.box, true, m.positions}, exact);
    EmbeddedRank rank(devices.device, m, choices());
    for (int repeat = 0; repeat < 2; ++repeat) {
      rank.evaluate(Energies::kAdd);
      CHECK_NEAR(force_error(rank.forces(), exact.forces), 0, 4e-6);
      CHECK_NEAR(rank.energy_of(kManyBody) / exact.energy[kManyBody], 1, 1e-6);
      CHECK_NEAR(virial_error(rank.energy.download(), exact) / exact.energy[kManyBody], 0, 1e-6);
    }
  }
}

// Whatever the slots, the shells that are evaluated, and whether energies are asked for; and zero in sum.
void bits_depend_on_nothing(Pair devices) {
  for (const int types : {1, 3}) {
    const Molecules m = metal(types);
    PairRank::Choices moved = choices();
    moved.gap = 1600;
    EmbeddedRank a(devices.device, m, choices()), b(devices.device, m, moved);
    a.evaluate(Energies::kSkip);
    b.evaluate(Energies::kAdd, 0);
    for (int axis = 0; axis < 3; ++axis) {
      const auto fa = a.by_atom(a.fixed_forces(axis)), fb = b.by_atom(b.fixed_forces(axis));
      CHECK(fa == fb);
      int64_t sum = 0;
      for (const int64_t f : fa) sum += f;
      CHECK(sum == 0);
    }
    a.evaluate(Energies::kAdd);
    CHECK(a.energy.download() == b.energy.download());
  }
}

void overlapping_atoms_stay_finite(Pair devices) {
  Molecules m = metal(1);
  m.positions[1] = m.positions[0];
  m.positions[3] = m.positions[2] + Vec3d{1e-4, 0, 0};
  EmbeddedRank rank(devices.device, m, choices());
  rank.evaluate(Energies::kAdd);
  int64_t sum = 0;
  for (const int64_t f : rank.fixed_forces(0)) sum += f;
  CHECK(sum == 0);
  CHECK(std::isfinite(norm(rank.forces()[0])));
}

}  // namespace

std::vector<Case> embedded_cases(Pair devices) {
  return {
      {"embedded atoms meet the reference", [devices] { forces_meet_the_reference(devices); }},
      {"bits of embedded atoms depend on nothing", [devices] { bits_depend_on_nothing(devices); }},
      {"overlapping embedded atoms stay finite",
       [devices] { overlapping_atoms_stay_finite(devices); }}};
}

}  // namespace quiltmd::test
