// SPDX-License-Identifier: Apache-2.0
#include "decomposition/compute_shares.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace quiltmd {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// The part of the pairs between a patch and the one at an offset that are within reach. Along each dimension two
// points of patches side by side are `offset + t` patches apart, with the density 1 - |t| for -1 < t < 1.
double part_within_reach(const PatchGrid& grid, Int3 offset) {
  constexpr int kPoints = 16;
  const auto place = [](int n) { return (2.0 * n + 1) / kPoints - 1; };
  double within = 0, all = 0;
  for (int i = 0; i < kPoints; ++i)
    for (int j = 0; j < kPoints; ++j)
      for (int k = 0; k < kPoints; ++k) {
        const Vec3d t{place(i), place(j), place(k)};
        const double weight = (1 - std::abs(t.x)) * (1 - std::abs(t.y)) * (1 - std::abs(t.z));
        const Vec3d apart =
            grid.box.to_cartesian({(offset.x + t.x) / grid.cells.x, (offset.y + t.y) / grid.cells.y,
                                   (offset.z + t.z) / grid.cells.z});
        all += weight;
        if (dot(apart, apart) < grid.rule.reach * grid.rule.reach) within += weight;
      }
  return within / all;
}

// By rank that owns patches, ascending: it and the ranks without patches to which it is the nearest owner.
std::map<int, std::vector<int>> teams_of(const Assignment& patches, const MachineShape& machine) {
  const std::set<int> owners(patches.patch_rank.begin(), patches.patch_rank.end());
  std::map<int, std::vector<int>> teams;
  for (int rank = 0; rank < patches.ranks; ++rank) {
    const auto distance = [&](int owner) {
      return std::tuple(rank == owner ? 0 : 1 + machine.hops(owner, rank), std::abs(owner - rank),
                        owner);
    };
    const int nearest = owners.contains(rank)
                            ? rank
                            : *std::min_element(owners.begin(), owners.end(), [&](int a, int b) {
                                return distance(a) < distance(b);
                              });
    teams[nearest].push_back(rank);
  }
  return teams;
}

}  // namespace

std::vector<double> compute_weights(const PatchGrid& grid, const std::vector<double>& atoms) {
  std::vector<double> parts;
  for (const Int3& offset : grid.offsets) parts.push_back(part_within_reach(grid, offset));
  std::vector<double> weights;
  for (int c = 0; c < grid.computes(); ++c) {
    const int patch = grid.patch_of_compute(c);
    const CodeRange codes = grid.codes_of_compute(c);
    double sum = 0;
    for (int code = codes.first; code < codes.first + codes.count; ++code)
      sum += (code == 0 ? 0.5 : 1.0) * parts[at(code)] * atoms[at(grid.neighbour(patch, code))];
    weights.push_back(sum * atoms[at(patch)]);
  }
  return weights;
}

Assignment share_computes(const PatchGrid& grid, Assignment patches,
                          const std::vector<double>& atoms, const MachineShape& machine) {
  if (grid.grain == Grain::kPatch) return patches;
  const std::vector<double> weights = compute_weights(grid, atoms);
  double speeds = 0;
  for (int rank = 0; rank < patches.ranks; ++rank) speeds += machine.speed(rank);
  const double share = std::accumulate(weights.begin(), weights.end(), 0.0) / speeds;
  const std::map<int, std::vector<int>> teams = teams_of(patches, machine);
  std::vector<int> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return weights[at(a)] > weights[at(b)]; });
  std::vector<double> load(at(patches.ranks), 0);  // by the speed of the rank
  const auto least_loaded = [&](int rank, const std::vector<int>& team) {
    for (const int other : team)
      if (load[at(other)] < load[at(rank)]) rank = other;
    return rank;
  };
  patches.compute_rank.assign(weights.size(), 0);
  for (const int c : order) {
    const int patch = grid.patch_of_compute(c);
    const int owner = patches.patch_rank[at(patch)];
    int rank = owner;
    if (load[at(owner)] + weights[at(c)] / machine.speed(owner) > share && !grid.has_terms(c)) {
      const int other =
          patches.patch_rank[at(grid.neighbour(patch, grid.codes_of_compute(c).first))];
      rank = least_loaded(least_loaded(owner, teams.at(owner)), teams.at(other));
    }
    patches.compute_rank[at(c)] = rank;
    load[at(rank)] += weights[at(c)] / machine.speed(rank);
  }
  return patches;
}

}  // namespace quiltmd
