// SPDX-License-Identifier: Apache-2.0
// The stencil on the CPU: charges become floats with the planes, rows and points around them that the stencil
// reaches, so that no index is wrapped; then runs of up to 32 points of a row stay in registers while all of
// the stencil passes. Every point is summed in the order of the stencil, without fused multiply-add, so the
// instruction set does not show.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/long_range/fmm/host_stencil.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <vector>

#include "computes/long_range/fmm/host_kernels.h"
#include "computes/long_range/pme/mesh_frame.h"
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
        rows_(sweep.points.y + 2 * reach_.y),
        stride_(sweep.points.z + 2 * reach_.z + kTail) {
    const int planes = sweep.planes.count + 2 * reach_.x;
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
    const Int3 n = sweep.points;
    const int x = onto_grid(sweep.planes.first + plane - reach_.x, n.x);
    for (int row = 0; row < rows_; ++row) {
      const int y = onto_grid(row - reach_.y, n.y);
      const int32_t* const from = sweep.charges + (int64_t{x} * n.y + y) * n.z;
      float* const to = values_.data() + offset({plane, row, 0});
      for (int z = 0; z < n.z + 2 * reach_.z; ++z)
        to[z] = static_cast<float>(1 / kChargeScale) *
                static_cast<float>(from[onto_grid(z - reach_.z, n.z)]);
    }
  }

  Int3 reach_;
  int rows_, stride_;
  std::vector<float> values_;
};

// The stencil with offsets in padded charges in place of points.
struct Row {
  int64_t offset;
  const float* values;
  int count;
};

std::vector<Row> rows_of(const StencilSweep& sweep, const Padded& padded, int part) {
  std::vector<Row> rows;
  const DeviceStencil& s = sweep.stencil;
  for (int r = 0; r < s.row_count; ++r) {
    const StencilRow& row = s.rows[r];
    rows.push_back(
        {padded.offset(row.at), s.values + int64_t{part} * s.shape.size() + row.first, row.count});
  }
  return rows;
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
      if constexpr (Vectors > 2) {
        s2 = hn::Add(s2, hn::Mul(value, hn::LoadU(d, q + c + 2 * kWidth)));
        s3 = hn::Add(s3, hn::Mul(value, hn::LoadU(d, q + c + 3 * kWidth)));
      }
    }
  }
  hn::StoreU(s0, d, sums);
  if constexpr (Vectors > 1) hn::StoreU(s1, d, sums + kWidth);
  if constexpr (Vectors > 2) {
    hn::StoreU(s2, d, sums + 2 * kWidth);
    hn::StoreU(s3, d, sums + 3 * kWidth);
  }
}

// Sums of a row of n points; `sums` has room for kTail more.
void sum_row(const std::vector<Row>& rows, const float* charges, int n, float* sums) {
  for (int z = 0; z < n;) {
    const int left = n - z;
    if (left > 2 * kWidth) {
      sum_run<4>(rows, charges + z, sums + z);
      z += 4 * kWidth;
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
  const Int3 n = sweep.points;
  threads.parallel_for(sweep.planes.count, 1, [&](int begin, int end, int) {
    std::vector<float> sums(static_cast<size_t>(n.z + kTail));
    for (int plane = begin; plane < end; ++plane)
      for (int y = 0; y < n.y; ++y) {
        sum_row(rows, padded.at(plane, y), n.z, sums.data());
        visit(plane, y, padded.at(plane, y), sums.data());
      }
  });
}

void convolve_any(const StencilSweep& sweep, float* potential, ThreadGroup& threads) {
  const Padded padded(sweep, threads);
  const Int3 n = sweep.points;
  sweep_rows(sweep, padded, 0, threads, [&](int plane, int y, const float*, const float* sums) {
    float* const row = potential + (int64_t{sweep.planes.first + plane} * n.y + y) * n.z;
    for (int z = 0; z < n.z; ++z) row[z] = sweep.scale * sums[z];
  });
}

void virial_any(const StencilSweep& sweep, int64_t* energy, ThreadGroup& threads) {
  const Padded padded(sweep, threads);
  const int nz = sweep.points.z;
  for (int part = 0; part < Symmetric::kParts; ++part) {
    std::vector<double> of_plane(static_cast<size_t>(sweep.planes.count), 0.0);
    sweep_rows(sweep, padded, 1 + part, threads,
               [&](int plane, int, const float* charges, const float* sums) {
                 double& sum = of_plane[static_cast<size_t>(plane)];
                 for (int z = 0; z < nz; ++z) sum += static_cast<double>(charges[z]) * sums[z];
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
