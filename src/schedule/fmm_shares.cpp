// SPDX-License-Identifier: Apache-2.0
#include "schedule/fmm_shares.h"

#include <algorithm>
#include <utility>

namespace quiltmd {
namespace {

GridRuns whole_planes(std::vector<int32_t> numbers, Int3 points) {
  const int size = points.y * points.z;
  return {std::move(numbers), size, 0, size};
}

}  // namespace

MeshSharing sharing_of_fmm(MeshSharing sharing) {
  return sharing == MeshSharing::kPencils ? MeshSharing::kDistributed : sharing;
}

FmmShares::FmmShares(const GridShares& shares, const FmmLevels& levels, int reach)
    : shares_(shares), levels_(levels), reach_(std::max(reach, levels.order)) {}

GridRuns FmmShares::near(int from, int to) const {
  const int n = levels_.grid.x;
  const GridRange own = shares_.block(from).x, user = shares_.block(to).x;
  std::vector<int32_t> numbers;
  for (int plane = own.first; plane < own.first + own.count; ++plane) {
    const int ahead = ((plane - user.first) % n + n) % n;  // of the first plane of the user
    if (user.count > 0 && (ahead < user.count + reach_ || ahead >= n - reach_))
      numbers.push_back(plane);
  }
  return whole_planes(std::move(numbers), levels_.grid);
}

GridRuns FmmShares::level(int rank) const {
  const GridRange x = shares_.block(rank).x;
  std::vector<int32_t> numbers;
  for (int plane = (x.first + 1) / 2; plane < (x.first + x.count + 1) / 2; ++plane)
    numbers.push_back(plane);
  return whole_planes(std::move(numbers), levels_.points(1));
}

}  // namespace quiltmd
