// SPDX-License-Identifier: Apache-2.0
// Which rank owns which patch and makes which compute. A compute is named by its patch: that patch
// against itself and its half shell, with the bonded terms whose base patch it is.
#pragma once

#include <vector>

#include "decomposition/patch_grid.h"

namespace quiltmd {

struct Assignment {
  int ranks = 1;
  std::vector<int> patch_rank;
  std::vector<int> compute_rank;
};

// Recursive bisection of the patch grid along its longest side, weighted (by atoms), so that
// neighbours stay together. Every compute starts at the rank of its patch.
Assignment bisect(const PatchGrid& grid, const std::vector<double>& weights, int ranks);

// Refine from measured times: move computes from the busiest to the least busy ranks, a compute
// whose move adds the fewest proxies first, until no rank is above `tolerance` times the mean.
// `load` is each rank's measured time that does not move, `cost` each compute's time.
Assignment refine(const PatchGrid& grid, const Assignment& start, const std::vector<double>& load,
                  const std::vector<double>& cost, double tolerance);

// What one rank holds and exchanges.
struct Exchange {
  int rank;
  std::vector<int> patches;  // ascending
};
struct RankPlan {
  std::vector<int> owned;     // patches, ascending
  std::vector<int> proxies;   // patches of others that its computes need, ascending
  std::vector<int> computes;  // interior ones (all patches owned) first, ascending in each part
  int interior = 0;
  std::vector<Exchange> sends;     // owned patches that others have proxies of
  std::vector<Exchange> receives;  // proxies by owner
};
std::vector<RankPlan> plan_ranks(const PatchGrid& grid, const Assignment& assignment);

}  // namespace quiltmd
