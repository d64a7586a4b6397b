// SPDX-License-Identifier: Apache-2.0
#include "schedule/grid_shares.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "computes/long_range/pme/setup.h"
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
  const double margin = setup.group_radii.any + setup.ages.limit.back();
  const double beyond =
      margin / (cells * patches.least_width[dimension]);  // in any box that serves
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

// Of `total`, what lies between two parts of `all`; what ends at `all` has the last, however this is rounded.
GridRange between(int total, double begin, double end, double all) {
  const auto place = [&](double part) {
    return part < all ? static_cast<int>(total * part / all) : total;
  };
  return {place(begin), place(end) - place(begin)};
}

// The sorted numbers that are in a range.
std::vector<int32_t> within(const std::vector<int32_t>& numbers, GridRange range) {
  return {std::lower_bound(numbers.begin(), numbers.end(), range.first),
          std::lower_bound(numbers.begin(), numbers.end(), range.first + range.count)};
}

bool has_any(const std::vector<int32_t>& numbers, GridRange range) {
  const auto found = std::lower_bound(numbers.begin(), numbers.end(), range.first);
  return found != numbers.end() && *found < range.first + range.count;
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

// The middle of each rank's patches along x and y, counted in patches. Ranks without any are beside the
// one before.
std::vector<std::array<double, 2>> middles_of(const PatchGrid& grid,
                                              const std::vector<RankPlan>& plans) {
  std::vector<std::array<double, 2>> middles;
  std::array<double, 2> last{};
  for (const RankPlan& plan : plans) {
    if (!plan.owned.empty()) last = {};
    for (const int patch : plan.owned)
      for (const int d : {0, 1})
        last[static_cast<size_t>(d)] +=
            grid.cell(patch)[d] / static_cast<double>(plan.owned.size());
    middles.push_back(last);
  }
  return middles;
}

// Ranks [begin, end) by their middles along a dimension, equal ones as they were.
template <class Iterator>
void order_along(Iterator begin, Iterator end, const std::vector<std::array<double, 2>>& middles,
                 size_t dimension) {
  std::stable_sort(begin, end, [&](int a, int b) {
    return middles[static_cast<size_t>(a)][dimension] < middles[static_cast<size_t>(b)][dimension];
  });
}

std::vector<int> all_ranks(size_t count) {
  std::vector<int> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// A rectangle of pencils.
struct Rectangle {
  int rows, columns;
};

// The smallest transform for the rank with the most; among equals, the fewest messages.
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

const char* mesh_sharing_name(MeshSharing mesh) {
  constexpr const char* kNames[] = {"distributed", "pencils", "replicated"};
  return kNames[static_cast<int>(mesh)];
}

std::optional<MeshSharing> mesh_sharing_named(const std::string& name) {
  if (name == "distributed") return MeshSharing::kDistributed;
  if (name == "replicated") return MeshSharing::kReplicated;
  if (name == "pencils") return MeshSharing::kPencils;
  if (name == "auto") return std::nullopt;
  throw Error("unknown mesh (way to share PME) '" + name +
              "': choose auto, distributed, pencils or replicated");
}

MeshEdges edges_of(MeshOf of) {
  if (of == MeshOf::kCharges)
    return {Edge::kCharges, Edge::kSpectrum, Edge::kSpectrumBack, Edge::kPotential};
  return {Edge::kDispersion, Edge::kDispersionSpectrum, Edge::kDispersionSpectrumBack,
          Edge::kDispersionPotential};
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
    share_pencils(middles_of(setup.grid, plans));
  else
    share_slabs(middles_of(setup.grid, plans), plans);
}

void GridShares::share_slabs(const std::vector<Middle>& middles,
                             const std::vector<RankPlan>& plans) {
  const int ranks = static_cast<int>(blocks_.size());
  std::vector<int> order = all_ranks(blocks_.size());
  order_along(order.begin(), order.end(), middles, 0);
  const double all = std::accumulate(order.begin(), order.end(), 0.0, [&](double sum, int rank) {
    return sum + plans[static_cast<size_t>(rank)].speed;
  });
  double before = 0;
  for (const int rank : order) {
    const double after = before + plans[static_cast<size_t>(rank)].speed;
    const auto part = [&](int total) {
      return replicated() ? GridRange{0, total} : between(total, before, after, all);
    };
    blocks_[static_cast<size_t>(rank)] = {
        part(grid_.nx), {0, grid_.ny}, {0, frequencies_}, part(grid_.ny)};
    before = after;
  }
  columns_.resize(1);
  for (int rank = 0; rank < ranks; ++rank) {
    const Block& own = block(rank);
    const bool has_planes = own.x.count > 0;
    places_[static_cast<size_t>(rank)] = {has_planes ? static_cast<int>(rows_.size()) : -1, 0};
    if (has_planes) rows_.push_back({rank});
    if (has_planes || own.lines.count > 0) columns_[0].push_back(rank);
  }
}

void GridShares::share_pencils(const std::vector<Middle>& middles) {
  const int ranks = static_cast<int>(blocks_.size());
  const Rectangle r = choose_rectangle(grid_, ranks);
  std::vector<int> order = all_ranks(blocks_.size());
  order_along(order.begin(), order.end(), middles, 0);
  rows_.resize(static_cast<size_t>(r.rows));
  columns_.resize(static_cast<size_t>(r.columns));
  for (int row = 0; row < r.rows; ++row) {
    const GridRange group = part_of(ranks, row, r.rows);
    const auto first = order.begin() + group.first;
    order_along(first, first + group.count, middles, 1);
    for (int column = 0; column < r.columns; ++column) {
      const auto rank = static_cast<size_t>(first[part_of(group.count, column, r.columns).first]);
      blocks_[rank] = {part_of(grid_.nx, row, r.rows), part_of(grid_.ny, column, r.columns),
                       part_of(frequencies_, column, r.columns), part_of(grid_.ny, row, r.rows)};
      places_[rank] = {row, column};
      rows_[static_cast<size_t>(row)].push_back(static_cast<int>(rank));
      columns_[static_cast<size_t>(column)].push_back(static_cast<int>(rank));
    }
  }
}

std::vector<int> GridShares::owners(int user) const {
  std::vector<int> found;
  for (const std::vector<int>& row : rows_) {
    if (!has_any(reached_x_[static_cast<size_t>(user)], block(row[0]).x)) continue;
    for (const int owner : row)
      if (has_any(reached_y_[static_cast<size_t>(user)], block(owner).y)) found.push_back(owner);
  }
  return found;
}

GridRuns GridShares::reached(int user, int owner) const {
  const Block& of = block(owner);
  std::vector<int32_t> planes = within(reached_x_[static_cast<size_t>(user)], of.x);
  const std::vector<int32_t> y = within(reached_y_[static_cast<size_t>(user)], of.y);
  const int64_t plane = int64_t{grid_.ny} * grid_.nz;
  if (y.empty() || planes.empty()) return {{}, plane, 0, 0};
  // Rows between the reached rows are sent with them.
  const int rows = y.back() - y.front() + 1;
  return {std::move(planes), plane, int64_t{y.front()} * grid_.nz, rows * grid_.nz};
}

std::vector<int> GridShares::row_peers(int rank) const {
  if (block(rank).x.count == 0) return {};
  return others(rows_[static_cast<size_t>(places_[static_cast<size_t>(rank)].row)], rank);
}

std::vector<int> GridShares::column_peers(int rank) const {
  const Block& own = block(rank);
  if (replicated() || own.k.count == 0 || (own.x.count == 0 && own.lines.count == 0)) return {};
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
