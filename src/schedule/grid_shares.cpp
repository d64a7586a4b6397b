// SPDX-License-Identifier: Apache-2.0
#include "schedule/grid_shares.h"

#include "computes/pme/setup.h"

namespace quiltmd {

GridShares::Range GridShares::part_of(int total, int rank) const {
  if (replicated()) return {0, total};
  const int first = static_cast<int>(static_cast<int64_t>(total) * rank / view_.ranks);
  const int end = static_cast<int>(static_cast<int64_t>(total) * (rank + 1) / view_.ranks);
  return {first, end - first};
}

// However far (up to the list buffer, beyond which a step is not valid, and a hydrogen group's radius)
// atoms stick out of their patches.
std::vector<int32_t> GridShares::reached(int user, int owner) const {
  const int n = m_.mesh->grid.nx;
  const PatchGrid& patches = m_.setup.grid;
  const double margin = m_.setup.group_radius + m_.setup.ages.limit.back();
  const double beyond = margin / (patches.cells.x * patches.least_width);  // in any box that serves
  std::vector<char> is_reached(static_cast<size_t>(n), 0);
  for (const int patch : view_.plans[static_cast<size_t>(user)].owned) {
    const PlaneRange range = pme_plane_range(m_.mesh->grid, patches.cell(patch).x, beyond);
    for (int i = 0; i < range.count; ++i)
      is_reached[static_cast<size_t>((range.first + i) % n)] = 1;
  }
  const Range of = planes_of(owner);
  std::vector<int32_t> planes;
  for (int plane = of.first; plane < of.first + of.count; ++plane)
    if (is_reached[static_cast<size_t>(plane)]) planes.push_back(plane);
  return planes;
}

GridPart GridShares::reached_part(int user, int owner) const {
  const auto& planes = m_.mesh->number_list(reached(user, owner));
  const int64_t size = int64_t{m_.mesh->grid.ny} * m_.mesh->grid.nz;
  return {planes.data(), static_cast<int>(planes.size()), size, 0, static_cast<int>(size)};
}

GridPart GridShares::crossing_part(int planes, int lines) const {
  const Range x = planes_of(planes), y = lines_of(lines);
  std::vector<int32_t> numbers;
  for (int i = 0; i < x.count; ++i) numbers.push_back(x.first + i);
  const auto& list = m_.mesh->number_list(numbers);
  const int64_t row = int64_t{2} * (m_.mesh->grid.nz / 2 + 1);
  return {list.data(), x.count, row * m_.mesh->grid.ny, row * y.first,
          static_cast<int>(row) * y.count};
}

}  // namespace quiltmd
