// SPDX-License-Identifier: Apache-2.0
// Recursive bisection and ribbons, and the exchange plans that follow from an assignment.
#include "decomposition/assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>

namespace quiltmd {
namespace {

// Some patches, given to the ranks of a block of nodes, or to `count` ranks of a node.
struct Block {
  std::span<int> patches;
  Int3 node_low, node_high;
  int first, count;  // ranks of each node, beyond its first one
};

class Bisection {
 public:
  Bisection(const PatchGrid& grid, const std::vector<double>& weights, const MachineShape& machine)
      : grid_(grid), weights_(weights), machine_(machine), torus_(machine.dimensions()) {
    std::vector<int> patches(static_cast<size_t>(grid.size()));
    std::iota(patches.begin(), patches.end(), 0);
    assignment_ = {machine.ranks, patches, {}};
    share({patches, {0, 0, 0}, torus_, 0, machine.of_node});
    assignment_.compute_rank = assignment_.patch_rank;
  }
  Assignment take() { return std::move(assignment_); }

 private:
  void share(const Block& block) {
    const int ranks = ranks_of(block);
    if (ranks == 1 || block.patches.size() < 2) return give(block);
    Block left = block, right = block;
    halve_machine(left, right);
    const int left_ranks = ranks_of(left);
    if (left_ranks == 0 || left_ranks == ranks) return share(left_ranks ? left : right);
    const size_t cut = cut_patches(block.patches, speed_of(left) / speed_of(block));
    left.patches = block.patches.first(cut);
    right.patches = block.patches.subspan(cut);
    share(left);
    share(right);
  }

  // Across the side that is widest (in nm), which makes the smallest surface, and within the layer that
  // an even cut would go through. Orders patches; returns how many are before the cut.
  size_t cut_patches(std::span<int> patches, double share) const {
    const int d = widest(patches);
    std::sort(patches.begin(), patches.end(), [&](int a, int b) {
      const int at = grid_.cell(a)[d], other = grid_.cell(b)[d];
      return at != other ? at < other : a < b;
    });
    std::vector<double> running{0};
    for (const int p : patches)
      running.push_back(running.back() + weights_[static_cast<size_t>(p)]);
    const double wanted = running.back() * share;
    size_t best = 1;
    for (size_t i = 1; i < patches.size(); ++i)
      if (std::abs(running[i] - wanted) < std::abs(running[best] - wanted)) best = i;
    return best;
  }

  int widest(std::span<const int> patches) const {
    Int3 low = grid_.cell(patches[0]), high = low;
    for (const int p : patches)
      for (int d = 0; d < 3; ++d) {
        low[d] = std::min(low[d], grid_.cell(p)[d]);
        high[d] = std::max(high[d], grid_.cell(p)[d]);
      }
    const Vec3d widths = grid_.box.widths();
    int best = 0;
    double most = -1;
    for (int d = 0; d < 3; ++d) {
      const double width = widths[d] * (high[d] + 1 - low[d]) / grid_.cells[d];
      if (high[d] > low[d] && width > most + 1e-9) {
        best = d;
        most = width;
      }
    }
    return best;
  }

  // Nodes along the longest side of their block, then the ranks of a node.
  static void halve_machine(Block& left, Block& right) {
    const Int3 sides = left.node_high - left.node_low;
    int longest = 0;
    for (int d = 1; d < 3; ++d)
      if (sides[d] > sides[longest]) longest = d;
    if (sides[longest] > 1) {
      left.node_high[longest] = right.node_low[longest] =
          left.node_low[longest] + sides[longest] / 2;
    } else {
      left.count /= 2;
      right.first += left.count;
      right.count -= left.count;
    }
  }

  int first_rank(Int3 node) const {
    return ((node.x * torus_.y + node.y) * torus_.z + node.z) * machine_.of_node;
  }
  // Calls the function for each node of a block, with the first rank there and the number of those that exist.
  template <class Function>
  void over_nodes(const Block& block, Function function) const {
    for (int x = block.node_low.x; x < block.node_high.x; ++x)
      for (int y = block.node_low.y; y < block.node_high.y; ++y)
        for (int z = block.node_low.z; z < block.node_high.z; ++z) {
          const int first = first_rank({x, y, z}) + block.first;
          function(first, std::clamp(machine_.ranks - first, 0, block.count));
        }
  }
  int ranks_of(const Block& block) const {
    int sum = 0;
    over_nodes(block, [&](int, int count) { sum += count; });
    return sum;
  }
  double speed_of(const Block& block) const {
    double sum = 0;
    over_nodes(block, [&](int first, int count) {
      for (int rank = first; rank < first + count; ++rank) sum += machine_.speed(rank);
    });
    return sum;
  }

  // To one of its ranks. Always the first one would leave most lines of a torus without messages, and
  // crowd the others.
  void give(const Block& block) {
    const Int3 sides = block.node_high - block.node_low;
    const int i = block.patches.empty() ? 0 : block.patches[0] % (sides.x * sides.y * sides.z);
    const Int3 inside{i / (sides.y * sides.z), i / sides.z % sides.y, i % sides.z};
    int rank = first_rank(block.node_low + inside) + block.first;
    if (rank >= machine_.ranks) rank = first_rank(block.node_low) + block.first;
    for (const int p : block.patches) assignment_.patch_rank[static_cast<size_t>(p)] = rank;
  }

  const PatchGrid& grid_;
  const std::vector<double>& weights_;
  const MachineShape& machine_;
  const Int3 torus_;
  Assignment assignment_;
};

}  // namespace

int MachineShape::hops(int a, int b) const {
  int from = a / of_node, to = b / of_node, sum = 0;
  if (!torus.x) return from == to ? 0 : 1;
  for (const int d : {2, 1, 0}) {
    const int apart = std::abs(from % torus[d] - to % torus[d]);
    sum += std::min(apart, torus[d] - apart);
    from /= torus[d];
    to /= torus[d];
  }
  return sum;
}

std::vector<int> MachineShape::near(int rank) const {
  const int node = rank / of_node;
  std::vector<int> found;
  const auto add = [&](int i) {
    for (int r = i * of_node; r < std::min(ranks, (i + 1) * of_node); ++r) found.push_back(r);
  };
  add(node);
  if (!torus.x) return found;
  const Int3 place{node / (torus.y * torus.z), node / torus.z % torus.y, node % torus.z};
  for (int d = 0; d < 3; ++d)
    for (const int step : {1, torus[d] - 1}) {
      Int3 other = place;
      other[d] = (other[d] + step) % torus[d];
      add((other.x * torus.y + other.y) * torus.z + other.z);
    }
  return found;
}

Assignment bisect(const PatchGrid& grid, const std::vector<double>& weights,
                  const MachineShape& machine) {
  return Bisection(grid, weights, machine).take();
}

Assignment ribbons(const std::vector<double>& weights, const MachineShape& machine) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double speeds = 0;
  for (int rank = 0; rank < machine.ranks; ++rank) speeds += machine.speed(rank);
  Assignment assignment{machine.ranks, {}, {}};
  int rank = 0;
  double before = 0, end = machine.speed(0);
  for (const double weight : weights) {  // a patch goes where its middle falls
    const double middle = total > 0 ? (before + 0.5 * weight) / total : 0;
    while (rank + 1 < machine.ranks && middle * speeds >= end) end += machine.speed(++rank);
    assignment.patch_rank.push_back(rank);
    before += weight;
  }
  assignment.compute_rank = assignment.patch_rank;
  return assignment;
}

std::vector<int> patches_of_compute(const PatchGrid& grid, int compute) {
  const int patch = grid.patch_of_compute(compute);
  const int all = grid.holds == Holds::kFullShell ? grid.full_codes() : grid.codes();
  const CodeRange codes =
      grid.has_terms(compute) ? CodeRange{0, all} : grid.codes_of_compute(compute);
  std::set<int> patches{patch};
  for (int k = 0; k < codes.count; ++k) patches.insert(grid.neighbour(patch, codes.first + k));
  return {patches.begin(), patches.end()};
}

std::vector<int8_t> terms_computed(const PatchGrid& grid, const RankPlan& plan) {
  std::vector<int8_t> here(static_cast<size_t>(grid.size()), 0);
  for (const int c : plan.computes)
    if (grid.has_terms(c)) here[static_cast<size_t>(grid.patch_of_compute(c))] = 1;
  return here;
}

namespace {

// Other ranks with patches around this one.
std::set<int> ranks_around(const PatchGrid& grid, const std::vector<int>& patch_rank, int patch) {
  std::set<int> found;
  const Int3 cell = grid.cell(patch), n = grid.cells;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      for (int k = -1; k <= 1; ++k) {
        const Int3 beside{(cell.x + i + n.x) % n.x, (cell.y + j + n.y) % n.y,
                          (cell.z + k + n.z) % n.z};
        found.insert(patch_rank[static_cast<size_t>(grid.index(beside))]);
      }
  found.erase(patch_rank[static_cast<size_t>(patch)]);
  return found;
}

void count_border_atoms(const PatchGrid& grid, const Assignment& assignment,
                        const std::vector<double>& atoms, std::vector<RankPlan>& plans) {
  std::map<std::pair<int, int>, double> sums;  // by two ranks, the lower one first
  for (int p = 0; p < grid.size(); ++p) {
    const int rank = assignment.patch_rank[static_cast<size_t>(p)];
    for (const int other : ranks_around(grid, assignment.patch_rank, p))
      sums[std::minmax(rank, other)] += atoms[static_cast<size_t>(p)];
  }
  for (const auto& [ranks, sum] : sums) {
    const int expected = static_cast<int>(std::ceil(sum));
    plans[static_cast<size_t>(ranks.first)].border_atoms[ranks.second] = expected;
    plans[static_cast<size_t>(ranks.second)].border_atoms[ranks.first] = expected;
  }
}

void choose_migrant_peers(std::vector<RankPlan>& plans) {
  const auto ranks = static_cast<int>(plans.size());
  for (int r = 0; r < ranks; ++r) {
    RankPlan& plan = plans[static_cast<size_t>(r)];
    plan.migrant_peers = plan.tree.top;
    if (plan.tree.has_all_at_top()) continue;
    plan.migrant_peers.clear();
    for (const auto& [peer, border] : plan.border_atoms) plan.migrant_peers.push_back(peer);
  }
}

}  // namespace

std::vector<RankPlan> plan_ranks(const PatchGrid& grid, const Assignment& assignment,
                                 const std::vector<double>& atoms) {
  return plan_ranks(grid, assignment, atoms, MachineShape{assignment.ranks});
}

std::vector<RankPlan> plan_ranks(const PatchGrid& grid, const Assignment& assignment,
                                 const std::vector<double>& atoms, const MachineShape& machine) {
  const auto ranks = static_cast<size_t>(assignment.ranks);
  std::vector<RankPlan> plans(ranks);
  std::vector<std::set<int>> proxies(ranks);
  std::vector<std::vector<int>> boundary(ranks);
  for (int p = 0; p < grid.size(); ++p)
    plans[static_cast<size_t>(assignment.patch_rank[static_cast<size_t>(p)])].owned.push_back(p);
  for (int c = 0; c < grid.computes(); ++c) {
    const auto rank = static_cast<size_t>(assignment.compute_rank[static_cast<size_t>(c)]);
    bool interior = true;
    for (int p : patches_of_compute(grid, c)) {
      if (assignment.patch_rank[static_cast<size_t>(p)] == static_cast<int>(rank)) continue;
      proxies[rank].insert(p);
      interior = false;
    }
    (interior ? plans[rank].computes : boundary[rank]).push_back(c);
  }
  if (grid.holds == Holds::kAll)
    for (size_t r = 0; r < ranks; ++r)
      for (int p = 0; p < grid.size(); ++p)
        if (assignment.patch_rank[static_cast<size_t>(p)] != static_cast<int>(r))
          proxies[r].insert(p);
  for (size_t r = 0; r < ranks; ++r) {
    RankPlan& plan = plans[r];
    plan.tree = tree_of(machine, static_cast<int>(r));
    plan.speed = machine.speed(static_cast<int>(r));
    plan.interior = static_cast<int>(plan.computes.size());
    plan.computes.insert(plan.computes.end(), boundary[r].begin(), boundary[r].end());
    plan.proxies.assign(proxies[r].begin(), proxies[r].end());
    double owned = 0;
    for (const int p : plan.owned) owned += atoms[static_cast<size_t>(p)];
    plan.atoms = static_cast<int>(std::ceil(owned));
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
  count_border_atoms(grid, assignment, atoms, plans);
  choose_migrant_peers(plans);
  return plans;
}

}  // namespace quiltmd
