// SPDX-License-Identifier: Apache-2.0
// Ranks make room for the pair lists that the system's mean density lets expect. Where matter is much
// denser, lists and their entries overflow, are made room for and built again, and not a bit changes.
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "check.h"
#include "decomposition/layout_math.h"
#include "device/host/kernels.h"
#include "one_rank.h"
#include "runtime/rank.h"
#include "transport/local/local_transport.h"
#include "verlet.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr double kBox = 4.2;

struct Prepared {
  Setup setup;
  HostState state;
  std::vector<double> atoms;  // by patch
};

// A gas that fills no more than the first part of the box.
Prepared make_gas() {
  Prepared p;
  System s;
  Random random(7);
  for (int n = 0; n < 4800; ++n) {
    add_atom(s, 12);
    p.state.positions.push_back({0.05 + 0.1 * (n / 400), 0.21 * (n / 20 % 20), 0.21 * (n % 20)});
    p.state.velocities.push_back(random_vector(random, 0.5));
  }
  s.pair_type_count = 1;
  s.pair_tables = {{1e-12}, {1e-6}};
  NonbondedSettings nonbonded;
  nonbonded.cutoff = 0.6;
  nonbonded.electrostatics = Electrostatics::kCutoff;
  nonbonded.alpha = 0;
  const IntegratorSettings integrator = velocity_verlet(0.0005);
  ListSettings lists;
  lists.life = 12;
  Box box{};
  box.ax = box.by = box.cz = kBox;
  p.setup = make_setup(with_groups(s), nonbonded, integrator, lists, PeriodicCell{box});
  p.atoms.resize(static_cast<size_t>(p.setup.grid.size()), 0);
  for (const Vec3d& x : p.state.positions)
    p.atoms[static_cast<size_t>(patch_of(p.setup.grid, x))] += 1;
  return p;
}

struct Outcome {
  std::vector<Vec3d> positions, velocities;  // by atom
  std::vector<size_t> first_lists, lists;    // room, by rank
  MessageRoom room = 0;                      // of messages
};

void add_owned(const SlotMemory& slots, Outcome& to) {
  const auto owned = static_cast<size_t>(slots.owned_slots.download()[0]);
  const auto atoms = slots.atom.download(owned);
  const auto x = slots.position().download(owned), v = slots.velocity().download(owned);
  for (size_t n = 0; n < owned; ++n) {
    if (atoms[n] < 0) continue;
    to.positions[static_cast<size_t>(atoms[n])] = x[n];
    to.velocities[static_cast<size_t>(atoms[n])] = v[n];
  }
}

// `expected`: atoms of patches, from which the first room of messages follows.
Outcome run(const Prepared& p, const Assignment& assignment, const std::vector<double>& expected) {
  const int ranks = assignment.ranks;
  const auto plans = plan_ranks(p.setup.grid, assignment, expected);
  auto ends = make_local_transport(ranks);
  std::vector<std::unique_ptr<HostDevice>> devices;
  std::vector<std::unique_ptr<Rank>> all;
  Outcome result;
  for (int r = 0; r < ranks; ++r) {
    devices.push_back(std::make_unique<HostDevice>(1, host_kernels()));
    all.push_back(std::make_unique<Rank>(p.setup, *devices.back(), *ends[static_cast<size_t>(r)],
                                         RankView{r, ranks, plans}));
    result.first_lists.push_back(all.back()->memory().lists->lists.size());
  }
  std::vector<std::thread> threads;
  for (auto& rank : all)
    threads.emplace_back([&] {
      rank->load(p.state);
      rank->run(30);
    });
  for (std::thread& thread : threads) thread.join();
  result.positions.resize(p.state.positions.size());
  result.velocities.resize(p.state.positions.size());
  for (const auto& rank : all) {
    add_owned(rank->memory().slots, result);
    result.lists.push_back(rank->memory().lists->lists.size());
    result.room = rank->view().room;
  }
  return result;
}

Outcome run(const Prepared& p, const Assignment& assignment) { return run(p, assignment, p.atoms); }

bool same_bits(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(Vec3d)) == 0;
}

void room_grows_and_bits_stay() {
  const Prepared p = make_gas();
  const std::vector<double> even(p.atoms.size(), 1.0);
  const Outcome one = run(p, ribbons(even, {1}));
  CHECK(one.lists == one.first_lists);
  for (const int ranks : {2, 3}) {
    const Outcome many = run(p, ribbons(even, {ranks}));
    CHECK(same_bits(many.positions, one.positions));
    CHECK(same_bits(many.velocities, one.velocities));
    CHECK(many.lists[0] > many.first_lists[0]);
    for (const size_t first : many.first_lists) CHECK(first < one.lists[0]);
  }
}

// Whichever of interior and boundary lists is too many.
void either_part_grows() {
  const Prepared p = make_gas();
  const std::vector<double> even(p.atoms.size(), 1.0);
  const Outcome one = run(p, ribbons(even, {1}));
  Assignment odd = ribbons(even, {3});  // no rank has all patches of any compute that has atoms
  for (size_t c = 0; c < odd.compute_rank.size(); ++c)
    odd.compute_rank[c] = odd.patch_rank[c] == 0 ? 1 : odd.patch_rank[c];
  const Outcome many = run(p, odd);
  CHECK(same_bits(many.positions, one.positions));
  CHECK(many.lists[0] == 0 && many.lists[1] > many.first_lists[1]);
}

// The atoms of each rank, expected in a patch of which no other rank gets a copy.
std::vector<double> expected_inside(const Prepared& p, const Assignment& assignment) {
  std::vector<double> expected(p.atoms.size(), 0.0);
  for (const RankPlan& plan : plan_ranks(p.setup.grid, assignment, p.atoms)) {
    std::set<int> inside(plan.owned.begin(), plan.owned.end());
    for (const Exchange& e : plan.sends)
      for (const int patch : e.patches) inside.erase(patch);
    for (const int patch : plan.owned)
      expected[static_cast<size_t>(*inside.begin())] += p.atoms[static_cast<size_t>(patch)];
  }
  return expected;
}

// Of a rebuild in which a rank finds that its lists have no room, and its messages none either: neither
// is forgotten over the other.
void messages_and_lists_grow_together() {
  const Prepared p = make_gas();
  Assignment two = ribbons(std::vector<double>(p.atoms.size(), 1.0), {2});
  for (int c = 0; c < p.setup.grid.size(); ++c)  // pairs of patches of which it has copies only
    if (cell_of(c, p.setup.grid.cells).y == 0) two.compute_rank[static_cast<size_t>(c)] = 1;
  const Outcome one = run(p, ribbons(p.atoms, {1}));
  const Outcome many = run(p, two, expected_inside(p, two));
  CHECK(many.room > 1);
  CHECK(many.lists[0] > many.first_lists[0]);
  CHECK(same_bits(many.positions, one.positions));
  CHECK(same_bits(many.velocities, one.velocities));
}

// 2^25 slots can be numbered: a rank has no more, and says what to do.
void no_rank_has_more_slots_than_numbers() {
  const Prepared p = make_gas();
  HostDevice device(1, host_kernels());
  RankMemory memory(p.setup, device);
  const size_t bytes = memory.slots.bytes();
  SlotRoom need = whole_system(p.setup.system, p.setup.grid);
  need.slots = (size_t{1} << 25) + 8;
  std::string message;
  try {
    memory.slots.make_room(need);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("33554440 slots, and a rank has at most 33554432") != std::string::npos);
  CHECK(message.find("use more ranks") != std::string::npos);
  CHECK(memory.slots.bytes() == bytes);
}

}  // namespace

int main() {
  return test::run_all(
      {{"room grows and bits stay", room_grows_and_bits_stay},
       {"either part grows", either_part_grows},
       {"messages and lists grow together", messages_and_lists_grow_together},
       {"no rank has more slots than numbers", no_rank_has_more_slots_than_numbers}});
}
