// SPDX-License-Identifier: Apache-2.0
// What is planned for many ranks is what ranks would do: the messages of the schedules of runs, built
// on `null` devices, for every rank; and plans for thousands of ranks are made in no time.
#include <algorithm>
#include <ctime>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "check.h"
#include "device/null/null_device.h"
#include "runtime/planner.h"
#include "schedule/agree.h"
#include "schedule/executor.h"
#include "schedule/fmm_shares.h"
#include "schedule/forces.h"
#include "schedule/rebuild.h"
#include "transport/local/local_transport.h"

using namespace quiltmd;

namespace {

constexpr double kSide = 0.4;  // nm, of the cubes that single atoms are in

System atoms_on_a_grid(int n, std::vector<Vec3d>& positions) {
  System s;
  for (int i = 0; i < n * n * n; ++i) {
    s.masses.push_back(12);
    s.charges.push_back(i % 2 ? 0.5 : -0.5);
    s.pair_types.push_back(0);
    positions.push_back(kSide * Vec3d{0.5 + i % n, 0.5 + i / n % n, 0.5 + i / n / n});
  }
  s.pair_type_count = 1;
  s.pair_tables = {{1e-6}, {1e-3}};
  return s;
}

struct Case {
  System system;
  std::vector<Vec3d> positions;
  NonbondedSettings nonbonded;
  IntegratorSettings integrator;
  ListSettings lists;
  Box box{};
};

Case make_case(int n, int grid, int patch_reach) {
  Case c;
  c.system = atoms_on_a_grid(n, c.positions);
  c.nonbonded.electrostatics = Electrostatics::kPme;
  c.nonbonded.alpha = 3;
  c.nonbonded.grid = {grid, grid, grid};
  c.integrator.integrator = {"velocity_verlet",
                             {{"timestep", 0.002},
                              {"long_range_every", int64_t{1}},
                              {"remove_com_every", int64_t{0}},
                              {"resting_axes", int64_t{0}},
                              {"constraint_tolerance", 1e-6}}};
  c.lists.patch_reach = {patch_reach, patch_reach, patch_reach};
  c.box.ax = c.box.by = c.box.cz = kSide * n;
  return c;
}

Planner planner_of(const Case& c, Int3 tile = {1, 1, 1}) {
  return Planner(c.system, c.nonbonded, c.integrator, c.lists, c.box, c.positions, tile);
}

using Row = std::tuple<int, int, int, int64_t, int>;  // edge, from, to, words, round

std::vector<double> atoms_of_patches(const Case& c, const PatchGrid& grid) {
  std::vector<double> atoms(static_cast<size_t>(grid.size()), 0.0);
  for (const Vec3d& x : c.positions) atoms[static_cast<size_t>(patch_of(grid, x))] += 1;
  return atoms;
}

// As the schedules of ranks with memory have them.
std::vector<Row> scheduled(const Case& c, const Planner& planner, const MachineShape& machine,
                           MeshSharing mesh) {
  const Setup& setup = planner.setup();
  const std::vector<double> atoms = atoms_of_patches(c, setup.grid);
  RankView view;
  view.ranks = machine.ranks;
  view.plans = plan_ranks(setup.grid, share_patches(setup, atoms, machine, mesh), atoms, machine);
  view.mesh = mesh;
  std::vector<Row> rows;
  for (int rank = 0; rank < machine.ranks; ++rank) {
    view.rank = rank;
    NullDevice device;
    RankMemory memory(setup, device);
    memory.set_plan(view);
    const Schedule step = force_schedule(memory, view, Accumulators::kStale, Reach::kAll,
                                         Energies::kSkip, Follows::kStep);
    const Schedule migrate = migrate_schedule(memory, view);
    const Schedule rebuild = proxies_and_lists_schedule(memory, view);
    const Schedule agree = agree_schedule(memory, view, nullptr);
    for (const Schedule* schedule : {&step, &migrate, &rebuild, &agree})
      for (const Task& task : schedule->tasks())
        for (const MessageEnd& m : task.sends)
          if (m.words > 0)
            rows.emplace_back(static_cast<int>(m.edge), rank, m.peer, static_cast<int64_t>(m.words),
                              m.round);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> planned(const Planner& planner, const MachineShape& machine, MeshSharing mesh) {
  std::vector<Row> rows;
  for (const PlannedMessage& m : planner.plan(machine, mesh).messages)
    rows.emplace_back(static_cast<int>(m.edge), m.from, m.to, m.words, m.round);
  std::sort(rows.begin(), rows.end());
  return rows;
}

Case with_fmm(Case c) {
  c.nonbonded.electrostatics = Electrostatics::kFmm;
  c.nonbonded.alpha = 0;
  c.nonbonded.bandwidth = 10;
  return c;
}

Case with_pairs(Case c) {
  c.lists.grain = Grain::kPair;
  return c;
}

void messages_are_those_of_schedules() {
  const Case all[] = {make_case(12, 20, 1), make_case(12, 20, 2), with_fmm(make_case(12, 20, 1)),
                      with_pairs(make_case(12, 20, 1))};
  for (const Case& c : all) {
    const Planner planner = planner_of(c);
    for (const MeshSharing mesh :
         {MeshSharing::kDistributed, MeshSharing::kPencils, MeshSharing::kReplicated})
      for (const MachineShape& machine :
           {MachineShape{1}, MachineShape{2}, MachineShape{3}, MachineShape{13}, MachineShape{40},
            MachineShape{40, 4}, MachineShape{100}, MachineShape{27, 1, {3, 3, 3}}}) {
        const auto found = planned(planner, machine, mesh);
        CHECK(found.empty() == (machine.ranks == 1));
        CHECK(found == scheduled(c, planner, machine, mesh));
      }
  }
}

double hop_bytes_of(const Planner& planner, const Assignment& assignment,
                    const std::vector<double>& atoms, const MachineShape& machine,
                    MeshSharing mesh) {
  const Setup& setup = planner.setup();
  const auto plans = plan_ranks(setup.grid, assignment, atoms);
  double sum = 0;
  for (const auto& messages :
       {halo_messages(plans, planner.atoms()), plan_long_range(setup, plans, mesh).messages})
    for (const PlannedMessage& m : messages)
      if (m.edge != Edge::kProxies)
        sum += 16.0 * static_cast<double>(m.words) * machine.hops(m.from, m.to);
  return sum;
}

// Messages of the halo and of PME pass fewer links where the bisection does not fit, and never more.
void ranks_are_placed_by_their_messages() {
  const Case c = make_case(12, 20, 2);
  const Planner planner = planner_of(c);
  const PatchGrid& grid = planner.setup().grid;
  const std::vector<double> atoms = atoms_of_patches(c, grid);
  for (const MachineShape& machine :
       {MachineShape{60, 1, {3, 4, 5}}, MachineShape{40, 4}, MachineShape{64, 1, {4, 4, 4}}}) {
    const Assignment first = bisect(grid, atoms, machine);
    const MeshSharing mesh = MeshSharing::kPencils;
    const Assignment placed = share_patches(planner.setup(), atoms, machine, mesh);
    const double before = hop_bytes_of(planner, first, atoms, machine, mesh);
    const double after = hop_bytes_of(planner, placed, atoms, machine, mesh);
    if (machine.ranks == 60) CHECK(after < 0.9 * before);  // the bisection fits the others
    CHECK(after <= before);
  }
}

// Ranks that are all as near each other: the one with most to send and receive has less than in the other
// way to share patches, and no less than in the one that is taken.
void few_bytes_go_through_any_rank() {
  const Case c = make_case(12, 20, 2);
  const Planner planner = planner_of(c);
  const Setup& setup = planner.setup();
  const std::vector<double> atoms = atoms_of_patches(c, setup.grid);
  const auto most = [&](const Assignment& assignment, int ranks) {
    const auto plans = plan_ranks(setup.grid, assignment, atoms);
    std::vector<int64_t> words(static_cast<size_t>(ranks), 0);
    for (const auto& messages : {halo_messages(plans, planner.atoms()),
                                 plan_long_range(setup, plans, MeshSharing::kDistributed).messages})
      for (const PlannedMessage& m : messages)
        if (m.edge != Edge::kProxies)
          for (const int rank : {m.from, m.to}) words[static_cast<size_t>(rank)] += m.words;
    return *std::max_element(words.begin(), words.end());
  };
  int of_blocks = 0;
  for (const int ranks : {2, 8, 64}) {
    const Assignment taken = share_patches(setup, atoms, {ranks}, MeshSharing::kDistributed);
    const Assignment blocks = bisect(setup.grid, atoms, {ranks}), strips = ribbons(atoms, {ranks});
    CHECK(most(taken, ranks) == std::min(most(blocks, ranks), most(strips, ranks)));
    CHECK(taken == blocks || taken == strips);
    of_blocks += taken == blocks && !(blocks == strips);
  }
  CHECK(of_blocks < 3);
}

void work_is_shared_out_whole() {
  const Case c = make_case(12, 20, 1);
  const Planner planner = planner_of(c);
  const auto pairs = [](const PlannedRank& r) { return r.interior_pairs + r.boundary_pairs; };
  const double all = pairs(planner.plan({1}, MeshSharing::kDistributed).ranks[0]);
  const double reach = c.nonbonded.cutoff + planner.setup().lists.buffer;
  const double density = 1 / (kSide * kSide * kSide);
  CHECK_NEAR(all, 0.5 * 1728 * density * 4 / 3 * M_PI * reach * reach * reach, 0.02 * all);
  for (const MeshSharing mesh : {MeshSharing::kDistributed, MeshSharing::kPencils})
    for (const int ranks : {2, 7, 30, 100}) {
      double atoms = 0, sum = 0, planes = 0, lines = 0;
      for (const PlannedRank& r : planner.plan({ranks}, mesh).ranks) {
        atoms += r.atoms;
        sum += pairs(r);
        planes += r.transforms.planes;
        lines += r.transforms.lines;
      }
      CHECK_NEAR(atoms, 1728, 1e-9);
      CHECK_NEAR(sum, all, 1e-6 * all);
      CHECK_NEAR(planes, 20, 1e-9);
      CHECK_NEAR(lines, 20, 1e-9);
    }
}

void ranks_of_any_speed_share_whole_grids() {
  const Planner planner = planner_of(make_case(12, 20, 1));
  for (int tenths = 1; tenths <= 30; ++tenths) {
    double planes = 0, lines = 0;
    const MachineShape machine{3, 1, {}, {0.1 * tenths, 0.7, 1.3}};
    const auto ranks = planner.plan(machine, MeshSharing::kDistributed).ranks;
    for (const PlannedRank& r : ranks) {
      planes += r.transforms.planes;
      lines += r.transforms.lines;
    }
    CHECK_NEAR(planes, 20, 1e-9);
    CHECK_NEAR(lines, 20, 1e-9);
    CHECK((ranks[0].atoms < ranks[1].atoms) == (tenths < 7) || tenths == 7);
  }
}

// With a shorter Coulomb cutoff charges have fewer pairs, in the ratio of the spheres; with one cutoff as many.
void pairs_of_charges_are_counted() {
  Case c = make_case(12, 20, 1);
  c.nonbonded.alpha = 0;
  c.nonbonded.bandwidth = 10;
  const auto sums = [](const Case& given) {
    double pairs = 0, coulomb = 0;
    for (const PlannedRank& r : planner_of(given).plan({7}, MeshSharing::kDistributed).ranks) {
      CHECK((r.interior_pairs > 0) == (r.interior_coulomb > 0));
      pairs += r.interior_pairs + r.boundary_pairs;
      coulomb += r.interior_coulomb + r.boundary_coulomb;
    }
    return std::pair(pairs, coulomb);
  };
  const auto [pairs, coulomb] = sums(c);
  CHECK_NEAR(coulomb, pairs, 1e-9 * pairs);
  c.nonbonded.shorter_coulomb_cutoff = 0.7;
  const auto [all, near] = sums(c);
  const double buffer = planner_of(c).setup().lists.buffer;
  CHECK_NEAR(all, pairs, 1e-9 * pairs);
  CHECK_NEAR(near / all, std::pow((0.7 + buffer) / (c.nonbonded.cutoff + buffer), 3), 1e-9);
}

// Pairs of patches are as many pairs of atoms as half shells, and many ranks have a part of them.
void pairs_of_patches_occupy_more_ranks() {
  const Case c = make_case(12, 20, 1);
  const Planner whole = planner_of(c), pairs = planner_of(with_pairs(c));
  const int patches = whole.setup().grid.size();
  CHECK(patches == 64 && pairs.setup().grid.computes() == 14 * 64);
  const auto busy = [](const Planner& planner, double& sum, double& most) {
    int count = 0;
    sum = most = 0;
    for (const PlannedRank& r : planner.plan({400}, MeshSharing::kPencils).ranks) {
      const double here = r.interior_pairs + r.boundary_pairs;
      sum += here;
      most = std::max(most, here);
      count += here > 0;
    }
    return count;
  };
  double all = 0, most = 0, all_pairs = 0, most_pairs = 0;
  CHECK(busy(whole, all, most) == patches);
  CHECK(busy(pairs, all_pairs, most_pairs) > 5 * patches);
  CHECK_NEAR(all_pairs, all, 1e-9 * all);
  CHECK(most_pairs < 0.4 * most);
}

// A message of positions has two words for each atom, and room for little more than the patches have.
void messages_of_single_patches_are_short() {
  const Case c = with_pairs(make_case(12, 20, 1));
  const Planner planner = planner_of(c, {3, 3, 3});
  const double in_patch = 27.0 * 1728 / planner.setup().grid.size();
  int64_t longest = 0;
  for (const PlannedMessage& m : planner.plan({4096}, MeshSharing::kPencils).messages)
    if (m.edge == Edge::kPositions) longest = std::max(longest, m.words);
  CHECK(static_cast<double>(longest) < 2 * (2 * in_patch + 100));
}

// Each compute is made by one rank, and every rank has the patches that its computes need.
void every_pair_of_patches_is_made_once() {
  const Case c = with_pairs(make_case(12, 20, 2));
  const Planner planner = planner_of(c);
  const PatchGrid& grid = planner.setup().grid;
  const std::vector<double> atoms = atoms_of_patches(c, grid);
  for (const MachineShape& machine : {MachineShape{3}, MachineShape{300, 1, {5, 6, 10}}}) {
    const Assignment shared = share_patches(planner.setup(), atoms, machine, MeshSharing::kPencils);
    std::vector<int> made(static_cast<size_t>(grid.computes()), 0);
    for (const RankPlan& plan : plan_ranks(grid, shared, atoms, machine)) {
      std::vector<int> held = plan.owned;
      held.insert(held.end(), plan.proxies.begin(), plan.proxies.end());
      std::sort(held.begin(), held.end());
      for (const int compute : plan.computes) {
        ++made[static_cast<size_t>(compute)];
        const std::vector<int> needed = patches_of_compute(grid, compute);
        CHECK(std::includes(held.begin(), held.end(), needed.begin(), needed.end()));
      }
    }
    CHECK(std::all_of(made.begin(), made.end(), [](int times) { return times == 1; }));
  }
}

// A hundred ranks have more to do with pencils of a grid of 20 planes than with its slabs.
void pencils_occupy_more_ranks() {
  const Planner planner = planner_of(make_case(12, 20, 1));
  const auto busy = [&](MeshSharing mesh) {
    const auto ranks = planner.plan({100}, mesh).ranks;
    return std::count_if(ranks.begin(), ranks.end(),
                         [](const PlannedRank& r) { return r.transforms.planes > 0; });
  };
  CHECK(busy(MeshSharing::kDistributed) == 20);
  CHECK(busy(MeshSharing::kPencils) > 80);
}

// A tiled system is the system of all its tiles.
void tiles_are_counted() {
  const Case small = make_case(6, 20, 1), large = make_case(12, 20, 1);
  Case tile = small;
  tile.nonbonded = large.nonbonded;
  const Planner tiled = planner_of(tile, {2, 2, 2}), whole = planner_of(large);
  CHECK(tiled.atoms() == whole.atoms());
  for (const int ranks : {2, 5})
    CHECK(planned(tiled, {ranks}, MeshSharing::kDistributed) ==
          planned(whole, {ranks}, MeshSharing::kDistributed));
}

// On up to eight ranks each sends to each; on more, a rank of any number has a few partners in a rebuild.
void partners_of_a_rebuild_are_few() {
  const Planner planner = planner_of(make_case(12, 200, 1), {6, 6, 6});
  const PatchGrid& grid = planner.setup().grid;
  const std::vector<double> even(static_cast<size_t>(grid.size()), 24.0);
  for (const int ranks : {2, 8, 64, 512, 4096, 16384}) {
    const auto plans = plan_ranks(grid, bisect(grid, even, {ranks}), even);
    std::vector<int> sent(static_cast<size_t>(ranks), 0), received = sent;
    for (const PlannedMessage& m : rebuild_messages(plans, 373'248, 373'248)) {
      ++sent[static_cast<size_t>(m.from)];
      ++received[static_cast<size_t>(m.to)];
    }
    const int most = std::max(*std::max_element(sent.begin(), sent.end()),
                              *std::max_element(received.begin(), received.end()));
    CHECK(ranks <= 8 ? most == 2 * (ranks - 1) : most <= 64);
  }
}

// Charges of the second level of the fast multipole method come from every rank to every other, at most through
// one between.
void second_levels_come_to_all_by_few_messages() {
  const Planner planner = planner_of(with_fmm(make_case(12, 20, 1)));
  for (const int ranks : {8, 13, 20, 64}) {
    const auto plan = planner.plan({ranks}, MeshSharing::kDistributed);
    const auto count = static_cast<size_t>(ranks);
    std::vector<std::vector<bool>> direct(count, std::vector<bool>(count, false)), passed = direct;
    std::vector<int> sent(count, 0);
    for (const PlannedMessage& m : plan.messages) {
      if (m.edge != Edge::kSpectrumBack && m.edge != kPassedLevel) continue;
      auto& way = m.edge == kPassedLevel ? passed : direct;
      way[static_cast<size_t>(m.from)][static_cast<size_t>(m.to)] = true;
      ++sent[static_cast<size_t>(m.from)];
    }
    CHECK(*std::max_element(sent.begin(), sent.end()) <= (ranks <= 8 ? ranks - 1 : 20));
    for (size_t to = 0; to < count; ++to)
      for (size_t from = 0; from < count; ++from) {
        const bool has_some = std::ranges::find(direct[from], true) != direct[from].end();
        bool comes = from == to || !has_some || direct[from][to];
        for (size_t by = 0; by < count && !comes; ++by)
          comes = passed[by][to] && (by == from || direct[from][by]);
        CHECK(comes);
      }
  }
}

// Charges of the finest level come from nearby: from no more ranks than the stencil or a point of the next level
// reaches planes, on both sides.
void finest_levels_come_from_few() {
  const Planner planner = planner_of(with_fmm(make_case(12, 20, 1)));
  const FmmTables& tables = *planner.setup().fmm;
  const int reach = std::max(tables.shape.reach.x, tables.levels.children() - 1);
  for (const int ranks : {8, 64, 200}) {
    std::vector<int> received(static_cast<size_t>(ranks), 0);
    for (const PlannedMessage& m : planner.plan({ranks}, MeshSharing::kDistributed).messages)
      if (m.edge == Edge::kSpectrum) ++received[static_cast<size_t>(m.to)];
    const int most = *std::max_element(received.begin(), received.end());
    CHECK(most > 0 && most <= 2 * reach);
  }
}

// Of the upper levels a rank evaluates what its planes need: one of them all, one of many a part.
void upper_levels_are_shared() {
  Case finer = with_fmm(make_case(12, 20, 1));
  finer.nonbonded.grid = {32, 32, 32};
  const Planner planner = planner_of(finer);
  const FmmLevels& levels = planner.setup().fmm->levels;
  double before = static_cast<double>(levels.begin(levels.count));
  CHECK(before > 0);
  CHECK(planner.plan({1}, MeshSharing::kDistributed).ranks[0].transforms.upper_points == before);
  for (const int ranks : {2, 8}) {
    double most = 0;
    for (const PlannedRank& r : planner.plan({ranks}, MeshSharing::kDistributed).ranks)
      most = std::max(most, r.transforms.upper_points);
    CHECK(most <= before);
    before = most;
  }
  CHECK(before < static_cast<double>(levels.begin(levels.count)));
}

// 3 million atoms on 1,024 ranks.
void thousands_of_ranks_take_seconds() {
  Case c = make_case(12, 200, 1);
  const Planner planner = planner_of(c, {12, 12, 12});
  for (const MeshSharing mesh : {MeshSharing::kDistributed, MeshSharing::kPencils}) {
    const std::clock_t begin =
        std::clock();  // processor time: other work on the machine does not matter
    const StepForecast forecast = planner.plan({1024}, mesh);
    CHECK(forecast.ranks.size() == 1024);
    CHECK(std::clock() - begin < 60 * CLOCKS_PER_SEC);
  }
}

}  // namespace

int main() {
  return test::run_all(
      {{"messages are those of schedules", messages_are_those_of_schedules},
       {"ranks are placed by their messages", ranks_are_placed_by_their_messages},
       {"few bytes go through any rank", few_bytes_go_through_any_rank},
       {"work is shared out whole", work_is_shared_out_whole},
       {"ranks of any speed share whole grids", ranks_of_any_speed_share_whole_grids},
       {"pairs of charges are counted", pairs_of_charges_are_counted},
       {"pairs of patches occupy more ranks", pairs_of_patches_occupy_more_ranks},
       {"messages of single patches are short", messages_of_single_patches_are_short},
       {"every pair of patches is made once", every_pair_of_patches_is_made_once},
       {"pencils occupy more ranks", pencils_occupy_more_ranks},
       {"tiles are counted", tiles_are_counted},
       {"partners of a rebuild are few", partners_of_a_rebuild_are_few},
       {"second levels come to all by few messages", second_levels_come_to_all_by_few_messages},
       {"upper levels are shared", upper_levels_are_shared},
       {"finest levels come from few", finest_levels_come_from_few},
       {"thousands of ranks take seconds", thousands_of_ranks_take_seconds}});
}
