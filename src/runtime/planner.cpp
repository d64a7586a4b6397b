// SPDX-License-Identifier: Apache-2.0
#include "runtime/planner.h"

#include <algorithm>
#include <cmath>

#include "computes/pme/setup.h"
#include "math/error.h"

namespace quiltmd {
namespace {

Box tiled(const Box& b, Int3 tile) {
  return {b.ax * tile.x, b.bx * tile.y, b.by * tile.y, b.cx * tile.z, b.cy * tile.z, b.cz * tile.z};
}

std::vector<double> count_atoms(const PatchGrid& grid, const Box& box,
                                const std::vector<Vec3d>& positions, Int3 tile) {
  std::vector<double> atoms(static_cast<size_t>(grid.size()), 0.0);
  for (int i = 0; i < tile.x; ++i)
    for (int j = 0; j < tile.y; ++j)
      for (int k = 0; k < tile.z; ++k) {
        const Vec3d shift = box.to_cartesian({1.0 * i, 1.0 * j, 1.0 * k});
        for (const Vec3d& x : positions) atoms[static_cast<size_t>(patch_of(grid, x + shift))] += 1;
      }
  return atoms;
}

// The part of a grid that a rank transforms, first and end; the same as in the long-range sum.
struct MeshPart {
  int first, end;
  int count() const { return end - first; }
};

MeshPart part_of(int total, int rank, int ranks, MeshSharing mesh) {
  if (mesh == MeshSharing::kReplicated || ranks < 2) return {0, total};
  return {static_cast<int>(int64_t{total} * rank / ranks),
          static_cast<int>(int64_t{total} * (rank + 1) / ranks)};
}

// Three values travel in a word.
int64_t words_of(int64_t runs, int64_t length) { return runs * ((length + 2) / 3); }

// Planes that atoms of a rank reach, as counts up to each plane.
std::vector<int> reached_before(const Setup& setup, const PmeGrid& grid, const RankPlan& plan) {
  const PatchGrid& patches = setup.grid;
  const double margin = setup.group_radius + setup.ages.limit.back();
  const double beyond = margin / (patches.cells.x * patches.least_width);
  const int planes = std::max(grid.nx, 1);
  std::vector<int> reached(static_cast<size_t>(planes) + 1, 0);
  std::vector<char> columns(static_cast<size_t>(patches.cells.x), 0);
  for (const int patch : plan.owned) columns[static_cast<size_t>(patches.cell(patch).x)] = 1;
  for (int x = 0; x < patches.cells.x; ++x) {
    if (!columns[static_cast<size_t>(x)]) continue;
    const PlaneRange range = pme_plane_range(grid, x, beyond);
    for (int i = 0; i < range.count; ++i)
      reached[static_cast<size_t>((range.first + i) % planes) + 1] = 1;
  }
  for (size_t i = 1; i < reached.size(); ++i) reached[i] += reached[i - 1];
  return reached;
}

}  // namespace

Planner::Planner(const System& system, const NonbondedSettings& nonbonded,
                 const IntegratorSettings& integrator, const ListSettings& lists, const Box& box,
                 const std::vector<Vec3d>& positions, Int3 tile) {
  if (tile.x < 1 || tile.y < 1 || tile.z < 1) throw Error("a box is repeated once at least");
  const int64_t copies = int64_t{tile.x} * tile.y * tile.z;
  setup_ = make_setup(with_groups(system), nonbonded, integrator, lists, tiled(box, tile));
  atoms_ = setup_.system.atom_count() * copies;
  groups_ = setup_.system.group_count() * copies;
  atoms_in_patches_ = count_atoms(setup_.grid, box, positions, tile);
}

StepForecast Planner::plan(int ranks, MeshSharing mesh) const {
  if (ranks < 1) throw Error("there is one rank at least");
  const Assignment assignment = share_patches(setup_.grid, atoms_in_patches_, ranks);
  const auto plans = plan_ranks(setup_.grid, assignment, atoms_in_patches_);
  StepForecast forecast;
  forecast.ranks = ranks_of(plans, mesh);
  add_halo(plans, forecast);
  if (setup_.nonbonded.pme) add_mesh(plans, mesh, forecast);
  forecast.migrant_words = migrant_room(groups_, atoms_, ranks, 1).words();
  forecast.agreement_words = kAgreementWords;
  return forecast;
}

// Each atom of a patch against what is near it, at the mean density of the patch and its half shell.
double Planner::pairs_of(int compute) const {
  const PatchGrid& grid = setup_.grid;
  double around = 0;
  for (int code = 0; code < grid.codes(); ++code)
    around += atoms_in_patches_[static_cast<size_t>(grid.neighbour(compute, code))];
  const double density = around * grid.size() / (grid.codes() * grid.box.volume());
  const double reach = setup_.nonbonded.cutoff + setup_.lists.buffer;
  const double neighbours = density * 4 / 3 * M_PI * reach * reach * reach;
  return 0.5 * atoms_in_patches_[static_cast<size_t>(compute)] * neighbours;
}

std::vector<PlannedRank> Planner::ranks_of(const std::vector<RankPlan>& plans,
                                           MeshSharing mesh) const {
  const auto atoms_of = [this](const std::vector<int>& patches) {
    double sum = 0;
    for (const int p : patches) sum += atoms_in_patches_[static_cast<size_t>(p)];
    return sum;
  };
  const int all = static_cast<int>(plans.size());
  std::vector<PlannedRank> ranks;
  for (int r = 0; r < all; ++r) {
    const RankPlan& plan = plans[static_cast<size_t>(r)];
    PlannedRank rank;
    rank.patches = static_cast<int>(plan.owned.size());
    rank.proxies = static_cast<int>(plan.proxies.size());
    rank.computes = static_cast<int>(plan.computes.size());
    rank.interior_computes = plan.interior;
    rank.atoms = atoms_of(plan.owned);
    rank.proxy_atoms = atoms_of(plan.proxies);
    for (int c = 0; c < rank.computes; ++c)
      (c < plan.interior ? rank.interior_pairs : rank.boundary_pairs) +=
          pairs_of(plan.computes[static_cast<size_t>(c)]);
    if (setup_.nonbonded.pme) {
      rank.planes = part_of(setup_.nonbonded.grid.x, r, all, mesh).count();
      rank.lines = part_of(setup_.nonbonded.grid.y, r, all, mesh).count();
    }
    ranks.push_back(rank);
  }
  return ranks;
}

void Planner::add_halo(const std::vector<RankPlan>& plans, StepForecast& forecast) const {
  for (int r = 0; r < static_cast<int>(plans.size()); ++r) {
    const RankPlan& plan = plans[static_cast<size_t>(r)];
    for (const Exchange& e : plan.sends) {
      PatchExchange view{};
      view.count = static_cast<int>(e.patches.size());
      view.atom_room = atom_room(e, atoms_, 1);
      forecast.messages.push_back({Edge::kPositions, r, e.rank, view.step_words()});
      forecast.messages.push_back({Edge::kProxies, r, e.rank, view.proxy_words()});
    }
    for (const Exchange& e : plan.receives) {
      PatchExchange view{};
      view.atom_room = atom_room(e, atoms_, 1);
      forecast.messages.push_back({Edge::kForces, r, e.rank, view.step_words()});
    }
  }
}

void Planner::add_mesh(const std::vector<RankPlan>& plans, MeshSharing mesh,
                       StepForecast& forecast) const {
  const Int3 n = setup_.nonbonded.grid;
  const Vec3d box = setup_.grid.box.widths();
  const Int3 cells = setup_.grid.cells;
  const PmeGrid grid{n.x,   n.y,
                     n.z,   setup_.nonbonded.order,
                     cells, {box.x / cells.x, box.y / cells.y, box.z / cells.z}};
  const int ranks = static_cast<int>(plans.size());
  const bool replicated = mesh == MeshSharing::kReplicated;
  std::vector<int> with_planes, with_lines;
  for (int r = 0; r < ranks; ++r) {
    if (part_of(n.x, r, ranks, mesh).count()) with_planes.push_back(r);
    if (part_of(n.y, r, ranks, mesh).count()) with_lines.push_back(r);
  }
  const auto add = [&](Edge edge, int from, int to, int64_t words) {
    if (from != to && words > 0) forecast.messages.push_back({edge, from, to, words});
  };
  for (int user = 0; user < ranks; ++user) {
    const auto before = reached_before(setup_, grid, plans[static_cast<size_t>(user)]);
    for (const int owner : with_planes) {
      const MeshPart planes = part_of(n.x, owner, ranks, mesh);
      const int count =
          before[static_cast<size_t>(planes.end)] - before[static_cast<size_t>(planes.first)];
      const int64_t words = words_of(count, int64_t{n.y} * n.z);
      add(Edge::kCharges, user, owner, words);
      if (!replicated) add(Edge::kPotential, owner, user, words);
    }
  }
  if (replicated) return;
  const int64_t row = int64_t{2} * (n.z / 2 + 1);
  for (const int x : with_planes)
    for (const int y : with_lines) {
      const int64_t words = words_of(part_of(n.x, x, ranks, mesh).count(),
                                     row * part_of(n.y, y, ranks, mesh).count());
      add(Edge::kSpectrum, x, y, words);
      add(Edge::kSpectrumBack, y, x, words);
    }
}

}  // namespace quiltmd
