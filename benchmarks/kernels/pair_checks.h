// SPDX-License-Identifier: Apache-2.0
// A check of pair lists in the workshop, against all pairs of a sample of atoms. Shells may hold a
// little more than is within their reach, never less.
#pragma once

#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "pair_bench.h"

namespace quiltmd {

constexpr double kDoubt = 1e-6;   // nm, what single precision may not know
constexpr double kExcess = 1e-2;  // nm, that lists may reach further than asked

inline Vec3d listed_distance(const std::vector<Float4>& local, const PatchGrid& grid, uint32_t i,
                             uint32_t entry) {
  const Float4 a = local[i], b = local[entry & kSlotMask];
  const Vec3d shift = grid.shifts[entry >> kSlotBits];
  return {b.x + shift.x - a.x, b.y + shift.y - a.y, b.z + shift.z - a.z};
}

// Distance from the nearest i atom.
inline double nearest(const std::vector<Float4>& local, const PatchGrid& grid, int cluster,
                      uint32_t entry) {
  double least = 1e30;
  for (int i = 0; i < kClusterSize; ++i) {
    const auto slot = static_cast<uint32_t>(cluster * kClusterSize + i);
    least = std::min(least, norm(listed_distance(local, grid, slot, entry)));
  }
  return least;
}

// Every pair of a sampled atom that is closer than the last reach is listed once, with the right
// mask; entries are in a shell that reaches them, and ascend in it.
inline void check_lists(const Bench& b, const std::vector<int>& sample, const float* reaches) {
  const auto lists = b.lists.host();
  const auto entries = b.entries.host();
  const auto masks = b.masks.host();
  const auto atom = b.atom.host();
  const auto local = b.local.host();
  const double reach = reaches[kShells - 1];
  std::vector<char> sampled(b.w.positions.size());
  for (const int a : sample) sampled[static_cast<size_t>(a)] = 1;
  std::map<std::pair<int, int>, int> found;
  long wrong_masks = 0, unordered = 0, late = 0, early = 0, seen = 0;
  const int used = b.ranges.host()[3];
  for (int l = 0; l < used; ++l) {
    const PairList& list = lists[static_cast<size_t>(l)];
    int shell = 0, start = 0;
    for (int n = 0; n < list.within[kShells - 1]; ++n) {
      if (n == list.masked) start = n;
      while (n >= list.masked && n >= list.within[shell]) ++shell, start = n;
      const uint32_t entry = entries[static_cast<size_t>(list.begin + n)];
      const int j = atom[entry & kSlotMask];
      unordered += j < 0;
      if (n > start) {
        const uint32_t before = entries[static_cast<size_t>(list.begin + n - 1)];
        unordered += std::pair(before >> kSlotBits, before & kSlotMask) >=
                     std::pair(entry >> kSlotBits, entry & kSlotMask);
      }
      bool any = false;
      for (int i = 0; i < kClusterSize; ++i) {
        const auto slot = static_cast<uint32_t>(list.cluster * kClusterSize + i);
        const int a = atom[slot];
        if (a < 0 || (entry / kClusterSize == slot / kClusterSize && slot >= entry)) continue;
        any = true;
        if (!sampled[static_cast<size_t>(a)] && !sampled[static_cast<size_t>(j)]) continue;
        const bool met = n >= list.masked || (masks[static_cast<size_t>(list.begin + n)] >> i & 1);
        wrong_masks += met == b.w.excluded(a, j);
        if (norm(listed_distance(local, b.grid, slot, entry)) < reach) ++found[std::minmax(a, j)];
      }
      unordered += !any;
      if (n < list.masked || l % 16 != 0) continue;
      const double r = nearest(local, b.grid, list.cluster, entry);
      late += shell > 0 && r < reaches[shell - 1] - kDoubt;
      early += r > reaches[shell] + kExcess;
      ++seen;
    }
  }
  long missing = 0, twice = 0, all = 0;
  for (const int a : sample) {
    for (int c = 0; c < b.w.atoms(); ++c) {
      if (c == a) continue;
      const auto ua = static_cast<size_t>(a), uc = static_cast<size_t>(c);
      const double r = norm(b.w.box.nearest_image(b.w.positions[ua] - b.w.positions[uc]));
      if (r >= reach - kDoubt) continue;
      const auto it = found.find(std::minmax(a, c));
      ++all;
      missing += it == found.end();
      twice += it != found.end() && it->second > 1;
    }
  }
  std::printf(
      "  lists: of %ld sampled pairs %ld missing, %ld twice; %ld wrong masks, %ld out of "
      "order; of %ld entries %ld in too late a shell, %ld in too early a one\n",
      all, missing, twice, wrong_masks, unordered, seen, late, early);
}

}  // namespace quiltmd
