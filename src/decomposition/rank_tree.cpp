// SPDX-License-Identifier: Apache-2.0
// Blocks of ranks, each halved three times less than those of the next level: among the ranks of nodes,
// then along the longest side of the torus. The rank of a block with the lowest number, which is in its
// lowest corner, is the parent of those of the smaller blocks in it.
#include "decomposition/rank_tree.h"

#include <algorithm>
#include <array>

#include "decomposition/assignment.h"

namespace quiltmd {
namespace {

constexpr int kHalvings = 3;  // between two levels, which makes eight blocks of one

// Places of ranks: within the node, and of the node.
using Place = std::array<int, 4>;

class Blocks {
 public:
  explicit Blocks(const MachineShape& machine) : ranks_(machine.ranks) {
    const Int3 nodes = machine.dimensions();
    size_ = {machine.of_node, nodes.x, nodes.y, nodes.z};
    shifts_.push_back({0, 0, 0, 0});
    int blocks = ranks_;
    for (Place sides = size_; blocks > kMostAtTop;) {
      shifts_.push_back(shifts_.back());
      for (int k = 0; k < kHalvings; ++k) {
        const size_t d = longest(sides);
        sides[d] = (sides[d] + 1) / 2;
        ++shifts_.back()[d];
      }
      blocks = sides[0] * sides[1] * sides[2] * sides[3];
    }
  }

  int levels() const { return static_cast<int>(shifts_.size()) - 1; }

  // The lowest rank of a rank's block.
  int first_of(int rank, int level) const {
    Place place = place_of(rank);
    for (size_t d = 0; d < place.size(); ++d)
      place[d] = place[d] >> shift(level)[d] << shift(level)[d];
    return rank_at(place);
  }

  // The lowest ranks of the blocks of a level that are in a rank's block of the next, or of all at the top.
  std::vector<int> firsts_below(int rank, int level) const {
    const bool is_top = level == levels();
    const Place low = is_top ? Place{} : place_of(first_of(rank, level + 1));
    Place high = size_, step{};
    for (size_t d = 0; d < low.size(); ++d) {
      step[d] = 1 << shift(level)[d];
      if (!is_top) high[d] = std::min(high[d], low[d] + (1 << shift(level + 1)[d]));
    }
    std::vector<int> found;
    Place at;
    for (at[1] = low[1]; at[1] < high[1]; at[1] += step[1])
      for (at[2] = low[2]; at[2] < high[2]; at[2] += step[2])
        for (at[3] = low[3]; at[3] < high[3]; at[3] += step[3])
          for (at[0] = low[0]; at[0] < high[0]; at[0] += step[0])
            if (rank_at(at) < ranks_) found.push_back(rank_at(at));
    return found;
  }

 private:
  static size_t longest(const Place& sides) {
    if (sides[0] > 1) return 0;
    return static_cast<size_t>(std::max_element(sides.begin() + 1, sides.end()) - sides.begin());
  }
  const Place& shift(int level) const { return shifts_[static_cast<size_t>(level)]; }
  Place place_of(int rank) const {
    const int node = rank / size_[0];
    return {rank % size_[0], node / (size_[2] * size_[3]), node / size_[3] % size_[2],
            node % size_[3]};
  }
  int rank_at(const Place& p) const {
    return ((p[1] * size_[2] + p[2]) * size_[3] + p[3]) * size_[0] + p[0];
  }

  int ranks_;
  Place size_;
  std::vector<Place> shifts_;  // by level: number of doublings of the length of a block
};

}  // namespace

RankTree tree_of(const MachineShape& machine, int rank) {
  const Blocks blocks(machine);
  RankTree tree;
  tree.top_height = blocks.levels();
  while (tree.height < tree.top_height && blocks.first_of(rank, tree.height + 1) == rank) {
    for (const int child : blocks.firsts_below(rank, tree.height))
      if (child != rank) tree.children.push_back({child, tree.height});
    ++tree.height;
  }
  if (tree.height < tree.top_height) {
    tree.parent = blocks.first_of(rank, tree.height + 1);
    return tree;
  }
  tree.top = blocks.firsts_below(rank, tree.top_height);
  std::erase(tree.top, rank);
  return tree;
}

}  // namespace quiltmd
