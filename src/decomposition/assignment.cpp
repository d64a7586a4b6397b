// SPDX-License-Identifier: Apache-2.0
// Recursive bisection and ribbons, measured refinement, and the exchange plans that follow from an assignment.
#include "decomposition/assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace quiltmd {
namespace {

// A block of the patch grid, given to ranks [first, first + count).
struct Block {
  Int3 low, high;
  int first, count;
};

double plane_weight(const PatchGrid& grid, const std::vector<double>& weights, const Block& block,
                    int dimension, int position) {
  Block plane = block;
  plane.low[dimension] = position;
  plane.high[dimension] = position + 1;
  double sum = 0;
  for (int x = plane.low.x; x < plane.high.x; ++x)
    for (int y = plane.low.y; y < plane.high.y; ++y)
      for (int z = plane.low.z; z < plane.high.z; ++z)
        sum += weights[static_cast<size_t>(grid.index({x, y, z}))];
  return sum;
}

// The dimension in which the block is widest (in nm); a cut there makes the smallest surface.
int widest(const PatchGrid& grid, const Block& block) {
  const Vec3d widths = grid.box.widths();
  int best = 0;
  double most = -1;
  for (int d = 0; d < 3; ++d) {
    const double width = widths[d] * (block.high[d] - block.low[d]) / grid.cells[d];
    if (block.high[d] - block.low[d] > 1 && width > most + 1e-9) {
      best = d;
      most = width;
    }
  }
  return best;
}

void bisect_block(const PatchGrid& grid, const std::vector<double>& weights, const Block& block,
                  std::vector<int>& owner) {
  const int d = widest(grid, block);
  if (block.count == 1 || block.high[d] - block.low[d] < 2) {
    for (int x = block.low.x; x < block.high.x; ++x)
      for (int y = block.low.y; y < block.high.y; ++y)
        for (int z = block.low.z; z < block.high.z; ++z)
          owner[static_cast<size_t>(grid.index({x, y, z}))] = block.first;
    return;
  }
  std::vector<double> running{0};
  for (int p = block.low[d]; p < block.high[d]; ++p)
    running.push_back(running.back() + plane_weight(grid, weights, block, d, p));
  const int left_ranks = block.count / 2;
  const double wanted = running.back() * left_ranks / block.count;
  int cut = 1;
  for (int p = 1; p < static_cast<int>(running.size()) - 1; ++p)
    if (std::abs(running[static_cast<size_t>(p)] - wanted) <
        std::abs(running[static_cast<size_t>(cut)] - wanted))
      cut = p;
  Block left = block, right = block;
  left.high[d] = right.low[d] = block.low[d] + cut;
  left.count = left_ranks;
  right.first += left_ranks;
  right.count -= left_ranks;
  bisect_block(grid, weights, left, owner);
  bisect_block(grid, weights, right, owner);
}

std::vector<int> patches_of_compute(const PatchGrid& grid, int compute) {
  std::set<int> patches;
  for (int code = 0; code < grid.codes(); ++code) patches.insert(grid.neighbour(compute, code));
  return {patches.begin(), patches.end()};
}

// For each rank and patch, how many of the rank's computes use the patch.
std::vector<std::vector<int>> count_uses(const PatchGrid& grid, const Assignment& assignment) {
  std::vector<std::vector<int>> uses(static_cast<size_t>(assignment.ranks),
                                     std::vector<int>(static_cast<size_t>(grid.size()), 0));
  for (int c = 0; c < grid.size(); ++c)
    for (int p : patches_of_compute(grid, c))
      ++uses[static_cast<size_t>(assignment.compute_rank[static_cast<size_t>(c)])]
            [static_cast<size_t>(p)];
  return uses;
}

// Proxies that a rank would gain by taking a compute.
int new_proxies(const PatchGrid& grid, const Assignment& assignment, const std::vector<int>& uses,
                int compute, int rank) {
  int count = 0;
  for (int p : patches_of_compute(grid, compute)) {
    const auto i = static_cast<size_t>(p);
    if (assignment.patch_rank[i] != rank && uses[i] == 0) ++count;
  }
  return count;
}

}  // namespace

Assignment bisect(const PatchGrid& grid, const std::vector<double>& weights, int ranks) {
  Assignment assignment{ranks, std::vector<int>(static_cast<size_t>(grid.size())), {}};
  bisect_block(grid, weights, {{0, 0, 0}, grid.cells, 0, ranks}, assignment.patch_rank);
  assignment.compute_rank = assignment.patch_rank;
  return assignment;
}

Assignment ribbons(const std::vector<double>& weights, int ranks) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  Assignment assignment{ranks, {}, {}};
  double before = 0;
  for (const double weight : weights) {  // a patch goes where its middle falls
    const double middle = total > 0 ? (before + 0.5 * weight) / total : 0;
    assignment.patch_rank.push_back(std::min(static_cast<int>(middle * ranks), ranks - 1));
    before += weight;
  }
  assignment.compute_rank = assignment.patch_rank;
  return assignment;
}

Assignment share_patches(const PatchGrid& grid, const std::vector<double>& weights, int ranks) {
  const auto most_atoms = [&](const Assignment& assignment) {
    double most = 0;
    for (const RankPlan& plan : plan_ranks(grid, assignment, weights)) {
      double atoms = 0;
      for (const auto* patches : {&plan.owned, &plan.proxies})
        for (const int p : *patches) atoms += weights[static_cast<size_t>(p)];
      most = std::max(most, atoms);
    }
    return most;
  };
  Assignment blocks = bisect(grid, weights, ranks), strips = ribbons(weights, ranks);
  if (ranks == 1) return strips;
  return most_atoms(blocks) < most_atoms(strips) ? blocks : strips;
}

Assignment refine(const PatchGrid& grid, const Assignment& start, const std::vector<double>& load,
                  const std::vector<double>& cost, double tolerance) {
  Assignment result = start;
  std::vector<double> total = load;
  for (int c = 0; c < grid.size(); ++c)
    total[static_cast<size_t>(result.compute_rank[static_cast<size_t>(c)])] +=
        cost[static_cast<size_t>(c)];
  const double mean = std::accumulate(total.begin(), total.end(), 0.0) / result.ranks;
  auto uses = count_uses(grid, result);
  for (int moves = 0; moves < grid.size(); ++moves) {
    const auto busiest = std::max_element(total.begin(), total.end()) - total.begin();
    const auto idlest = std::min_element(total.begin(), total.end()) - total.begin();
    const double excess = total[static_cast<size_t>(busiest)] - tolerance * mean;
    const double gap = total[static_cast<size_t>(busiest)] - total[static_cast<size_t>(idlest)];
    if (excess <= 0) break;
    int best = -1, fewest = std::numeric_limits<int>::max();
    for (int c = 0; c < grid.size(); ++c) {
      const auto i = static_cast<size_t>(c);
      if (result.compute_rank[i] != busiest || cost[i] <= 0 || cost[i] >= gap) continue;
      const int proxies =
          new_proxies(grid, result, uses[static_cast<size_t>(idlest)], c, static_cast<int>(idlest));
      if (proxies < fewest) {
        fewest = proxies;
        best = c;
      }
    }
    if (best < 0) break;
    for (int p : patches_of_compute(grid, best)) {
      --uses[static_cast<size_t>(busiest)][static_cast<size_t>(p)];
      ++uses[static_cast<size_t>(idlest)][static_cast<size_t>(p)];
    }
    result.compute_rank[static_cast<size_t>(best)] = static_cast<int>(idlest);
    total[static_cast<size_t>(busiest)] -= cost[static_cast<size_t>(best)];
    total[static_cast<size_t>(idlest)] += cost[static_cast<size_t>(best)];
  }
  return result;
}

std::vector<RankPlan> plan_ranks(const PatchGrid& grid, const Assignment& assignment,
                                 const std::vector<double>& atoms) {
  const auto ranks = static_cast<size_t>(assignment.ranks);
  std::vector<RankPlan> plans(ranks);
  std::vector<std::set<int>> proxies(ranks);
  std::vector<std::vector<int>> boundary(ranks);
  for (int p = 0; p < grid.size(); ++p)
    plans[static_cast<size_t>(assignment.patch_rank[static_cast<size_t>(p)])].owned.push_back(p);
  for (int c = 0; c < grid.size(); ++c) {
    const auto rank = static_cast<size_t>(assignment.compute_rank[static_cast<size_t>(c)]);
    bool interior = true;
    for (int p : patches_of_compute(grid, c)) {
      if (assignment.patch_rank[static_cast<size_t>(p)] == static_cast<int>(rank)) continue;
      proxies[rank].insert(p);
      interior = false;
    }
    (interior ? plans[rank].computes : boundary[rank]).push_back(c);
  }
  for (size_t r = 0; r < ranks; ++r) {
    RankPlan& plan = plans[r];
    plan.interior = static_cast<int>(plan.computes.size());
    plan.computes.insert(plan.computes.end(), boundary[r].begin(), boundary[r].end());
    plan.proxies.assign(proxies[r].begin(), proxies[r].end());
    std::map<int, std::vector<int>> by_owner;
    for (const int p : plan.proxies)
      by_owner[assignment.patch_rank[static_cast<size_t>(p)]].push_back(p);
    for (const auto& [owner, patches] : by_owner) {
      double sum = 0;
      for (const int p : patches) sum += atoms[static_cast<size_t>(p)];
      const int expected = static_cast<int>(std::ceil(sum));
      plan.receives.push_back({owner, patches, expected});
      plans[static_cast<size_t>(owner)].sends.push_back({static_cast<int>(r), patches, expected});
    }
  }
  return plans;
}

}  // namespace quiltmd
