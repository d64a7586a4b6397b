// SPDX-License-Identifier: Apache-2.0
// Which part of the grids of the long-range sum each rank works on, and what of them others need.
#pragma once

#include <vector>

#include "computes/pme/exchange_operations.h"
#include "schedule/rank_memory.h"

namespace quiltmd {

class GridShares {
 public:
  struct Range {
    int first, count;
  };

  GridShares(RankMemory& memory, const RankView& view) : m_(memory), view_(view) {}

  bool replicated() const { return view_.mesh == MeshSharing::kReplicated; }
  // The planes that a rank transforms in y and z, and the lines that it transforms along x, by y.
  Range planes_of(int rank) const { return part_of(m_.mesh->grid.nx, rank); }
  Range lines_of(int rank) const { return part_of(m_.mesh->grid.ny, rank); }
  // Planes, among those that `owner` transforms, that atoms of `user` reach.
  std::vector<int32_t> reached(int user, int owner) const;

  // The same as part of a real grid.
  GridPart reached_part(int user, int owner) const;
  // Of the planes that one rank transforms, the lines of another.
  GridPart crossing_part(int planes, int lines) const;

 private:
  Range part_of(int total, int rank) const;

  RankMemory& m_;
  const RankView& view_;
};

}  // namespace quiltmd
