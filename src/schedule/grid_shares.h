// SPDX-License-Identifier: Apache-2.0
// Which part of the grids of the long-range sum each rank works on, and what of them others need.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "computes/pme/exchange_operations.h"
#include "schedule/rank_memory.h"

namespace quiltmd {

// The way of sharing that is named; none for "auto". Throws Error for what is no name of one.
std::optional<MeshSharing> mesh_sharing_named(const std::string& name);

class GridShares {
 public:
  struct Range {
    int first, count;
  };

  GridShares(const Setup& setup, const PmeGrid& grid, const std::vector<RankPlan>& plans,
             MeshSharing mesh);

  bool replicated() const { return mesh_ == MeshSharing::kReplicated; }
  // The planes that a rank transforms in y and z, and the lines that it transforms along x, by y.
  Range planes_of(int rank) const { return part_of(grid_.nx, rank); }
  Range lines_of(int rank) const { return part_of(grid_.ny, rank); }
  // Planes, among those that `owner` transforms, that atoms of `user` reach.
  std::span<const int32_t> reached(int user, int owner) const;

  // Parts of grids, whose numbers of planes are kept here.
  // What atoms of `user` reach of a real grid, where `owner` transforms it.
  GridPart reached_part(int user, int owner) const;
  // Of the planes that one rank transforms, the lines of another, of a spectrum.
  GridPart crossing_part(int planes, int lines) const;

 private:
  Range part_of(int total, int rank) const;

  PmeGrid grid_;
  MeshSharing mesh_;
  std::vector<int32_t> planes_;                // all: 0, 1, 2, ...
  std::vector<std::vector<int32_t>> reached_;  // by the atoms of each rank
};

}  // namespace quiltmd
