// SPDX-License-Identifier: Apache-2.0
// The top level of the fast multipole method on a GPU: a table of the potential that a charge makes at every distance,
// times all charges. A block makes a row of potentials along z of the charges around the atoms; it keeps their rows
// and those of the table in shared memory, as many at once as fit. A thread makes eight points, so that a four of
// charges and a four of numbers make 32 multiply-adds.
//
// Every point is summed in an order that the grid alone fixes: which rows of charges a thread adds depends on where
// they are on the grid, and it adds them in the order of the window, beyond which charges are zero.
#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <cmath>

#include "computes/long_range/fmm/cuda_kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kEights = 4;                 // of a block
constexpr int kSharesX = 4, kSharesY = 8;  // of the rows of charges
constexpr int kTopThreads = kSharesX * kSharesY * kEights;
constexpr int kRow = kEights * kEight;  // points of a block
constexpr int kFours = 3072;            // of charges and numbers that are kept
static_assert(kSharesY * kEights == kWarp);

// A row of charges and that of the numbers which they meet, in fours.
struct TopRow {
  int charges, numbers;  // an odd number of the latter, so that threads read different banks

  QMD_HD explicit TopRow(int points)
      : charges((points + kFour - 1) / kFour), numbers((charges + kRow / kFour) | 1) {}
  QMD_HD int fours() const { return charges + numbers; }
};

// Rows of charges that are kept at once: `count` places of the window from `first` on, along x and y.
struct TopRows {
  int first_x, first_y, count_x, count_y;
};

extern __shared__ float4 top_memory[];

struct TopBlock {
  const SumUpperLevels& op;
  const LevelWindow& window;
  TopRow row;
  Int3 place;  // in the window: of the row's first point
  int part;
  float4 *charges, *numbers;  // of the rows that are kept

  __device__ __forceinline__ int64_t point(int x, int y) const {
    return (static_cast<int64_t>(window.point(0, x)) * window.points.y + window.point(1, y)) *
           window.points.z;
  }
};

// f(number of the row, its places in the window) for the rows that are kept; threads side by side have one.
constexpr int kColumns = 16;
template <class F>
__device__ __forceinline__ void over_rows(const TopRows& rows, F f) {
  constexpr int kAtOnce = kTopThreads / kColumns;
  int x = 0, y = threadIdx.x / kColumns;
  for (int r = y; r < rows.count_x * rows.count_y; r += kAtOnce, y += kAtOnce) {
    while (y >= rows.count_y) {
      y -= rows.count_y;
      ++x;
    }
    f(r, rows.first_x + x, rows.first_y + y);
  }
}

// Copies are under way when these return.
__device__ __forceinline__ void fetch_numbers(const TopBlock& b, const TopRows& rows) {
  const StencilShape& shape = b.op.of_pairs.shape;
  const float* const table = b.op.of_pairs.values + int64_t{b.part} * shape.size();
  over_rows(rows, [&](int r, int x, int y) {
    for (int k = threadIdx.x % kColumns; k < b.row.numbers; k += kColumns) {
      const int along = b.place.z + kFour * (k - b.row.charges);
      float4* const to = b.numbers + r * b.row.numbers + k;
      if (along >= -shape.before() && along + kFour <= shape.width() - shape.before()) {
        const int at = shape.place({b.place.x - x, b.place.y - y, along});
        __pipeline_memcpy_async(to, table + at, sizeof(float4));
      } else {
        *to = {0, 0, 0, 0};
      }
    }
  });
}
__device__ __forceinline__ void fetch_charges(const TopBlock& b, const TopRows& rows) {
  const int32_t* const charges = b.op.charges + b.op.levels.begin(b.op.levels.count);
  over_rows(rows, [&](int r, int x, int y) {
    const int32_t* const from = charges + b.point(x, y);
    auto* const to = reinterpret_cast<int32_t*>(b.charges + r * b.row.charges);
    for (int z = threadIdx.x % kColumns; z < kFour * b.row.charges; z += kColumns) {
      if (z < b.window.count.z) {
        __pipeline_memcpy_async(to + z, from + b.window.point(2, z), sizeof(int32_t));
      } else {
        to[z] = 0;
      }
    }
  });
}
// They are there after this, as floats.
__device__ __forceinline__ void await_rows(const TopBlock& b, const TopRows& rows) {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = threadIdx.x; i < rows.count_x * rows.count_y * b.row.charges; i += kTopThreads) {
    const int4 q = reinterpret_cast<const int4*>(b.charges)[i];
    b.charges[i] = {__int2float_rn(q.x), __int2float_rn(q.y), __int2float_rn(q.z),
                    __int2float_rn(q.w)};
  }
  __syncthreads();
}

// Four charges times the numbers of eight points: three fours of them in a row.
__device__ __forceinline__ void add_four(float4 charge, const float4& low, const float4& middle,
                                         const float4& high, float* sums) {
  const float number[3 * kFour] = {low.x,    low.y,    low.z,  low.w,  middle.x, middle.y,
                                   middle.z, middle.w, high.x, high.y, high.z,   high.w};
#pragma unroll
  for (int j = 0; j < kEight; ++j) {
    sums[j] = __fmaf_rn(charge.x, number[kFour + j], sums[j]);
    sums[j] = __fmaf_rn(charge.y, number[kFour + j - 1], sums[j]);
    sums[j] = __fmaf_rn(charge.z, number[kFour + j - 2], sums[j]);
    sums[j] = __fmaf_rn(charge.w, number[kFour + j - 3], sums[j]);
  }
}

__device__ __forceinline__ void add_row(const TopBlock& b, int r, int eight, float* sums) {
  const float4* const charges = b.charges + r * b.row.charges;
  const float4* const numbers =
      b.numbers + r * b.row.numbers + b.row.charges + kEight / kFour * eight;
  float4 high = numbers[1], middle = numbers[0];
  for (int k = 0; k < b.row.charges; ++k) {
    const float4 low = numbers[-1 - k];
    add_four(charges[k], low, middle, high, sums);
    high = middle;
    middle = low;
  }
}

// Those of the rows that are this thread's, in the order of the window.
__device__ __forceinline__ void add_rows(const TopBlock& b, const TopRows& rows, float* sums) {
  const int eight = threadIdx.x % kEights, share = threadIdx.x / kEights;
  const int of_x = share / kSharesY, of_y = share % kSharesY;
  const int begin = b.window.point(1, rows.first_y);
  const int ahead = min(rows.count_y, b.window.points.y - begin);  // before the grid begins anew
  for (int x = 0; x < rows.count_x; ++x) {
    if (b.window.point(0, rows.first_x + x) % kSharesX != of_x) continue;
    int y = (of_y - begin) & (kSharesY - 1);
    if (y >= ahead) y = ahead + of_y;
    while (y < rows.count_y) {
      add_row(b, x * rows.count_y + y, eight, sums);
      const bool is_ahead = y < ahead;
      y += kSharesY;
      if (is_ahead && y >= ahead) y = ahead + of_y;
    }
  }
}

// Of one point of the row for each thread of the first warp.
__device__ __forceinline__ float sum_of_shares(const float* sums) {
  __shared__ float of_warps[kSharesX][kRow];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int j = 0; j < kEight; ++j) {
    float sum = sums[j];
    for (int step = kEights; step < kWarp; step *= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
    if (lane < kEights) of_warps[warp][kEight * lane + j] = sum;
  }
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kSharesX; ++w) sum += of_warps[w][lane];
  return sum;
}

// A block for each place of a row in the window, and in a third dimension for the potential and each part of the
// virial.
__global__ void __launch_bounds__(kTopThreads)
    top_kernel(const __grid_constant__ SumUpperLevels op, int fours, LaunchTimes* times) {
  const Timed timed(times);
  // In a periodic box all points, so that the order does not depend on the window.
  const FmmWindow* const of_zero = op.levels.is_open() ? op.window : nullptr;
  const LevelWindow window(op.levels, of_zero, op.levels.count);
  const Int3 n = window.points, count = window.count;
  const int x = static_cast<int>(blockIdx.x) / n.y;
  const Int3 place{x, static_cast<int>(blockIdx.x) - x * n.y, kRow * static_cast<int>(blockIdx.y)};
  if (place.x >= count.x || place.y >= count.y || place.z >= count.z) return;
  const TopRow row(count.z);
  const int most = fours / row.fours();
  const TopBlock block{op,
                       window,
                       row,
                       place,
                       static_cast<int>(blockIdx.z),
                       top_memory,
                       top_memory + most * row.charges};
  const int step_y = min(count.y, most), step_x = max(1, most / count.y);
  float sums[kEight] = {};
  bool has_waited = false;
  for (int at_x = 0; at_x < count.x; at_x += step_x)
    for (int at_y = 0; at_y < count.y; at_y += step_y) {
      const TopRows rows{at_x, at_y, min(step_x, count.x - at_x), min(step_y, count.y - at_y)};
      __syncthreads();
      fetch_numbers(block, rows);
      if (!has_waited) {
        wait_for_previous();
        release_next();
        has_waited = true;
      }
      fetch_charges(block, rows);
      await_rows(block, rows);
      add_rows(block, rows, sums);
    }
  const float sum = sum_of_shares(sums);
  if (threadIdx.x >= kWarp) return;
  const int z = place.z + static_cast<int>(threadIdx.x);
  const bool is_there = z < count.z;
  const int64_t own = op.levels.begin(op.levels.count) + block.point(place.x, place.y) +
                      (is_there ? window.point(2, z) : 0);
  const double scale = ldexp(1 / kChargeScale, -op.levels.count);
  if (block.part == 0) {
    if (is_there) op.potential[own] = static_cast<float>(scale * sum);
    return;
  }
  const double virial = is_there ? -0.5 * scale / kChargeScale * op.charges[own] * sum : 0;
  const long long total = warp_sum(to_fixed(virial, kEnergyScale));
  if (threadIdx.x == 0) add_fixed(op.energy + kVirial + block.part - 1, total);
}

}  // namespace

void sum_top(const SumUpperLevels& op, CudaContext& context) {
  const Int3 n = op.levels.points(op.levels.count);
  const TopRow longest(n.z);
  const int fours = std::max(longest.fours(), std::min(kFours, n.x * n.y * longest.fours()));
  LaunchShape shape{SumUpperLevels::kName, static_cast<unsigned>(n.x * n.y), kTopThreads,
                    sizeof(float4) * static_cast<size_t>(fours), Start::kEarly};
  shape.blocks_y = blocks_for(n.z, kRow);
  shape.blocks_z = op.energy ? kFitParts : 1;
  launch(context, shape, top_kernel, op, fours);
}

}  // namespace quiltmd
