// SPDX-License-Identifier: Apache-2.0
#include "runtime/planner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decomposition/compute_shares.h"
#include "math/error.h"

namespace quiltmd {
namespace {

Box tiled(const Box& b, Int3 tile) {
  return {b.ax * tile.x, b.bx * tile.y, b.by * tile.y, b.cx * tile.z, b.cy * tile.z, b.cz * tile.z};
}

// Patches of a setup that knows the atoms of one of the tiles in its box: they are to be filled by those of all.
void fill_patches(PatchGrid& grid, int64_t copies) {
  const PatchRule rule = grid.rule;
  const Holds holds = grid.holds;
  const Grain grain = grid.grain;
  grid = make_patch_grid(grid.box, rule.narrowest / 2, rule.reach, rule.patch_reach, rule.span, {},
                         rule.atoms * copies);
  grid.holds = holds;
  grid.grain = grain;
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

// By compute, its part of the pairs of its patch.
std::vector<double> parts_of_patches(const PatchGrid& grid, const std::vector<double>& atoms) {
  std::vector<double> parts = compute_weights(grid, atoms);
  const auto of_patch = static_cast<std::ptrdiff_t>(grid.computes_of_patch());
  for (auto first = parts.begin(); first != parts.end(); first += of_patch) {
    const double sum = std::accumulate(first, first + of_patch, 0.0);
    for (auto part = first; part != first + of_patch; ++part) *part = sum > 0 ? *part / sum : 0;
  }
  return parts;
}

}  // namespace

Planner::Planner(const System& system, const NonbondedSettings& nonbonded,
                 const IntegratorSettings& integrator, const ListSettings& lists, const Box& box,
                 const std::vector<Vec3d>& positions, Int3 tile) {
  if (tile.x < 1 || tile.y < 1 || tile.z < 1)
    throw Error("the box must be repeated at least once in each dimension");
  if (nonbonded.has_dispersion_mesh())
    throw Error(
        "predictions do not support Lennard-Jones PME, which has a second mesh: choose "
        "lennard_jones = "
        "cutoff (--lennard-jones cutoff)");
  const int64_t copies = int64_t{tile.x} * tile.y * tile.z;
  setup_ =
      make_setup(with_groups(system), nonbonded, integrator, lists, PeriodicCell{tiled(box, tile)});
  fill_patches(setup_.grid, copies);
  atoms_ = setup_.system.atom_count() * copies;
  groups_ = setup_.system.group_count() * copies;
  atoms_in_patches_ = count_atoms(setup_.grid, box, positions, tile);
  parts_ = parts_of_patches(setup_.grid, atoms_in_patches_);
}

StepForecast Planner::plan(const MachineShape& machine, MeshSharing sharing) const {
  const int ranks = machine.ranks;
  if (ranks < 1) throw Error("the number of ranks must be at least 1");
  const Assignment assignment = share_patches(setup_, atoms_in_patches_, machine, sharing);
  const auto plans = plan_ranks(setup_.grid, assignment, atoms_in_patches_, machine);
  StepForecast forecast;
  forecast.ranks = ranks_of(plans);
  forecast.owners = assignment.patch_rank;
  forecast.messages = halo_messages(plans, atoms_);
  const LongRangePlan long_range = plan_long_range(setup_, plans, sharing);
  for (size_t r = 0; r < plans.size(); ++r) forecast.ranks[r].transforms = long_range.shares[r];
  forecast.messages.insert(forecast.messages.end(), long_range.messages.begin(),
                           long_range.messages.end());
  const auto of_rebuild = rebuild_messages(plans, groups_, atoms_);
  forecast.messages.insert(forecast.messages.end(), of_rebuild.begin(), of_rebuild.end());
  return forecast;
}

// Each atom of a patch against what is within the cutoff (nm) and the buffer of the lists, at the mean density
// of the patch and its half shell.
double Planner::pairs_of(int patch, double cutoff) const {
  const PatchGrid& grid = setup_.grid;
  double around = 0;
  for (int code = 0; code < grid.codes(); ++code)
    around += atoms_in_patches_[static_cast<size_t>(grid.neighbour(patch, code))];
  const double density = around * grid.size() / (grid.codes() * grid.box.volume());
  const double reach = cutoff + setup_.lists.buffer;
  const double neighbours = density * 4 / 3 * M_PI * reach * reach * reach;
  return 0.5 * atoms_in_patches_[static_cast<size_t>(patch)] * neighbours;
}

std::vector<PlannedRank> Planner::ranks_of(const std::vector<RankPlan>& plans) const {
  const auto atoms_of = [this](const std::vector<int>& patches) {
    double sum = 0;
    for (const int p : patches) sum += atoms_in_patches_[static_cast<size_t>(p)];
    return sum;
  };
  std::vector<PlannedRank> ranks;
  for (const RankPlan& plan : plans) {
    PlannedRank rank;
    rank.patches = static_cast<int>(plan.owned.size());
    rank.proxies = static_cast<int>(plan.proxies.size());
    rank.computes = static_cast<int>(plan.computes.size());
    rank.interior_computes = plan.interior;
    rank.atoms = atoms_of(plan.owned);
    rank.proxy_atoms = atoms_of(plan.proxies);
    for (int c = 0; c < rank.computes; ++c) {
      const bool interior = c < plan.interior;
      const int compute = plan.computes[static_cast<size_t>(c)];
      const int patch = setup_.grid.patch_of_compute(compute);
      const double part = parts_[static_cast<size_t>(compute)];
      (interior ? rank.interior_pairs : rank.boundary_pairs) +=
          part * pairs_of(patch, setup_.nonbonded.cutoff);
      (interior ? rank.interior_coulomb : rank.boundary_coulomb) +=
          part * pairs_of(patch, setup_.nonbonded.coulomb_cutoff());
    }
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace quiltmd
