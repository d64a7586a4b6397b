// SPDX-License-Identifier: Apache-2.0
// The stencil on the CPU: charges of the window become floats with the planes, rows and points around them that
// the stencil reaches, images or zeros, so that no index is wrapped; then runs of up to 32 points of a row stay in
// registers while all of the stencil passes. Every point is summed in the order of the stencil, without fused
// multiply-add, so the instruction set does not show.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/long_range/fmm/host_stencil.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <algorithm>
#include <vector>

#include "computes/long_range/fmm/host_kernels.h"
#include "math/fixed.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr int kLanes = 8;
using Floats = hn::CappedTag<float, kLanes>;
constexpr int kWidth = static_cast<int>(hn::MaxLanes(Floats()));
constexpr int kMostVectors = 4;
constexpr int kTail = kMostVectors * kLanes;  // floats beyond a row that vectors may read

// The charges around some planes.
class Padded {
 public:
  Padded(const StencilSweep& sweep, ThreadGroup& threads)
      : reach_(sweep.stencil.shape.reach),
        rows_(sweep.window.count.y + 2 * reach_.y),
        stride_(sweep.window.count.z + 2 * reach_.z + kTail) {
    const int planes = sweep.places.count + 2 * reach_.x;
    values_.resize(static_cast<size_t>(planes) * static_cast<size_t>(rows_) *
                   static_cast<size_t>(stride_));
    threads.parallel_for(planes, 1, [&](int begin, int end, int) {
      for (int plane = begin; plane < end; ++plane) fill(sweep, plane);
    });
  }

  // Row y of a plane.
  const float* at(int plane, int y) const {
    return values_.data() + offset({plane + reach_.x, y + reach_.y, reach_.z});
  }
  int64_t offset(Int3 p) const { return (int64_t{p.x} * rows_ + p.y) * stride_ + p.z; }

 private:
  void fill(const StencilSweep& sweep, int plane) {
    const LevelWindow& window = sweep.window;
    const Int3 n = window.points;
    const int x = window.charged(0, sweep.places.first + plane - reach_.x);
    for (int row = 0; row < rows_; ++row) {
      const int y = window.charged(1, row - reach_.y);
      if (x < 0 || y < 0) continue;
      const int32_t* const from =
          sweep.charges + (int64_t{window.point(0, x)} * n.y + window.point(1, y)) * n.z;
      float* const to = values_.data() + offset({plane, row, 0});
      for (int place = -reach_.z; place < window.count.z + reach_.z; ++place) {
        const int z = window.charged(2, place);
        if (z >= 0)
          to[place + reach_.z] =
              static_cast<float>(1 / kChargeScale) * static_cast<float>(from[window.point(2, z)]);
      }
    }
  }

  Int3 reach_;
  int rows_, stride_;
  std::vector<float> values_;
};

// The stencil with offsets in padded charges in place of points.
struct Row {
  Int3 at;
  int64_t offset;
  const float* values;
  int count;
};

std::vector<Row> rows_of(const StencilSweep& sweep, const Padded& padded, int part) {
  std::vector<Row> rows;
  const DeviceStencil& s = sweep.stencil;
  for (int r = 0; r < s.row_count; ++r) {
    const StencilRow& row = s.rows[r];
    rows.push_back({row.at, padded.offset(row.at),
                    s.values + int64_t{part} * s.shape.size() + row.first, row.count});
  }
  return rows;
}

// Those of them, and the points of those, that from a row of the window reach others of it.
void keep_rows_within(const LevelWindow& window, int x, int y, const std::vector<Row>& rows,
                      std::vector<Row>& kept) {
  kept.clear();
  const int farthest = window.count.z - 1;
  for (Row row : rows) {
    if (window.charged(0, x + row.at.x) < 0 || window.charged(1, y + row.at.y) < 0) continue;
    const int before = std::max(0, -farthest - row.at.z);
    row.count = std::min(row.count, farthest - row.at.z + 1) - before;
    row.offset += before;
    row.values += before;
    if (row.count > 0) kept.push_back(row);
  }
}

// The sums of some vectors of points from here on.
template <int Vectors>
HWY_INLINE void sum_run(const std::vector<Row>& rows, const float* charges, float* sums) {
  const Floats d;
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  for (const Row& row : rows) {
    const float* const q = charges + row.offset;
    for (int c = 0; c < row.count; ++c) {
      const auto value = hn::Set(d, row.values[c]);
      s0 = hn::Add(s0, hn::Mul(value, hn::LoadU(d, q + c)));
      if constexpr (Vectors > 1) s1 = hn::Add(s1, hn::Mul(value, hn::LoadU(d, q + c + kWidth)));
      if constexpr (Vectors > 2) s2 = hn::Add(s2, hn::Mul(value, hn::LoadU(d, q + c + 2 * kWidth)));
      if constexpr (Vectors > 3) s3 = hn::Add(s3, hn::Mul(value, hn::LoadU(d, q + c + 3 * kWidth)));
    }
  }
  hn::StoreU(s0, d, sums);
  if constexpr (Vectors > 1) hn::StoreU(s1, d, sums + kWidth);
  if constexpr (Vectors > 2) hn::StoreU(s2, d, sums + 2 * kWidth);
  if constexpr (Vectors > 3) hn::StoreU(s3, d, sums + 3 * kWidth);
}

// Sums of a row of n points; `sums` has room for kTail more.
void sum_row(const std::vector<Row>& rows, const float* charges, int n, float* sums) {
  for (int z = 0; z < n;) {
    const int left = n - z;
    if (left > 3 * kWidth) {
      sum_run<4>(rows, charges + z, sums + z);
      z += 4 * kWidth;
    } else if (left > 2 * kWidth) {
      sum_run<3>(rows, charges + z, sums + z);
      z += 3 * kWidth;
    } else if (left > kWidth) {
      sum_run<2>(rows, charges + z, sums + z);
      z += 2 * kWidth;
    } else {
      sum_run<1>(rows, charges + z, sums + z);
      z += kWidth;
    }
  }
}

// visit(plane of the sweep, y, charges of the row, sums of its points)
template <class Visit>
void sweep_rows(const StencilSweep& sweep, const Padded& padded, int part, ThreadGroup& threads,
                Visit visit) {
  const std::vector<Row> rows = rows_of(sweep, padded, part);
  const LevelWindow& window = sweep.window;
  threads.parallel_for(sweep.places.count, 1, [&](int begin, int end, int) {
    std::vector<float> sums(static_cast<size_t>(window.count.z + kTail));
    std::vector<Row> kept;
    for (int plane = begin; plane < end; ++plane)
      for (const LevelWindow::Run run : window.runs(1))
        for (int y = run.place; y < run.place + run.count; ++y) {
          if (!window.has_images())
            keep_rows_within(window, sweep.places.first + plane, y, rows, kept);
          sum_row(window.has_images() ? rows : kept, padded.at(plane, y), window.count.z,
                  sums.data());
          visit(plane, y, padded.at(plane, y), sums.data());
        }
  });
}

void convolve_any(const StencilSweep& sweep, float* potential, ThreadGroup& threads) {
  const Padded padded(sweep, threads);
  const LevelWindow& window = sweep.window;
  const Int3 n = window.points;
  sweep_rows(sweep, padded, 0, threads, [&](int plane, int y, const float*, const float* sums) {
    const int x = window.point(0, sweep.places.first + plane);
    float* const row = potential + (int64_t{x} * n.y + window.point(1, y)) * n.z;
    for (int z = 0; z < window.count.z; ++z) row[window.point(2, z)] = sweep.scale * sums[z];
  });
}

void virial_any(const StencilSweep& sweep, int64_t* energy, ThreadGroup& threads) {
  const Padded padded(sweep, threads);
  const auto runs = sweep.window.runs(2);
  for (int part = 0; part < Symmetric::kParts; ++part) {
    std::vector<double> of_plane(static_cast<size_t>(sweep.places.count), 0.0);
    sweep_rows(sweep, padded, 1 + part, threads,
               [&](int plane, int, const float* charges, const float* sums) {
                 double& sum = of_plane[static_cast<size_t>(plane)];
                 for (const LevelWindow::Run run : runs)
                   for (int z = run.place; z < run.place + run.count; ++z)
                     sum += static_cast<double>(charges[z]) * sums[z];
               });
    for (const double sum : of_plane)
      energy[kVirial + part] += to_fixed(-0.5 * sweep.scale * sum, kEnergyScale);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(convolve_any);
HWY_EXPORT(virial_any);

void convolve_charges(const StencilSweep& sweep, float* potential, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(convolve_any)(sweep, potential, threads);
}

void add_virial(const StencilSweep& sweep, int64_t* energy, ThreadGroup& threads) {
  HWY_DYNAMIC_DISPATCH(virial_any)(sweep, energy, threads);
}

}  // namespace quiltmd
#endif
