// SPDX-License-Identifier: Apache-2.0
// Which rank owns which patch and makes which compute: a patch against itself and its half shell, with the
// bonded terms whose base patch it is, or against one patch of these (Grain).
#pragma once

#include <map>
#include <vector>

#include "decomposition/patch_grid.h"
#include "decomposition/rank_tree.h"

namespace quiltmd {

struct Assignment {
  int ranks = 1;
  std::vector<int> patch_rank;
  std::vector<int>
      compute_rank;  // by number of the compute (PatchGrid); bisect() and ribbons(): by patch

  bool operator==(const Assignment&) const = default;
};

// Network of the machine: a number of ranks in each node, in order, and nodes in a torus, z fastest. Not all
// nodes need have ranks. By default one rank in each node, in a row.
struct MachineShape {
  int ranks = 1;
  int of_node = 1;
  Int3 torus{};                     // {0, 0, 0}: a row of as many as there are
  std::vector<double> speeds = {};  // of ranks, relative to each other; empty: all alike

  // All ranks are as near each other.
  bool is_flat() const { return of_node == 1 && !torus.x; }
  double speed(int rank) const { return speeds.empty() ? 1 : speeds[static_cast<size_t>(rank)]; }
  int nodes() const { return (ranks + of_node - 1) / of_node; }
  Int3 dimensions() const { return torus.x ? torus : Int3{nodes(), 1, 1}; }
  // Links between the nodes of two ranks; without a torus 1, a switch for all of them.
  int hops(int a, int b) const;
  // The ranks of its node, and of those a link away in a torus.
  std::vector<int> near(int rank) const;
};

// Every compute starts at the rank of its patch; weights are atoms of patches, which ranks get in proportion to
// their speeds.
//
// Recursive bisection of the patch grid across its longest side, and of the machine's torus beside it, so
// that neighbours stay together and are near each other. No cut is further from an even one than half a
// patch.
Assignment bisect(const PatchGrid& grid, const std::vector<double>& weights,
                  const MachineShape& machine);
// Ribbons: rank after rank takes the next patches in the order of their index, which goes along x last.
// No cut is further from an even one than half a patch. As the half shell goes to higher x, a rank has
// proxies on one side only, and the planes of the long-range sum that it reaches are few; of many ranks
// each holds a slice with large faces.
Assignment ribbons(const std::vector<double>& weights, const MachineShape& machine);

// The patches that a compute needs, ascending: where it has bonded terms, its own and its half shell, or full
// shell where ranks hold these; else its own and the other.
std::vector<int> patches_of_compute(const PatchGrid& grid, int compute);

// Atoms that one rank holds and exchanges.
struct Exchange {
  int rank;
  std::vector<int> patches;  // ascending
  int atoms = 0;             // in them, as expected
};
struct RankPlan {
  std::vector<int> owned;     // patches, ascending
  int atoms = 0;              // in them, as expected
  std::vector<int> proxies;   // patches of others that its computes need, ascending
  std::vector<int> computes;  // interior ones (all patches owned) first, ascending in each part
  int interior = 0;
  std::vector<Exchange> sends;     // owned patches that others have proxies of
  std::vector<Exchange> receives;  // proxies by owner
  // For each rank whose patches touch patches of this one: expected number of atoms in the patches of both.
  std::map<int, int> border_atoms;
  double speed = 1;  // relative to other ranks
  // Ranks to which hydrogen groups may move between two rebuilds, ascending: those whose patches touch patches
  // of this one; if all ranks send to each (rank_tree.h), all others.
  std::vector<int> migrant_peers;
  RankTree tree;  // its place among all ranks
};
// By patch, whether a rank makes the compute with its bonded terms.
std::vector<int8_t> terms_computed(const PatchGrid& grid, const RankPlan& plan);

// `atoms`: how many are expected in each patch. Without a machine, ranks are in a row.
std::vector<RankPlan> plan_ranks(const PatchGrid& grid, const Assignment& assignment,
                                 const std::vector<double>& atoms, const MachineShape& machine);
std::vector<RankPlan> plan_ranks(const PatchGrid& grid, const Assignment& assignment,
                                 const std::vector<double>& atoms);

}  // namespace quiltmd
