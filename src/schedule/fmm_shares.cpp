// SPDX-License-Identifier: Apache-2.0
#include "schedule/fmm_shares.h"

#include <algorithm>
#include <cmath>
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

// An island of GPUs: there a second hop takes longer than the messages that it spares.
constexpr int kFewRanks = 8;

Gathering::Gathering(int ranks)
    : ranks_(ranks),
      groups_(ranks <= kFewRanks
                  ? 1
                  : static_cast<int>(std::ceil(std::sqrt(static_cast<double>(ranks))))) {}

// The groups differ by one rank in size: members that the other group has no counterpart of begin anew.
bool Gathering::passes(int from, int to) const {
  if (is_own_group(from, to)) return false;
  const GridRange own = group_of(from);
  return (to - first(group(to))) % own.count == from - own.first;
}

GridRange Gathering::group_of(int rank) const {
  const int begin = first(group(rank));
  return {begin, first(group(rank) + 1) - begin};
}

FmmShares::FmmShares(const GridShares& shares, const FmmLevels& levels, int ranks, int reach)
    : shares_(shares),
      levels_(levels),
      gathering_(ranks),
      reach_(std::max(reach, levels.children() - 1)) {}

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

void FmmShares::add_level_one(int rank, std::vector<int32_t>& numbers) const {
  const GridRange x = shares_.block(rank).x;
  for (int plane = (x.first + 1) / 2; plane < (x.first + x.count + 1) / 2; ++plane)
    numbers.push_back(plane);
}

GridRuns FmmShares::level(int from, int to) const {
  std::vector<int32_t> numbers;
  if (gathering_.is_own_group(from, to)) add_level_one(from, numbers);
  return whole_planes(std::move(numbers), levels_.points(1));
}

GridRuns FmmShares::passed(int from, int to) const {
  std::vector<int32_t> numbers;
  const GridRange group = gathering_.group_of(from);
  if (gathering_.passes(from, to))
    for (int rank = group.first; rank < group.first + group.count; ++rank)
      add_level_one(rank, numbers);
  return whole_planes(std::move(numbers), levels_.points(1));
}

}  // namespace quiltmd
