// SPDX-License-Identifier: Apache-2.0
#include "schedule/grid_shares.h"

#include <algorithm>
#include <numeric>

#include "computes/pme/setup.h"
#include "math/error.h"

namespace quiltmd {
namespace {

// The planes that atoms of a rank reach, however far (up to the list buffer, beyond which a step is not
// valid, and a hydrogen group's radius) they stick out of their patches.
std::vector<int32_t> planes_reached(const Setup& setup, const PmeGrid& grid, const RankPlan& plan) {
  const PatchGrid& patches = setup.grid;
  const double margin = setup.group_radius + setup.ages.limit.back();
  const double beyond = margin / (patches.cells.x * patches.least_width);  // in any box that serves
  std::vector<char> has_column(static_cast<size_t>(patches.cells.x), 0);
  for (const int patch : plan.owned) has_column[static_cast<size_t>(patches.cell(patch).x)] = 1;
  std::vector<char> is_reached(static_cast<size_t>(grid.nx), 0);
  for (int x = 0; x < patches.cells.x; ++x) {
    if (!has_column[static_cast<size_t>(x)]) continue;
    const PlaneRange range = pme_plane_range(grid, x, beyond);
    for (int i = 0; i < range.count; ++i)
      is_reached[static_cast<size_t>((range.first + i) % grid.nx)] = 1;
  }
  std::vector<int32_t> planes;
  for (int plane = 0; plane < grid.nx; ++plane)
    if (is_reached[static_cast<size_t>(plane)]) planes.push_back(plane);
  return planes;
}

}  // namespace

std::optional<MeshSharing> mesh_sharing_named(const std::string& name) {
  if (name == "distributed") return MeshSharing::kDistributed;
  if (name == "replicated") return MeshSharing::kReplicated;
  if (name == "auto") return std::nullopt;
  throw Error("unknown way to share PME '" + name + "': choose auto, distributed or replicated");
}

GridShares::GridShares(const Setup& setup, const PmeGrid& grid, const std::vector<RankPlan>& plans,
                       MeshSharing mesh)
    : grid_(grid), mesh_(mesh), planes_(static_cast<size_t>(grid.nx)) {
  std::iota(planes_.begin(), planes_.end(), 0);
  for (const RankPlan& plan : plans) reached_.push_back(planes_reached(setup, grid, plan));
}

GridShares::Range GridShares::part_of(int total, int rank) const {
  if (replicated()) return {0, total};
  const auto ranks = static_cast<int64_t>(reached_.size());
  const int first = static_cast<int>(int64_t{total} * rank / ranks);
  const int end = static_cast<int>(int64_t{total} * (rank + 1) / ranks);
  return {first, end - first};
}

std::span<const int32_t> GridShares::reached(int user, int owner) const {
  const auto& planes = reached_[static_cast<size_t>(user)];
  const Range of = planes_of(owner);
  return {std::lower_bound(planes.begin(), planes.end(), of.first),
          std::lower_bound(planes.begin(), planes.end(), of.first + of.count)};
}

GridPart GridShares::reached_part(int user, int owner) const {
  const auto planes = reached(user, owner);
  const int64_t size = int64_t{grid_.ny} * grid_.nz;
  return {planes.data(), static_cast<int>(planes.size()), size, 0, static_cast<int>(size)};
}

GridPart GridShares::crossing_part(int planes, int lines) const {
  const Range x = planes_of(planes), y = lines_of(lines);
  const int64_t row = int64_t{2} * (grid_.nz / 2 + 1);
  return {planes_.data() + x.first, x.count, row * grid_.ny, row * y.first,
          static_cast<int>(row) * y.count};
}

}  // namespace quiltmd
