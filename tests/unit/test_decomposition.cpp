// SPDX-License-Identifier: Apache-2.0
// Patches and who has them: the half shell names every pair of patches once, plans of all ranks fit
// together, and refinement takes work from the busiest.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "check.h"
#include "computes/lists/entry_room.h"
#include "decomposition/exchange_memory.h"
#include "decomposition/faults.h"
#include "decomposition/refinement.h"
#include "decomposition/slots.h"
#include "math/error.h"

namespace quiltmd {
namespace {

const Box kSlanted{6.0, 1.5, 5.0, -2.0, 1.0, 4.0};

constexpr Int3 kReaches[] = {kOneAway, {2, 1, 1}, {2, 2, 1}, kTwoAway};

std::vector<PatchGrid> some_grids() {
  std::vector<PatchGrid> grids;
  for (const Int3 patch_reach : kReaches)
    for (const double reach : {0.9, 1.3, 1.9, 2.4})
      grids.push_back(make_patch_grid(kSlanted, 0.8, reach, patch_reach));
  return grids;
}

std::vector<double> random_weights(const PatchGrid& grid, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 2);
  std::vector<double> weights(static_cast<size_t>(grid.size()));
  for (double& w : weights) w = uniform(random);
  return weights;
}

// The patches are as wide as the reach of the lists asks for.
void patches_are_wide_enough() {
  for (const double reach : {0.9, 1.3, 1.9, 2.4}) {
    for (const Int3 patch_reach : kReaches) {
      const PatchGrid grid = make_patch_grid(kSlanted, 0.8, reach, patch_reach);
      const Vec3d widths = grid.box.widths();
      for (int d = 0; d < 3; ++d)
        CHECK(patch_reach[d] * widths[d] / grid.cells[d] >= reach - 1e-12);
    }
  }
}

// Of an offset and its opposite, exactly one is in the half shell.
void half_shell_is_half() {
  for (const PatchGrid& grid : some_grids()) {
    std::set<std::array<int, 3>> seen;
    for (const Int3& o : grid.offsets) {
      CHECK(seen.insert({o.x, o.y, o.z}).second);
      CHECK(seen.insert({-o.x, -o.y, -o.z}).second || (o.x == 0 && o.y == 0 && o.z == 0));
    }
    const Int3 a = grid.patch_reach;
    CHECK(static_cast<int>(seen.size()) == (2 * a.x + 1) * (2 * a.y + 1) * (2 * a.z + 1));
  }
}

// The shift of a code leads from a patch's centre to its neighbour's, but for whole cells.
void shifts_lead_to_neighbours() {
  for (const PatchGrid& grid : some_grids()) {
    const auto centre = [&](int patch) {
      const Int3 c = grid.cell(patch);
      return grid.box.to_cartesian(
          {(c.x + 0.5) / grid.cells.x, (c.y + 0.5) / grid.cells.y, (c.z + 0.5) / grid.cells.z});
    };
    for (int p = 0; p < grid.size(); ++p) {
      CHECK(patch_of(grid, centre(p)) == p);
      for (int code = 0; code < grid.codes(); ++code) {
        const Vec3d reached = centre(p) + grid.shifts[static_cast<size_t>(code)];
        CHECK(patch_of(grid, reached) == grid.neighbour(p, code));
      }
    }
  }
}

// Codes behind those of the half shell lead to the opposite sides.
void full_shell_is_both_halves() {
  for (const PatchGrid& grid : some_grids()) {
    CHECK(grid.full_codes() == 2 * grid.codes() - 1);
    CHECK(grid.full_codes() <= kMaxCodes);
    for (int p = 0; p < grid.size(); ++p)
      for (int code = 1; code < grid.codes(); ++code)
        CHECK(grid.neighbour(grid.neighbour(p, code), code + grid.codes() - 1) == p);
  }
}

// Where ranks hold full shells, all patches around a compute are theirs or proxies, and interior computes have
// none but theirs.
void ranks_hold_full_shells() {
  PatchGrid grid = make_patch_grid({8, 0, 8, 0, 0, 8}, 0.9, 1.0, kOneAway);
  grid.holds = Holds::kFullShell;
  const std::vector<double> even(static_cast<size_t>(grid.size()), 1.0);
  for (const RankPlan& plan : plan_ranks(grid, bisect(grid, even, {5}), even)) {
    CHECK(plan.interior > 0 && plan.interior < static_cast<int>(plan.computes.size()));
    for (size_t n = 0; n < plan.computes.size(); ++n)
      for (int code = 0; code < grid.full_codes(); ++code) {
        const int patch = grid.neighbour(plan.computes[n], code);
        const bool owned = std::ranges::binary_search(plan.owned, patch);
        CHECK(owned || (static_cast<int>(n) >= plan.interior &&
                        std::ranges::binary_search(plan.proxies, patch)));
      }
  }
}

// A box that changes by a hundredth at a time, there and back: cells are never too narrow, become more
// with 3 % to spare only, and a box as before has the cells that it had.
void cells_change_with_room_to_spare() {
  constexpr double kReach = 1.0;
  const auto grid_of = [](double edge, std::optional<Int3> before) {
    return make_patch_grid({edge, 0, edge, 0, 0, edge}, 0.5, kReach, kOneAway, 0, before).cells;
  };
  std::optional<Int3> cells;
  int changes = 0;
  for (int n = 0; n <= 400; ++n) {
    const double edge = 3.005 + 0.01 * (n <= 200 ? n : 400 - n);
    const Int3 now = grid_of(edge, cells);
    CHECK(now.x * kReach <= edge && grid_of(edge, now) == now);
    if (cells && now != *cells) {
      ++changes;
      CHECK(now.x < cells->x ? edge < cells->x * kReach : edge >= 1.03 * now.x * kReach);
    }
    cells = now;
  }
  CHECK(changes == 2 * (static_cast<int>(5.005 / 1.03) - 3));
  const Int3 finest{3, 3, 3}, kept{3, 4, 4};
  CHECK(grid_of(3.005, {}) == finest && grid_of(4.05, {{3, 4, 5}}) == kept);
}

// Patches are widened until they have some 12 atoms, by twice at most; with more than that they stay as they are.
void thinly_filled_patches_are_wider() {
  const auto cells_of = [](double edge, int64_t atoms, std::optional<Int3> before = {}) {
    return make_patch_grid({edge, 0, edge, 0, 0, edge}, 0.4, 0.5, kOneAway, 0, before, atoms)
        .cells.x;
  };
  constexpr double kEdge = 12.01;
  CHECK(cells_of(kEdge, 0) == 24);
  for (const int cells : {23, 20, 17, 13}) {  // boxes of a little more than 12 atoms for each patch
    const int64_t atoms = 12 * cells * cells * cells + 12;
    CHECK(cells_of(kEdge, atoms) == cells);
    CHECK(cells_of(kEdge, atoms, {{cells, cells, cells}}) == cells);
  }
  CHECK(cells_of(kEdge, 12 * 24 * 24 * 24 + 12) == 24 && cells_of(kEdge, 1'000'000) == 24);
  CHECK(cells_of(kEdge, 100) == 12);  // a drop in an empty box
}

// Patches have room for large groups as far as these extend. They stay as long as they have, however much the box
// grows; a group that is too large for the box is refused.
void patches_have_room_for_large_groups() {
  constexpr double kReach = 1.2, kRadius = 0.1;
  for (const Int3 patch_reach : {kOneAway, kTwoAway})
    for (const double extent : {0.1, 0.5, 0.9, 1.4}) {
      const auto grid_of = [&](double edge, std::optional<Int3> cells) {
        const Box box{edge, 0, edge, 0, 0, 1.5 * edge};
        return with_room_for_groups(make_patch_grid(box, 0.5, kReach, patch_reach, 0.7), kRadius,
                                    extent, cells);
      };
      const PatchGrid grid = grid_of(6.0, {});
      const double needed = kReach + 2 * (extent - kRadius);
      CHECK(grid.rule.room(grid.box, grid.cells) >= extent);
      CHECK(patch_reach.x * 6.0 / grid.cells.x >= needed);
      CHECK(norm(grid.shifts[1] - patch_shift(grid.box, grid.cells, grid.offsets[1])) == 0);
      CHECK(grid_of(9.0, grid.cells).cells == grid.cells);
      CHECK(grid.rule.cells({9, 0, 9, 0, 0, 13}, grid.cells) == grid.cells);
      const PatchGrid shrunk = grid_of(4.5, grid.cells);
      CHECK(shrunk.rule.room(shrunk.box, shrunk.cells) >= extent);
    }
  std::string text;
  try {
    with_room_for_groups(make_patch_grid({3, 0, 3, 0, 0, 3}, 0.5, kReach, kOneAway), kRadius, 1.1,
                         {});
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text.find("1.100 nm") != std::string::npos && text.find("1.000 nm") != std::string::npos);
}

void small_boxes_are_refused() {
  bool refused = false;
  try {
    make_patch_grid({2.0, 0, 2.0, 0, 0, 1.5}, 0.8, 1.0, kOneAway);
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused);
}

// Of more patches than can be numbered, even than an int counts, nothing is made.
void large_boxes_are_refused() {
  for (const double edge : {600.0, 5000.0, 1e12}) {
    std::string message;
    try {
      make_patch_grid({edge, 0, edge, 0, 0, edge}, 0.9, 1.0, kOneAway);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(message.starts_with("the box is too large"));
  }
}

// Every patch and compute has one rank; with even weights no rank has much more than its share.
void bisection_covers_all() {
  for (const PatchGrid& grid : some_grids()) {
    for (const int ranks : {1, 2, 3, 7, 64, 1000}) {
      const Assignment a = bisect(grid, random_weights(grid, 1), {ranks});
      CHECK(static_cast<int>(a.patch_rank.size()) == grid.size());
      CHECK(a.compute_rank == a.patch_rank);
      for (const int rank : a.patch_rank) CHECK(rank >= 0 && rank < ranks);
    }
  }
  const PatchGrid odd = make_patch_grid({11, 0, 11, 0, 0, 11}, 0.9, 1.0, kOneAway);
  for (const int ranks : {3, 10, 50}) {
    const Assignment a = bisect(odd, std::vector<double>(1331, 1.0), {ranks});
    for (int r = 0; r < ranks; ++r)
      CHECK_NEAR(std::count(a.patch_rank.begin(), a.patch_rank.end(), r), 1331.0 / ranks, 2.0);
  }
  const PatchGrid grid = make_patch_grid({8, 0, 8, 0, 0, 8}, 0.9, 1.0, kOneAway);
  CHECK(grid.size() == 512);
  for (const int ranks : {2, 4, 8, 16}) {
    const std::vector<double> even(512, 1.0);
    const Assignment a = bisect(grid, even, {ranks});
    for (int r = 0; r < ranks; ++r)
      CHECK(std::count(a.patch_rank.begin(), a.patch_rank.end(), r) == 512 / ranks);
  }
}

// Rank after rank in the order of the patches, each within half a patch at both ends of its share.
void ribbons_are_even() {
  for (const PatchGrid& grid : some_grids())
    for (const int ranks : {1, 2, 3, 7, 64, 1000}) {
      const std::vector<double> weights = random_weights(grid, 4);
      const Assignment a = ribbons(weights, {ranks});
      CHECK(static_cast<int>(a.patch_rank.size()) == grid.size());
      CHECK(a.compute_rank == a.patch_rank);
      CHECK(std::is_sorted(a.patch_rank.begin(), a.patch_rank.end()));
      CHECK(a.patch_rank.front() >= 0 && a.patch_rank.back() < ranks);
      const double share = std::accumulate(weights.begin(), weights.end(), 0.0) / ranks;
      const double largest = *std::max_element(weights.begin(), weights.end());
      std::vector<double> own(static_cast<size_t>(ranks), 0.0);
      for (size_t p = 0; p < weights.size(); ++p)
        own[static_cast<size_t>(a.patch_rank[p])] += weights[p];
      for (const double atoms : own) CHECK(std::abs(atoms - share) <= 1.000001 * largest);
    }
  const PatchGrid grid = make_patch_grid({11, 0, 11, 0, 0, 11}, 0.9, 1.0, kOneAway);
  const std::vector<double> none(static_cast<size_t>(grid.size()), 0.0);
  CHECK(ribbons(none, {3}).patch_rank == std::vector<int>(none.size(), 0));
}

double most_held(const PatchGrid& grid, const Assignment& a) {
  size_t most = 0;
  for (const RankPlan& plan :
       plan_ranks(grid, a, std::vector<double>(static_cast<size_t>(grid.size()), 1.0)))
    most = std::max(most, plan.owned.size() + plan.proxies.size());
  return static_cast<double>(most);
}

// Ribbons have proxies on one side: of a few ranks none holds more than in blocks. Both are as even as
// whole patches allow, also where a layer of patches is no whole number of shares.
void patches_are_shared_well() {
  const PatchGrid grid = make_patch_grid({11, 0, 11, 0, 0, 11}, 0.9, 1.0, kOneAway);
  const std::vector<double> even(static_cast<size_t>(grid.size()), 1.0);
  CHECK(grid.size() == 1331);
  for (const int ranks : {2, 3, 4, 64}) {
    const Assignment strips = ribbons(even, {ranks}), blocks = bisect(grid, even, {ranks});
    const double of_strips = most_held(grid, strips), of_blocks = most_held(grid, blocks);
    CHECK(ranks < 4    ? of_strips <= of_blocks
          : ranks == 4 ? of_strips < of_blocks
                       : of_strips > of_blocks);
    for (const Assignment* one : {&strips, &blocks})
      for (int r = 0; r < ranks; ++r)
        CHECK_NEAR(
            1.0 * ranks / 1331 *
                static_cast<double>(std::count(one->patch_rank.begin(), one->patch_rank.end(), r)),
            1.0, ranks < 5 ? 0.01 : 0.1);
  }
  const auto plans = plan_ranks(grid, ribbons(even, {11}), even);
  for (int r = 0; r < 11; ++r) {  // a layer each, and the next one as proxies
    const RankPlan& plan = plans[static_cast<size_t>(r)];
    CHECK(plan.receives.size() == 1 && plan.receives[0].rank == (r + 1) % 11);
    CHECK(plan.proxies.size() == 121);
  }
}

// Atoms migrate between patches that touch, whichever rank has the computes: layers of ten ranks
// touch those of two others, and of two ranks the patches on both sides of two faces count.
void borders_are_where_patches_touch() {
  const PatchGrid grid = make_patch_grid({10, 0, 5, 0, 0, 5}, 0.9, 1.0, kOneAway);
  CHECK(grid.cells == (Int3{10, 5, 5}));
  std::vector<double> atoms(static_cast<size_t>(grid.size()));
  for (size_t p = 0; p < atoms.size(); ++p) atoms[p] = grid.cell(static_cast<int>(p)).x + 1;
  const std::vector<double> even(atoms.size(), 1.0);
  Assignment layers = ribbons(even, {10});
  std::fill(layers.compute_rank.begin(), layers.compute_rank.end(), 0);
  const auto plans = plan_ranks(grid, layers, atoms);
  const std::map<int, int> around_4{{3, 25 * (4 + 5)}, {5, 25 * (5 + 6)}};
  const std::map<int, int> around_0{{1, 25 * (1 + 2)}, {9, 25 * (10 + 1)}};
  CHECK(plans[4].border_atoms == around_4);
  CHECK(plans[0].border_atoms == around_0);
  const auto halves = plan_ranks(grid, ribbons(even, {2}), atoms);
  CHECK(halves[0].border_atoms.at(1) == 25 * (1 + 5 + 6 + 10));
  CHECK(halves[1].border_atoms.at(0) == halves[0].border_atoms.at(1));
}

// Messages of migrants have room for a part of what is beside other ranks, and for some from any rank.
void few_atoms_migrate() {
  RankPlan plan;
  plan.border_atoms[1] = 48'000;
  const MigrantRoom beside = migrant_room(plan, 1, 300'000, 900'000, 1);
  CHECK(beside.groups == 1000 && beside.atoms == 4000);
  CHECK(migrant_room(plan, 1, 300'000, 900'000, 2).groups == 2000);
  CHECK(migrant_room(plan, 2, 300'000, 900'000, 1).groups == 256);
  const MigrantRoom all = migrant_room(plan, 2, 100, 300, 1);
  CHECK(all.groups == 100 && all.atoms == 300);
}

void check_plan(const PatchGrid& grid, const Assignment& a, int rank, const RankPlan& plan) {
  const std::set<int> owned(plan.owned.begin(), plan.owned.end());
  const std::set<int> proxies(plan.proxies.begin(), plan.proxies.end());
  std::set<int> needed;
  for (size_t i = 0; i < plan.computes.size(); ++i) {
    const int compute = plan.computes[i];
    CHECK(a.compute_rank[static_cast<size_t>(compute)] == rank);
    bool interior = true;
    for (int code = 0; code < grid.codes(); ++code) {
      const int p = grid.neighbour(compute, code);
      if (owned.count(p)) continue;
      interior = false;
      needed.insert(p);
    }
    CHECK(interior == (static_cast<int>(i) < plan.interior));
  }
  CHECK(needed == proxies);
  std::vector<int> received;
  for (const Exchange& from : plan.receives) {
    CHECK(from.rank != rank && !from.patches.empty());
    for (const int p : from.patches) CHECK(a.patch_rank[static_cast<size_t>(p)] == from.rank);
    received.insert(received.end(), from.patches.begin(), from.patches.end());
  }
  std::sort(received.begin(), received.end());
  CHECK(received == plan.proxies);
}

void check_plans(const PatchGrid& grid, const Assignment& a) {
  const std::vector<RankPlan> plans =
      plan_ranks(grid, a, std::vector<double>(static_cast<size_t>(grid.size()), 10.0));
  std::vector<int> owned, computes;
  std::map<std::pair<int, int>, std::vector<int>> sent, received;
  for (int r = 0; r < a.ranks; ++r) {
    const RankPlan& plan = plans[static_cast<size_t>(r)];
    check_plan(grid, a, r, plan);
    owned.insert(owned.end(), plan.owned.begin(), plan.owned.end());
    computes.insert(computes.end(), plan.computes.begin(), plan.computes.end());
    for (const Exchange& e : plan.sends) sent[{r, e.rank}] = e.patches;
    for (const Exchange& e : plan.receives) received[{e.rank, r}] = e.patches;
  }
  CHECK(sent == received);
  std::vector<int> all(static_cast<size_t>(grid.size()));
  std::iota(all.begin(), all.end(), 0);
  std::sort(owned.begin(), owned.end());
  std::sort(computes.begin(), computes.end());
  CHECK(owned == all);
  CHECK(computes == all);
}

double atom_hops(const PatchGrid& grid, const Assignment& a, const MachineShape& machine) {
  double sum = 0;
  const auto plans =
      plan_ranks(grid, a, std::vector<double>(static_cast<size_t>(grid.size()), 1.0));
  for (int r = 0; r < machine.ranks; ++r)
    for (const Exchange& e : plans[static_cast<size_t>(r)].receives)
      sum += e.atoms * machine.hops(r, e.rank);
  return sum;
}

// Links of a torus, nodes of several ranks: shortest ways, the last dimension fastest.
void hops_are_shortest() {
  const MachineShape torus{60, 1, {3, 4, 5}};
  const auto at = [](int x, int y, int z) { return (x * 4 + y) * 5 + z; };
  CHECK(torus.hops(at(0, 0, 0), at(0, 0, 4)) == 1 && torus.hops(at(0, 0, 0), at(0, 0, 2)) == 2);
  CHECK(torus.hops(at(0, 1, 0), at(0, 3, 0)) == 2 && torus.hops(at(0, 3, 0), at(0, 0, 0)) == 1);
  CHECK(torus.hops(at(2, 3, 4), at(0, 0, 0)) == 3 && torus.hops(at(1, 1, 1), at(1, 1, 1)) == 0);
  const MachineShape hosts{24, 8};
  CHECK(hosts.hops(0, 7) == 0 && hosts.hops(7, 8) == 1 && hosts.hops(0, 23) == 1);
  CHECK(!hosts.is_flat() && !torus.is_flat() && MachineShape{24}.is_flat());
}

// On a torus neighbours among patches are neighbours among nodes, and hosts share whole blocks; all
// patches have an owner that exists, also where nodes are left over.
void assignments_follow_the_machine() {
  const PatchGrid grid = make_patch_grid({8, 0, 8, 0, 0, 8}, 0.9, 1.0, kOneAway);
  const std::vector<double> even(512, 1.0);
  const MachineShape torus{512, 1, {8, 8, 8}};
  const Assignment placed = bisect(grid, even, torus);
  for (int p = 0; p < grid.size(); ++p)
    for (int code = 0; code < grid.codes(); ++code) {
      const Int3 o = grid.offsets[static_cast<size_t>(code)];
      const auto i = static_cast<size_t>(grid.neighbour(p, code));
      CHECK(torus.hops(placed.patch_rank[static_cast<size_t>(p)], placed.patch_rank[i]) ==
            std::abs(o.x) + std::abs(o.y) + std::abs(o.z));
    }
  CHECK(atom_hops(grid, placed, torus) < 0.6 * atom_hops(grid, bisect(grid, even, {512}), torus));
  for (const MachineShape& machine : {MachineShape{24, 8}, MachineShape{100, 4, {3, 3, 3}},
                                      MachineShape{1000, 1, {10, 10, 11}}}) {
    const Assignment a = bisect(grid, even, machine);
    for (const int rank : a.patch_rank) CHECK(rank >= 0 && rank < machine.ranks);
    std::vector<int> count(static_cast<size_t>(machine.ranks), 0);
    for (const int rank : a.patch_rank) ++count[static_cast<size_t>(rank)];
    CHECK(*std::max_element(count.begin(), count.end()) <= 3 * (512 / machine.ranks + 1));
    check_plans(grid, a);
  }
  std::vector<int> of_host(3, 0);
  for (const int rank : bisect(grid, even, {24, 8}).patch_rank)
    ++of_host[static_cast<size_t>(rank / 8)];
  for (const int patches : of_host) CHECK(patches >= 128 && patches <= 192);
}

void plans_fit_together() {
  for (const PatchGrid& grid : some_grids())
    for (const int ranks : {1, 2, 3, 7, 64}) {
      Assignment a = bisect(grid, random_weights(grid, 2), {ranks});
      check_plans(grid, a);
      check_plans(grid, ribbons(random_weights(grid, 2), {ranks}));
      std::mt19937 random(3);
      for (int& rank : a.compute_rank)
        rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
      check_plans(grid, a);  // computes anywhere, far from their patches
    }
}

std::vector<double> loads(const Assignment& a, const std::vector<double>& fixed,
                          const std::vector<double>& cost) {
  std::vector<double> total = fixed;
  for (size_t c = 0; c < cost.size(); ++c) total[static_cast<size_t>(a.compute_rank[c])] += cost[c];
  return total;
}

// Patches stay, the busiest rank gets less busy, and what is balanced is left alone.
void refinement_lowers_the_maximum() {
  const PatchGrid grid = make_patch_grid({9, 0, 9, 0, 0, 9}, 0.9, 1.3, kOneAway);
  for (unsigned seed = 0; seed < 20; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 5);
    const std::vector<double> cost = random_weights(grid, seed);
    std::vector<double> fixed(static_cast<size_t>(ranks), 1.0);
    fixed[0] = 20;
    const Assignment before = bisect(grid, std::vector<double>(cost.size(), 1.0), {ranks});
    const Carriage flat{{ranks}, cost};
    const std::vector<double> alike(static_cast<size_t>(ranks), 1.0);
    const MeasuredCosts costs{fixed, std::vector<double>(fixed.size(), 0.0), cost, alike};
    const Assignment after = refine(grid, before, costs, flat, 1.03);
    CHECK(after.patch_rank == before.patch_rank);
    const auto was = loads(before, fixed, cost), is = loads(after, fixed, cost);
    const double mean = std::accumulate(is.begin(), is.end(), 0.0) / ranks;
    CHECK(*std::max_element(is.begin(), is.end()) < *std::max_element(was.begin(), was.end()));
    CHECK(*std::max_element(is.begin(), is.end()) < 1.1 * mean);
    check_plans(grid, after);
    CHECK(refine(grid, after, costs, flat, 1.2).compute_rank == after.compute_rank);
  }
}

double proxy_atoms(const PatchGrid& grid, const Assignment& a, const std::vector<double>& atoms) {
  double sum = 0;
  for (const RankPlan& plan : plan_ranks(grid, a, atoms))
    for (const int p : plan.proxies) sum += atoms[static_cast<size_t>(p)];
  return sum;
}

// Two hosts of four ranks, one of them slow: its computes go to ranks that have their patches, those of
// its own host rather than of the other. To the least busy one wherever that is, they make more proxies.
void computes_stay_near_their_patches() {
  const PatchGrid grid = make_patch_grid({12, 0, 12, 0, 0, 12}, 0.9, 1.0, kOneAway);
  const std::vector<double> even(static_cast<size_t>(grid.size()), 1.0);
  const MachineShape hosts{8, 4};
  const Assignment before = bisect(grid, even, hosts);
  std::vector<double> fixed(8, 0.0);
  fixed[0] = 150;
  const Assignment after =
      refine(grid, before, {fixed, std::vector<double>(8, 0.0), even, std::vector<double>(8, 1.0)},
             {hosts, even}, 1.03);
  const auto was = loads(before, fixed, even), is = loads(after, fixed, even);
  CHECK(*std::max_element(is.begin(), is.end()) < 0.75 * *std::max_element(was.begin(), was.end()));
  int moved = 0, to_other_host = 0;
  for (size_t c = 0; c < even.size(); ++c) {
    const int from = before.compute_rank[c], to = after.compute_rank[c];
    moved += from != to;
    to_other_host += hosts.hops(from, to);
  }
  CHECK(moved > 100 && to_other_host < moved / 2);
  CHECK(proxy_atoms(grid, after, even) < 1.1 * proxy_atoms(grid, before, even));
}

// Ranks that are neighbours as often as messages say, from an order that knows nothing of them; what
// each rank has stays together.
void ranks_trade_places() {
  const PatchGrid grid = make_patch_grid({8, 0, 8, 0, 0, 8}, 0.9, 1.0, kOneAway);
  const std::vector<double> even(512, 1.0);
  const MachineShape torus{64, 1, {4, 4, 4}}, hosts{64, 8};
  for (const MachineShape& machine : {torus, hosts}) {
    Assignment mixed = bisect(grid, even, machine);
    std::mt19937 random(5);
    std::vector<int> rank_of(64);
    std::iota(rank_of.begin(), rank_of.end(), 0);
    std::shuffle(rank_of.begin(), rank_of.end(), random);
    for (int& rank : mixed.patch_rank) rank = rank_of[static_cast<size_t>(rank)];
    mixed.compute_rank = mixed.patch_rank;
    std::vector<Traffic> traffic;
    const auto plans = plan_ranks(grid, mixed, even);
    for (int r = 0; r < 64; ++r)
      for (const Exchange& e : plans[static_cast<size_t>(r)].receives)
        traffic.push_back({e.rank, r, e.atoms});
    CHECK_NEAR(hop_bytes(traffic, machine), atom_hops(grid, mixed, machine), 1e-9);
    const Assignment traded = trade_places(mixed, traffic, machine);
    const double ideal = atom_hops(grid, bisect(grid, even, machine), machine);
    CHECK(atom_hops(grid, traded, machine) < 0.8 * atom_hops(grid, mixed, machine));
    CHECK(atom_hops(grid, traded, machine) < 1.25 * ideal);
    std::map<int, int> rank_then;
    for (size_t p = 0; p < even.size(); ++p) {
      const auto [found, is_new] = rank_then.insert({mixed.patch_rank[p], traded.patch_rank[p]});
      CHECK(is_new || found->second == traded.patch_rank[p]);
    }
    CHECK(traded.compute_rank == traded.patch_rank && rank_then.size() == 64);
    check_plans(grid, traded);
  }
}

// Else those that have some would crowd together.
void ranks_without_patches_do_not_trade() {
  const PatchGrid grid = make_patch_grid({4, 0, 4, 0, 0, 4}, 0.9, 1.0, kOneAway);
  const std::vector<double> even(64, 1.0);
  const MachineShape torus{512, 1, {8, 8, 8}};
  const Assignment before = bisect(grid, even, torus);
  std::vector<Traffic> traffic;
  for (int r = 0; r < 512; ++r)
    for (const int p : before.patch_rank) traffic.push_back({r, p, 100});
  const Assignment after = trade_places(before, traffic, torus);
  const auto owners = [](const Assignment& a) {
    return std::set<int>(a.patch_rank.begin(), a.patch_rank.end());
  };
  CHECK(owners(before).size() == 64 && owners(after) == owners(before));
}

// Clusters of 8 are whole in every patch. A system of several ranks may have more slots than each can
// number.
void slots_are_counted() {
  CHECK(count_slots(1, 1) == 8 && count_slots(8, 1) == 16 && count_slots(100, 10) == 176);
  CHECK(count_slots((1 << 25) - 7, 1) == 1 << 25);
  CHECK(count_slots(1 << 26, 1) == (1 << 26) + 8);
}

// Entries of lists have 31 bits for their numbers.
void entries_are_counted() {
  constexpr size_t kMaxEntries = (size_t{1} << 31) - 32;
  CHECK(more_entries(100, 1000) == 1200);
  CHECK(more_entries(2'000'000'000, 2'000'000'000) == kMaxEntries);
  std::string message;
  try {
    more_entries(kMaxEntries, 2147483647);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("more than 2147483616 entries") != std::string::npos);
  constexpr int kAtoms = 21'600'000;
  const double density = kAtoms / (60.0 * 60.0 * 60.0);
  const auto room = [&](double reach) {
    return expected_entries(entries_of_list(kAtoms, density, reach), 2'700'000);
  };
  CHECK(room(1.2 + 0.1) == kMaxEntries);
  const size_t usual = room(0.9 + 0.1);
  CHECK(usual > 1'000'000'000 && usual < 1'500'000'000);
}

// Of several ranks' reports the first step counts, and of one step the lowest atom, in any order.
void faults_of_ranks_are_merged() {
  const auto blowup = [](int64_t step, int32_t atom) {
    Faults f{};
    f.blowup_step = f.constraint_step = step;
    f.blowup_atom = f.constraint_atom = atom;
    return f;
  };
  const Faults all[] = {blowup(7, 30), Faults{}, blowup(5, 20), blowup(5, 9), blowup(6, 1)};
  std::vector<int> order{0, 1, 2, 3, 4};
  do {
    Faults found{};
    for (const int k : order) merge_faults(found, all[k]);
    CHECK(found.blowup_step == 5 && found.blowup_atom == 9);
    CHECK(found.constraint_step == 5 && found.constraint_atom == 9);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace quiltmd

int main() {
  using namespace quiltmd;
  return test::run_all({
      {"patches are wide enough", patches_are_wide_enough},
      {"the half shell is half", half_shell_is_half},
      {"shifts lead to neighbours", shifts_lead_to_neighbours},
      {"the full shell is both halves", full_shell_is_both_halves},
      {"ranks hold full shells", ranks_hold_full_shells},
      {"cells change with room to spare", cells_change_with_room_to_spare},
      {"thinly filled patches are wider", thinly_filled_patches_are_wider},
      {"patches have room for large groups", patches_have_room_for_large_groups},
      {"small boxes are refused", small_boxes_are_refused},
      {"large boxes are refused", large_boxes_are_refused},
      {"slots are counted", slots_are_counted},
      {"entries are counted", entries_are_counted},
      {"bisection covers all", bisection_covers_all},
      {"ribbons are even", ribbons_are_even},
      {"patches are shared well", patches_are_shared_well},
      {"borders are where patches touch", borders_are_where_patches_touch},
      {"few atoms migrate", few_atoms_migrate},
      {"hops are shortest", hops_are_shortest},
      {"assignments follow the machine", assignments_follow_the_machine},
      {"plans fit together", plans_fit_together},
      {"refinement lowers the maximum", refinement_lowers_the_maximum},
      {"computes stay near their patches", computes_stay_near_their_patches},
      {"ranks trade places", ranks_trade_places},
      {"ranks without patches do not trade", ranks_without_patches_do_not_trade},
      {"faults of ranks are merged", faults_of_ranks_are_merged},
  });
}
