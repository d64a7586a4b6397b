// SPDX-License-Identifier: Apache-2.0
#include "schedule/grid_shares.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "computes/pme/setup.h"
#include "math/error.h"

namespace quiltmd {
namespace {

// The planes of a dimension that atoms of a rank reach, however far (up to the list buffer, beyond which
// a step is not valid, and a hydrogen group's radius) they stick out of their patches.
std::vector<int32_t> planes_reached(const Setup& setup, const PmeGrid& grid, const RankPlan& plan,
                                    int dimension) {
  const PatchGrid& patches = setup.grid;
  const int cells = patches.cells[dimension];
  const auto n = static_cast<size_t>(Int3{grid.nx, grid.ny, grid.nz}[dimension]);
  const double margin = setup.group_radius + setup.ages.limit.back();
  const double beyond = margin / (cells * patches.least_width);  // in any box that serves
  std::vector<char> has_cell(static_cast<size_t>(cells), 0);
  for (const int patch : plan.owned)
    has_cell[static_cast<size_t>(patches.cell(patch)[dimension])] = 1;
  std::vector<char> is_reached(n, 0);
  for (int cell = 0; cell < cells; ++cell) {
    if (!has_cell[static_cast<size_t>(cell)]) continue;
    const GridRange range = pme_reach(grid, dimension, cell, beyond);
    for (int i = 0; i < range.count; ++i) is_reached[static_cast<size_t>(range.first + i) % n] = 1;
  }
  std::vector<int32_t> planes;
  for (size_t plane = 0; plane < n; ++plane)
    if (is_reached[plane]) planes.push_back(static_cast<int32_t>(plane));
  return planes;
}

GridRange part_of(int total, int part, int parts) {
  const int first = static_cast<int>(int64_t{total} * part / parts);
  const int end = static_cast<int>(int64_t{total} * (part + 1) / parts);
  return {first, end - first};
}

// Of sorted numbers, those in a range.
std::vector<int32_t> within(const std::vector<int32_t>& numbers, GridRange range) {
  return {std::lower_bound(numbers.begin(), numbers.end(), range.first),
          std::lower_bound(numbers.begin(), numbers.end(), range.first + range.count)};
}

std::vector<int32_t> all_of(GridRange range) {
  std::vector<int32_t> numbers(static_cast<size_t>(range.count));
  std::iota(numbers.begin(), numbers.end(), range.first);
  return numbers;
}

std::vector<int> others(const std::vector<int>& ranks, int rank) {
  std::vector<int> found;
  for (const int other : ranks)
    if (other != rank) found.push_back(other);
  return found;
}

// A rectangle of pencils.
struct Rectangle {
  int rows, columns;
};

// With the least to transform for the rank that has most; then with the fewest messages.
Rectangle choose_rectangle(const PmeGrid& grid, int ranks) {
  const int frequencies = grid.nz / 2 + 1;
  const auto share = [](int n, int parts) { return int64_t{(n + parts - 1) / parts}; };
  Rectangle best{1, 1};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int rows = 1; rows <= std::min({ranks, grid.nx, grid.ny}); ++rows) {
    const int columns = std::min({ranks / rows, grid.ny, frequencies});
    const int64_t work = share(grid.nx, rows) * (share(grid.ny, columns) * grid.nz +
                                                 share(frequencies, columns) * grid.ny) +
                         share(grid.ny, rows) * share(frequencies, columns) * grid.nx;
    const bool fewer = rows + columns < best.rows + best.columns;
    if (work > least || (work == least && !fewer)) continue;
    least = work;
    best = {rows, columns};
  }
  return best;
}

}  // namespace

std::optional<MeshSharing> mesh_sharing_named(const std::string& name) {
  if (name == "distributed") return MeshSharing::kDistributed;
  if (name == "replicated") return MeshSharing::kReplicated;
  if (name == "pencils") return MeshSharing::kPencils;
  if (name == "auto") return std::nullopt;
  throw Error("unknown way to share PME '" + name +
              "': choose auto, distributed, pencils or replicated");
}

GridShares::GridShares(const Setup& setup, const PmeGrid& grid, const std::vector<RankPlan>& plans,
                       MeshSharing mesh)
    : grid_(grid), frequencies_(grid.nz / 2 + 1), mesh_(mesh) {
  for (const RankPlan& plan : plans) {
    reached_x_.push_back(planes_reached(setup, grid, plan, 0));
    reached_y_.push_back(planes_reached(setup, grid, plan, 1));
  }
  blocks_.resize(plans.size());
  places_.resize(plans.size());
  if (mesh == MeshSharing::kPencils)
    share_pencils();
  else
    share_slabs();
}

void GridShares::share_slabs() {
  const int ranks = static_cast<int>(blocks_.size());
  columns_.resize(1);
  for (int rank = 0; rank < ranks; ++rank) {
    const int part = replicated() ? 0 : rank, parts = replicated() ? 1 : ranks;
    blocks_[static_cast<size_t>(rank)] = {part_of(grid_.nx, part, parts),
                                          {0, grid_.ny},
                                          {0, frequencies_},
                                          part_of(grid_.ny, part, parts)};
    places_[static_cast<size_t>(rank)] = {rank, 0};
    rows_.push_back({rank});
    columns_[0].push_back(rank);
  }
}

void GridShares::share_pencils() {
  const auto ranks = static_cast<int64_t>(blocks_.size());
  const Rectangle r = choose_rectangle(grid_, static_cast<int>(ranks));
  rows_.resize(static_cast<size_t>(r.rows));
  columns_.resize(static_cast<size_t>(r.columns));
  for (int row = 0; row < r.rows; ++row)
    for (int column = 0; column < r.columns; ++column) {
      const int64_t pencil = int64_t{row} * r.columns + column;
      const auto rank = static_cast<size_t>(pencil * ranks / (int64_t{r.rows} * r.columns));
      blocks_[rank] = {part_of(grid_.nx, row, r.rows), part_of(grid_.ny, column, r.columns),
                       part_of(frequencies_, column, r.columns), part_of(grid_.ny, row, r.rows)};
      places_[rank] = {row, column};
      rows_[static_cast<size_t>(row)].push_back(static_cast<int>(rank));
      columns_[static_cast<size_t>(column)].push_back(static_cast<int>(rank));
    }
}

std::vector<int> GridShares::owners(int user) const {
  std::vector<int> found;
  for (const std::vector<int>& row : rows_) {
    if (within(reached_x_[static_cast<size_t>(user)], block(row[0]).x).empty()) continue;
    for (const int owner : row)
      if (!within(reached_y_[static_cast<size_t>(user)], block(owner).y).empty())
        found.push_back(owner);
  }
  return found;
}

GridRuns GridShares::reached(int user, int owner) const {
  const Block& of = block(owner);
  std::vector<int32_t> planes = within(reached_x_[static_cast<size_t>(user)], of.x);
  const std::vector<int32_t> y = within(reached_y_[static_cast<size_t>(user)], of.y);
  const int64_t plane = int64_t{grid_.ny} * grid_.nz;
  if (y.empty() || planes.empty()) return {{}, plane, 0, 0};
  // What lies between rows that are reached travels with them.
  const int rows = y.back() - y.front() + 1;
  return {std::move(planes), plane, int64_t{y.front()} * grid_.nz, rows * grid_.nz};
}

std::vector<int> GridShares::row_peers(int rank) const {
  if (block(rank).x.count == 0) return {};
  return others(rows_[static_cast<size_t>(places_[static_cast<size_t>(rank)].row)], rank);
}

std::vector<int> GridShares::column_peers(int rank) const {
  if (replicated() || block(rank).k.count == 0) return {};
  return others(columns_[static_cast<size_t>(places_[static_cast<size_t>(rank)].column)], rank);
}

GridRuns GridShares::crossing(int from, int to) const {
  const Block &a = block(from), &b = block(to);
  const bool in_row =
      places_[static_cast<size_t>(from)].row == places_[static_cast<size_t>(to)].row;
  return in_row ? rows(a.x, a.y, b.k) : rows(a.x, b.lines, b.k);
}

// Values of the spectrum at these x, y and kz: of whole planes where they have all kz.
GridRuns GridShares::rows(GridRange x, GridRange y, GridRange k) const {
  const int64_t row = int64_t{2} * frequencies_;
  if (k.count == frequencies_)
    return {all_of(x), row * grid_.ny, row * y.first, static_cast<int>(row) * y.count};
  std::vector<int32_t> numbers;
  for (const int32_t plane : all_of(x))
    for (const int32_t line : all_of(y)) numbers.push_back(plane * grid_.ny + line);
  return {std::move(numbers), row, int64_t{2} * k.first, 2 * k.count};
}

}  // namespace quiltmd
