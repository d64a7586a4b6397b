// SPDX-License-Identifier: Apache-2.0
// On many ranks, groups migrate to ranks with patches beside their own: with the bits of one rank. A group that
// is farther away is a fault, on which all ranks agree.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "check.h"
#include "device/host/kernels.h"
#include "one_rank.h"
#include "runtime/describe_blowup.h"
#include "runtime/rank.h"
#include "transport/local/local_transport.h"
#include "verlet.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr double kBox = 5.4;
constexpr int kRanks = 27, kSteps = 60, kAtom = 4321;

struct Prepared {
  Setup setup;
  HostState state;
  std::vector<RankPlan> plans;
};

// An ideal gas, of which many atoms change patches in kSteps steps.
Prepared make_gas(int ranks) {
  Prepared p;
  System s;
  Random random(7);
  for (int n = 0; n < 18 * 18 * 18; ++n) {
    add_atom(s, 12);
    p.state.positions.push_back(0.3 * Vec3d{0.5 + n % 18, 0.5 + n / 18 % 18, 0.5 + n / 324});
    p.state.velocities.push_back(random_vector(random, 3));
  }
  s.pair_type_count = 1;
  s.pair_tables = {{0}, {0}};
  NonbondedSettings nonbonded;
  nonbonded.cutoff = 0.6;
  nonbonded.electrostatics = Electrostatics::kCutoff;
  nonbonded.alpha = 0;
  const IntegratorSettings integrator = velocity_verlet(0.002);
  p.setup = make_setup(with_groups(s), nonbonded, integrator, {},
                       PeriodicCell{{kBox, 0, kBox, 0, 0, kBox}});
  std::vector<double> atoms(static_cast<size_t>(p.setup.grid.size()), 0);
  for (const Vec3d& x : p.state.positions)
    atoms[static_cast<size_t>(patch_of(p.setup.grid, x))] += 1;
  p.plans = plan_ranks(p.setup.grid, bisect(p.setup.grid, atoms, {ranks}), atoms);
  return p;
}

void on_ranks(const Prepared& p, const std::function<void(Rank&)>& body) {
  const auto ranks = static_cast<int>(p.plans.size());
  auto ends = make_local_transport(ranks);
  std::vector<std::unique_ptr<HostDevice>> devices;
  std::vector<std::unique_ptr<Rank>> all;
  for (int r = 0; r < ranks; ++r) {
    devices.push_back(std::make_unique<HostDevice>(1, host_kernels()));
    all.push_back(std::make_unique<Rank>(p.setup, *devices.back(), *ends[static_cast<size_t>(r)],
                                         RankView{r, ranks, p.plans}));
  }
  std::vector<std::thread> threads;
  for (auto& rank : all)
    threads.emplace_back([&] {
      rank->load(p.state);
      body(*rank);
    });
  for (std::thread& thread : threads) thread.join();
}

std::vector<Vec3d> positions_after(const Prepared& p) {
  std::vector<Vec3d> positions(p.state.positions.size());
  on_ranks(p, [&](Rank& rank) {
    rank.run(kSteps);
    const SlotMemory& slots = rank.memory().slots;
    const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
    const auto atoms = slots.atom.download(owned);
    const auto x = slots.position().download(owned);
    for (size_t n = 0; n < owned; ++n)
      if (atoms[n] >= 0) positions[static_cast<size_t>(atoms[n])] = x[n];
  });
  return positions;
}

void migrants_go_to_neighbours() {
  const Prepared one = make_gas(1), many = make_gas(kRanks);
  const PatchGrid& grid = many.setup.grid;
  size_t fewer = 0;
  for (const RankPlan& plan : many.plans) fewer += plan.migrant_peers.size() < kRanks - 1;
  CHECK(fewer > 0);
  const auto expected = positions_after(one), found = positions_after(many);
  CHECK(std::memcmp(expected.data(), found.data(), found.size() * sizeof(Vec3d)) == 0);
  int moved = 0;
  for (size_t n = 0; n < found.size(); ++n)
    moved += patch_of(grid, found[n]) != patch_of(grid, many.state.positions[n]);
  CHECK(moved > 1000);
}

// Half a box away, and nothing else has noticed.
void far_migrants_are_told() {
  const Prepared p = make_gas(64);
  HostState moved = p.state;
  moved.positions[kAtom] += Vec3d{kBox / 2, kBox / 2, kBox / 2};
  std::vector<std::optional<Blowup>> told(p.plans.size());
  on_ranks(p, [&](Rank& rank) {
    rank.place(moved.positions);
    try {
      rank.relist();
    } catch (const Blowup& blowup) {
      told[static_cast<size_t>(rank.index())] = blowup;
    }
  });
  for (const auto& blowup : told)
    CHECK(blowup && blowup->atom == kAtom && blowup->cause == Blowup::Cause::kFarMigrant);
  if (!told[0]) return;
  const std::string text = describe_blowup(p.setup, p.state, *told[0]);
  CHECK(text.find("at atom " + std::to_string(p.setup.system.input_index[kAtom])) !=
        std::string::npos);
  CHECK(text.find("past all neighbouring patches") != std::string::npos);
}

}  // namespace

int main() {
  alarm(100);  // a message that never comes fails the test instead of blocking it
  return run_all({{"migrants go to neighbours", migrants_go_to_neighbours},
                  {"far migrants are told", far_migrants_are_told}});
}
