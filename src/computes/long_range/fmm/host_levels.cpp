// SPDX-License-Identifier: Apache-2.0
// From level to level on the CPU, dimension by dimension: plain loops, which the compiler makes vectors of for each
// instruction set. Without fused multiply-add, so the instruction set does not show.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/long_range/fmm/host_levels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <algorithm>
#include <vector>

#include "computes/long_range/fmm/host_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

// The sum over terms of Refinement::weight(term) times value(term).
template <int Order, class Sum, class Value>
inline Sum refined(Value value) {
  Sum sum = 0;
  for (int j = 0; j < Refinement<Order>::kPoints; ++j)
    sum += static_cast<Sum>(Refinement<Order>::weight(j)) * value(j);
  return sum;
}

// Planes of a coarse grid from those of the fine one, dimension by dimension, in integers: the weights add up to
// 2^30 at most, so sums need 61 bits.
template <int Order>
class Restriction {
 public:
  Restriction(const int32_t* charges, const TwoLevels& two)
      : charges_(charges),
        two_(two),
        none_(static_cast<size_t>(two.fine.points.z), 0),
        plane_(static_cast<size_t>(two.fine.count.y) * static_cast<size_t>(two.fine.count.z)),
        no_sums_(static_cast<size_t>(two.fine.count.z), 0),
        row_(static_cast<size_t>(2 * (two.coarse.count.z - 1) + Refinement<Order>::kPoints)) {}

  void make_plane(int x, int32_t* coarse) {
    sum_planes(two_.coarse.place_below(two_.fine, 0, x));
    const LevelWindow& to = two_.coarse;
    for (int y = 0; y < to.count.y; ++y) {
      sum_rows(to.place_below(two_.fine, 1, y));
      int32_t* const row =
          coarse + (int64_t{to.point(0, x)} * to.points.y + to.point(1, y)) * to.points.z;
      for (const LevelWindow::Run run : to.runs(2))
        for (int z = 0; z < run.count; ++z) {
          const int64_t* const from = &row_[static_cast<size_t>(2 * (run.place + z))];
          const auto sum = refined<Order, int64_t>([&](int k) { return from[k]; });
          constexpr int kShift = 3 * Refinement<Order>::kBits;
          row[run.point + z] = static_cast<int32_t>((sum + (int64_t{1} << (kShift - 1))) >> kShift);
        }
    }
  }

 private:
  // Of the planes from the place `first` on.
  void sum_planes(int first) {
    const LevelWindow& fine = two_.fine;
    for (int y = 0; y < fine.count.y; ++y) {
      const int32_t* rows[Refinement<Order>::kPoints];
      for (int i = 0; i < Refinement<Order>::kPoints; ++i) {
        const int x = fine.charged(0, first + i);
        rows[i] = x < 0
                      ? none_.data()
                      : charges_ + (int64_t{fine.point(0, x)} * fine.points.y + fine.point(1, y)) *
                                       fine.points.z;
      }
      int64_t* const sums = &plane_[static_cast<size_t>(y) * static_cast<size_t>(fine.count.z)];
      for (const LevelWindow::Run run : fine.runs(2))
        for (int z = 0; z < run.count; ++z)
          sums[run.place + z] =
              refined<Order, int64_t>([&](int i) { return rows[i][run.point + z]; });
    }
  }
  // Of the rows of these sums from the place `first` on: as the points of the coarse row need them.
  void sum_rows(int first) {
    const LevelWindow& fine = two_.fine;
    const int64_t* rows[Refinement<Order>::kPoints];
    for (int j = 0; j < Refinement<Order>::kPoints; ++j) {
      const int y = fine.charged(1, first + j);
      rows[j] = y < 0 ? no_sums_.data()
                      : &plane_[static_cast<size_t>(y) * static_cast<size_t>(fine.count.z)];
    }
    const auto sum_at = [&](int z) {
      return refined<Order, int64_t>([&](int j) { return rows[j][z]; });
    };
    const int begin = two_.coarse.place_below(fine, 2, 0), size = static_cast<int>(row_.size());
    const int inside = std::clamp(-begin, 0, size);
    const int outside = std::clamp(fine.count.z - begin, inside, size);
    const auto set_at_edge = [&](int k) {
      const int z = fine.charged(2, begin + k);
      row_[static_cast<size_t>(k)] = z < 0 ? 0 : sum_at(z);
    };
    for (int k = 0; k < inside; ++k) set_at_edge(k);
    for (int k = inside; k < outside; ++k) row_[static_cast<size_t>(k)] = sum_at(begin + k);
    for (int k = outside; k < size; ++k) set_at_edge(k);
  }

  const int32_t* charges_;
  const TwoLevels& two_;
  std::vector<int32_t> none_;
  std::vector<int64_t> plane_, no_sums_, row_;
};

void restrict_any(const int32_t* fine, const TwoLevels& two, int order, int32_t* coarse,
                  GridRange planes, ThreadGroup& threads) {
  for (const GridRange places : two.coarse.places_of(planes))
    threads.parallel_for(places.count, 1, [&](int begin, int end, int) {
      for_order(order, [&]<int Order>() {
        Restriction<Order> restriction(fine, two);
        for (int x = places.first + begin; x < places.first + end; ++x)
          restriction.make_plane(x, coarse);
      });
    });
}

// Adds the potential of the coarse grid to planes of the fine one, dimension by dimension.
template <int Order>
class Prolongation {
  using Spline = Refinement<Order>;

 public:
  Prolongation(const float* coarse, const TwoLevels& two)
      : potential_(coarse),
        two_(two),
        plane_(static_cast<size_t>(two.coarse.count.y) * static_cast<size_t>(two.coarse.count.z)),
        row_(static_cast<size_t>(two.coarse.count.z + Spline::kParents - 1)),
        twice_(2 * static_cast<size_t>(two.coarse.count.z)) {}

  void add_to_plane(int x, float* fine) {
    const LevelWindow& to = two_.fine;
    sum_planes(x);
    for (int y = 0; y < to.count.y; ++y) {
      sum_rows(y);
      double_row();
      float* const row =
          fine + (int64_t{to.point(0, x)} * to.points.y + to.point(1, y)) * to.points.z;
      for (const LevelWindow::Run run : to.runs(2)) {
        const int begin = to.place_in_doubled(two_.coarse, 2, run.place);
        for (int z = 0; z < run.count; ++z)
          row[run.point + z] += twice_[static_cast<size_t>(begin + z)];
      }
    }
  }

 private:
  // visit(weight, place of the coarse grid) for those that a point of the fine grid contributes to.
  template <class Visit>
  void over_parents(int d, int place, Visit visit) const {
    const int at = two_.fine.first(d) + place;
    for (int j = at & 1; j < Spline::kPoints; j += 2)
      visit(static_cast<float>(Spline::weight(j)) / Spline::kScale,
            two_.coarse.charged(d, ((at - j) >> 1) - two_.coarse.first(d)));
  }
  void sum_planes(int x) {
    const LevelWindow& from = two_.coarse;
    std::fill(plane_.begin(), plane_.end(), 0.0f);
    over_parents(0, x, [&](float weight, int plane) {
      for (int y = 0; y < from.count.y; ++y) {
        const float* const row =
            potential_ +
            (int64_t{from.point(0, plane)} * from.points.y + from.point(1, y)) * from.points.z;
        float* const sums = &plane_[static_cast<size_t>(y) * static_cast<size_t>(from.count.z)];
        for (const LevelWindow::Run run : from.runs(2))
          for (int z = 0; z < run.count; ++z) sums[run.place + z] += weight * row[run.point + z];
      }
    });
  }
  // With what is before its first point.
  void sum_rows(int y) {
    const LevelWindow& from = two_.coarse;
    std::fill(row_.begin(), row_.end(), 0.0f);
    constexpr int kBefore = Spline::kParents - 1;
    float* const row = &row_[kBefore];
    over_parents(1, y, [&](float weight, int place) {
      const float* const sums =
          &plane_[static_cast<size_t>(place) * static_cast<size_t>(from.count.z)];
      for (int z = 0; z < from.count.z; ++z) row[z] += weight * sums[z];
    });
    for (int k = 1; k <= kBefore; ++k)
      if (const int z = from.charged(2, -k); z >= 0) row[-k] = row[z];
  }
  void double_row() {
    for (int z = 0; z < two_.coarse.count.z; ++z) {
      const float* const row = &row_[static_cast<size_t>(z + Spline::kParents - 1)];
      float even = 0, odd = 0;
      for (int k = 0; k < Spline::kParents; ++k) {
        even += static_cast<float>(Spline::weight(2 * k)) / Spline::kScale * row[-k];
        odd += static_cast<float>(Spline::weight(2 * k + 1)) / Spline::kScale * row[-k];
      }
      twice_[2 * static_cast<size_t>(z)] = even;
      twice_[2 * static_cast<size_t>(z) + 1] = odd;
    }
  }

  const float* potential_;
  const TwoLevels& two_;
  std::vector<float> plane_, row_, twice_;
};

void prolong_any(const float* coarse, const TwoLevels& two, int order, GridRange planes,
                 float* potential, ThreadGroup& threads) {
  for (const GridRange places : two.fine.places_of(planes))
    threads.parallel_for(places.count, 1, [&](int begin, int end, int) {
      for_order(order, [&]<int Order>() {
        Prolongation<Order> prolongation(coarse, two);
        for (int x = places.first + begin; x < places.first + end; ++x)
          prolongation.add_to_plane(x, potential);
      });
    });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(restrict_any);
HWY_EXPORT(prolong_any);

void restrict_planes(const int32_t* fine, const TwoLevels& two, int order, int32_t* coarse,
                     GridRange planes, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(restrict_any)(fine, two, order, coarse, planes, threads);
}

void prolong_planes(const float* coarse, const TwoLevels& two, int order, GridRange planes,
                    float* potential, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(prolong_any)(coarse, two, order, planes, potential, threads);
}

}  // namespace quiltmd
#endif
