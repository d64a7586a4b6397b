// SPDX-License-Identifier: Apache-2.0
// The tree by which all ranks come to know a sum over all of them: children send to their parent, the
// ranks at the top send to each other, and parents send the result to their children. With up to eight
// ranks all are at the top, and the result is there after one message. It follows the machine: seven
// children of a node or of nodes side by side, so that most messages are short ones.
//
// Fewer ranks below each parent would make more messages in sequence; more of them, more messages that one
// rank sends and receives one after another.
#pragma once

#include <vector>

namespace quiltmd {

struct MachineShape;

// Up to this number of ranks each sends to each.
inline constexpr int kMostAtTop = 8;

// The neighbours of one rank in the tree.
struct RankTree {
  struct Child {
    int rank, height;
  };
  int parent = -1;  // -1: the rank is at the top
  int height = 0;   // more than that of any child
  std::vector<Child> children;
  std::vector<int> top;  // of a rank at the top: the others there
  int top_height = 0;    // of all ranks at the top

  bool is_at_top() const { return parent < 0; }
  bool has_all_at_top() const { return top_height == 0; }
  // Messages come in rounds, each after those on which it depends: up from a rank of this height, across the
  // top, and down to a rank of this height.
  static int round_up(int height) { return height; }
  int round_across() const { return top_height; }
  int round_down(int height) const { return 2 * top_height - height; }
};

RankTree tree_of(const MachineShape& machine, int rank);

}  // namespace quiltmd
