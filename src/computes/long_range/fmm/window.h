// SPDX-License-Identifier: Apache-2.0
// The part of the grids of all levels that charges touch: the points around the patches that have atoms, or all
// points of a periodic grid. Outside it no potential is needed, and charges are zero; on CPUs only on level 0, while
// on the levels above they may be left from other steps. Points count on beyond the end of a grid, where it begins
// anew.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "computes/long_range/fmm/levels.h"
#include "computes/long_range/pme/operations.h"

namespace quiltmd {

// On level 0.
struct FmmWindow {
  Int3 first, count;
};

// On one level.
class LevelWindow {
 public:
  // Null: all points.
  QMD_HD LevelWindow(const FmmLevels& levels, const FmmWindow* of_zero, int level)
      : points(levels.points(level)), has_images_(!levels.is_open()), count(points) {
    if (!of_zero) return;
    first_ = of_zero->first;
    count = of_zero->count;
    take_all_of_most(levels.grid);
    for (int l = 0; l < level; ++l) {
      for (int d = 0; d < 3; ++d) {
        const int last = half(first_[d] + count[d] - 1);
        first_[d] = half(first_[d] - levels.children() + 2);
        count[d] = last - first_[d] + 1;
      }
      take_all_of_most(levels.points(l + 1));
    }
  }

  QMD_HD bool has(Int3 at) const {
    for (int d = 0; d < 3; ++d) {
      const int place = at[d] - first_[d];
      if (place - turns(place, points[d]) * points[d] >= count[d]) return false;
    }
    return true;
  }

  // The point of the grid at a place in the window.
  QMD_HD int point(int d, int place) const {
    const int at = first_[d] + place, n = points[d];
    if (at >= 0 && at < n) return at;
    return at - turns(at, n) * n;
  }
  // The place with the charges of a place in the window or outside; -1: there are none.
  QMD_HD int charged(int d, int place) const {
    if (place >= 0 && place < count[d]) return place;
    if (!has_images_) return -1;
    const int at = place - turns(place, points[d]) * points[d];
    return at < count[d] ? at : -1;
  }
  // In the window of the level below, the place of the first point that a point of this one consists of.
  int place_below(const LevelWindow& below, int d, int place) const {
    return 2 * (first_[d] + place) - below.first_[d];
  }
  // Where each point of the window of the level above is taken twice, the place of the one that is at a place of
  // this one.
  int place_in_doubled(const LevelWindow& above, int d, int place) const {
    const int at = first_[d] + place - 2 * above.first_[d], n = 2 * above.points[d];
    return at - turns(at, n) * n;
  }
  // Runs of places along x whose points are among these planes.
  std::vector<GridRange> places_of(GridRange planes) const {
    std::vector<GridRange> runs;
    bool goes_on = false;
    for (int place = 0; place < count.x; ++place) {
      const int x = point(0, place);
      const bool is_there = x >= planes.first && x < planes.first + planes.count;
      if (is_there && !goes_on) runs.push_back({place, 0});
      if (is_there) ++runs.back().count;
      goes_on = is_there;
    }
    return runs;
  }
  // Places along a dimension whose points follow one another, in the order of the points: sums in this order do not
  // depend on where a window begins.
  struct Run {
    int place, point, count;
  };
  std::array<Run, 2> runs(int d) const {
    const int begin = point(d, 0), ahead = std::min(count[d], points[d] - begin);
    return {Run{ahead, 0, count[d] - ahead}, {0, begin, ahead}};
  }
  // The first point, not taken onto the grid.
  QMD_HD int first(int d) const { return first_[d]; }
  bool has_images() const { return has_images_; }

  Int3 points;  // of the grid

 private:
  // Tiles of a GPU begin up to 3 points before a window, and shall not meet their own images.
  static constexpr int kFewest = 4;

  // A periodic window that leaves out a few points only is one of all.
  QMD_HD void take_all_of_most(Int3 n) {
    if (!has_images_) return;
    for (int d = 0; d < 3; ++d) {
      if (count[d] + kFewest <= n[d]) continue;
      first_[d] = 0;
      count[d] = n[d];
    }
  }
  QMD_HD static int half(int at) { return at >> 1; }
  QMD_HD static int turns(int at, int n) { return (at >= 0 ? at : at - n + 1) / n; }

  Int3 first_{};
  bool has_images_;

 public:
  Int3 count;  // of points in the window
};

}  // namespace quiltmd
