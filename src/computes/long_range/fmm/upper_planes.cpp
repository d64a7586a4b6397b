// SPDX-License-Identifier: Apache-2.0
#include "computes/long_range/fmm/upper_planes.h"

#include "computes/long_range/pme/mesh_frame.h"

namespace quiltmd {
namespace {

// `points`: of the upper of two levels, along x.
std::vector<GridRange> parents_of(const std::vector<GridRange>& planes, int points, int children) {
  std::vector<char> is_needed(static_cast<size_t>(points), 0);
  for (const GridRange range : planes)
    for (int x = range.first; x < range.first + range.count; ++x)
      for (int before = 0; 2 * before < children; ++before)
        is_needed[static_cast<size_t>(onto_grid(x / 2 - before, points))] = 1;
  std::vector<GridRange> found;
  for (int x = 0; x < points; ++x) {
    if (!is_needed[static_cast<size_t>(x)]) continue;
    if (found.empty() || found.back().first + found.back().count < x) found.push_back({x, 0});
    ++found.back().count;
  }
  return found;
}

}  // namespace

std::vector<std::vector<GridRange>> upper_planes(const FmmLevels& levels, GridRange planes) {
  std::vector<std::vector<GridRange>> all(1, {planes});
  for (int l = 1; l <= levels.count; ++l)
    all.push_back(parents_of(all.back(), levels.points(l).x, levels.children()));
  return all;
}

int64_t upper_points(const FmmLevels& levels, GridRange planes) {
  const auto all = upper_planes(levels, planes);
  int64_t sum = 0;
  for (int l = 1; l < levels.count; ++l)
    for (const GridRange range : all[static_cast<size_t>(l)])
      sum += int64_t{range.count} * levels.points(l).y * levels.points(l).z;
  return sum;
}

}  // namespace quiltmd
