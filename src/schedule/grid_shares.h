// SPDX-License-Identifier: Apache-2.0
// Which part of the grids of the long-range sum each rank works on, and what of them others need.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "computes/long_range/pme/exchange_operations.h"
#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// The way of sharing that is named; none for "auto". Throws Error for what is no name of one.
std::optional<MeshSharing> mesh_sharing_named(const std::string& name);
const char* mesh_sharing_name(MeshSharing mesh);

// The messages of a mesh, in the order of their stages.
struct MeshEdges {
  Edge charges, spectrum, spectrum_back, potential;
};
MeshEdges edges_of(MeshOf of);

// A GridPart whose numbers of planes are not in device memory yet.
struct GridRuns {
  std::vector<int32_t> planes;
  int64_t plane_size;
  int64_t begin;
  int length;

  GridPart part(const int32_t* numbers) const {
    return {numbers, static_cast<int>(planes.size()), plane_size, begin, length};
  }
  int64_t words() const { return part(nullptr).words(); }
  size_t bytes() const { return planes.size() * static_cast<size_t>(length) * sizeof(uint32_t); }
};

// Slabs: a rank transforms whole planes (y, z), and lines along x of some y; slabs are as wide as their ranks
// are fast. Replicated: each rank does all. Pencils, for more ranks than planes: ranks form a rectangle; those
// of a row share a range of x, and exchange the spectrum between the transforms along z and y; those of a column
// share a range of kz, and exchange it between the transforms along y and x. Ranks take their parts in the order
// in which their patches lie along x (and pencils, in a row, along y), so that much of the grid that their atoms
// reach is theirs or their neighbours'.
class GridShares {
 public:
  // Block that a rank transforms, empty if it has no part.
  struct Block {
    GridRange x, y;  // along z
    GridRange k;     // along y, at these x; and along x, at these `lines` of y
    GridRange lines;
  };

  GridShares(const Setup& setup, const PmeGrid& grid, const std::vector<RankPlan>& plans,
             MeshSharing mesh);

  bool replicated() const { return mesh_ == MeshSharing::kReplicated; }
  const Block& block(int rank) const { return blocks_[static_cast<size_t>(rank)]; }
  // Who transforms what atoms of a rank reach, itself included.
  std::vector<int> owners(int user) const;
  // Part of a real grid within reach of atoms of `user` that `owner` transforms.
  GridRuns reached(int user, int owner) const;

  // The other ranks of its row, and of its column; slabs are one column.
  std::vector<int> row_peers(int rank) const;
  std::vector<int> column_peers(int rank) const;
  // The part of the spectrum that `from` has transformed along z or y and `to` transforms along y or x.
  GridRuns crossing(int from, int to) const;

 private:
  struct Place {
    int row = 0, column = 0;
  };

  using Middle = std::array<double, 2>;
  void share_slabs(const std::vector<Middle>& middles, const std::vector<RankPlan>& plans);
  void share_pencils(const std::vector<Middle>& middles);
  GridRuns rows(GridRange x, GridRange y, GridRange k) const;

  PmeGrid grid_;
  int frequencies_;  // along z
  MeshSharing mesh_;
  std::vector<Block> blocks_;                                // by rank
  std::vector<Place> places_;                                // by rank; row -1: it has no planes
  std::vector<std::vector<int>> rows_, columns_;             // of the rectangle, the ranks
  std::vector<std::vector<int32_t>> reached_x_, reached_y_;  // planes, by the atoms of each rank
};

}  // namespace quiltmd
