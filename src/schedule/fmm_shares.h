// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other of the levels of the fast multipole method, where each has whole planes of level 0.
#pragma once

#include "computes/long_range/fmm/levels.h"
#include "schedule/grid_shares.h"

namespace quiltmd {

// Slabs in place of pencils, which only transforms need.
MeshSharing sharing_of_fmm(MeshSharing sharing);

// Messages of what a group of ranks has of level 1: an edge of the mesh of the dispersion, which cannot be there as
// well.
inline constexpr Edge kPassedLevel = Edge::kDispersionSpectrumBack;

// How something of every rank comes to all of them, without a message from each to each other: first to those of
// its group, then to one rank of each other group, or a few, for what the whole group has. Groups are of ranks that
// follow one another, as many as there are ranks in one; a few ranks are one group.
class Gathering {
 public:
  explicit Gathering(int ranks);

  bool has_one_group() const { return groups_ == 1; }
  bool is_own_group(int rank, int other) const { return group(rank) == group(other); }
  // Whether `from` passes on to `to`, which is of another group, what its group has.
  bool passes(int from, int to) const;
  // The first rank of the group of a rank, and the number of ranks in it.
  GridRange group_of(int rank) const;

 private:
  int group(int rank) const { return ((rank + 1) * groups_ - 1) / ranks_; }
  int first(int group) const { return group * ranks_ / groups_; }

  int ranks_, groups_;
};

class FmmShares {
 public:
  // `reach`: of the stencil along x.
  FmmShares(const GridShares& shares, const FmmLevels& levels, int ranks, int reach);

  // Planes of level 0 of `from` that the stencil or a point of level 1 takes to planes of `to`.
  GridRuns near(int from, int to) const;
  // Planes of level 1 that `from` makes and `to` gets from it; and what its whole group makes.
  GridRuns level(int from, int to) const;
  GridRuns passed(int from, int to) const;
  bool passes_on() const { return !gathering_.has_one_group(); }

 private:
  void add_level_one(int rank, std::vector<int32_t>& numbers) const;

  const GridShares& shares_;
  FmmLevels levels_;
  Gathering gathering_;
  int reach_;
};

}  // namespace quiltmd
