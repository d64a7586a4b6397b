// SPDX-License-Identifier: Apache-2.0
// The top of the fast multipole method on a GPU: one block transforms the few hundred points dimension by
// dimension, each by its plain sum, in double precision.
#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/pme/divider.cuh"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kTopThreads = 512;

struct TopShape {
  Int3 n;
  int waves_z, waves;  // those of a real transform
  Divider by_y, by_waves_z, by_z;

  explicit TopShape(Int3 points)
      : n(points),
        waves_z(points.z / 2 + 1),
        waves(points.x * points.y * waves_z),
        by_y(points.y),
        by_waves_z(waves_z),
        by_z(points.z) {}
  size_t bytes() const {
    return sizeof(double2) * static_cast<size_t>(2 * waves + n.x + n.y + n.z);
  }
};

extern __shared__ double2 top_memory[];

// exp(-2 pi i k/n), k = 0 .. n - 1
__device__ __forceinline__ void fill_roots(double2* roots, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) {
    double sine, cosine;
    sincospi(2.0 * k / n, &sine, &cosine);
    roots[k] = {cosine, -sine};
  }
}

// The sum over m of values[m * stride] roots[k m], forward or, with conjugate roots, back.
template <bool kBack>
__device__ __forceinline__ double2 transformed(const double2* values, int stride,
                                               const double2* roots, int n, int k) {
  double2 sum{0, 0};
  int turn = 0;
  for (int m = 0; m < n; ++m) {
    const double2 v = values[m * stride];
    const double re = roots[turn].x, im = kBack ? -roots[turn].y : roots[turn].y;
    sum.x = fma(v.x, re, fma(-v.y, im, sum.x));
    sum.y = fma(v.x, im, fma(v.y, re, sum.y));
    turn += k;
    if (turn >= n) turn -= n;
  }
  return sum;
}

// Calls f(place, x, y, z) for the points of a grid of `depth` along z, then waits for all threads.
template <class F>
__device__ __forceinline__ void over_top(const TopShape& s, int depth, Divider by_depth, F f) {
  for (int i = threadIdx.x; i < s.n.x * s.n.y * depth; i += blockDim.x) {
    const int row = by_depth(i), x = s.by_y(row);
    f(i, x, row - x * s.n.y, i - row * depth);
  }
  __syncthreads();
}

// Transforms along x and y from one array to the other and back again.
template <bool kBack>
__device__ __forceinline__ void transform_along_y(const TopShape& s, const double2* from,
                                                  double2* to, const double2* roots) {
  over_top(s, s.waves_z, s.by_waves_z, [&](int i, int x, int y, int k) {
    to[i] = transformed<kBack>(from + x * s.n.y * s.waves_z + k, s.waves_z, roots, s.n.y, y);
  });
}
template <bool kBack>
__device__ __forceinline__ void transform_along_x(const TopShape& s, const double2* from,
                                                  double2* to, const double2* roots) {
  const int plane = s.n.y * s.waves_z;
  over_top(s, s.waves_z, s.by_waves_z, [&](int i, int x, int y, int k) {
    to[i] = transformed<kBack>(from + y * s.waves_z + k, plane, roots, s.n.x, x);
  });
}

// Number of waves of the complex transform that one wave of a real transform represents.
__device__ __forceinline__ int times_of(int k, int nz) { return k == 0 || 2 * k == nz ? 1 : 2; }

__device__ __forceinline__ void add_virial_of_top(const TopShape& s, const SumUpperLevels& op,
                                                  const double2* spectrum) {
  long long sums[Symmetric::kParts] = {};
  over_top(s, s.waves_z, s.by_waves_z, [&](int i, int, int, int k) {
    const double2 v = spectrum[i];
    const double square = 0.5 * times_of(k, s.n.z) * (v.x * v.x + v.y * v.y);
#pragma unroll
    for (int part = 0; part < Symmetric::kParts; ++part)
      sums[part] -= to_fixed(op.waves[i].strain[part] * square, kEnergyScale);
  });
#pragma unroll
  for (int part = 0; part < Symmetric::kParts; ++part) {
    const long long sum = warp_sum(sums[part]);
    if (threadIdx.x % kWarp == 0) add_fixed(op.energy + kVirial + part, sum);
  }
}

__global__ void __launch_bounds__(kTopThreads)
    top_kernel(const __grid_constant__ SumUpperLevels op, const __grid_constant__ TopShape s,
               LaunchTimes* times) {
  const Timed timed(times);
  double2 *const a = top_memory, *const b = a + s.waves;
  double2 *const roots_x = b + s.waves, *const roots_y = roots_x + s.n.x,
                 *const roots_z = roots_y + s.n.y;
  fill_roots(roots_x, s.n.x);
  fill_roots(roots_y, s.n.y);
  fill_roots(roots_z, s.n.z);
  wait_for_previous();
  release_next();
  const int64_t begin = op.levels.begin(op.levels.count);
  double* const charges = reinterpret_cast<double*>(b);
  over_top(s, s.n.z, s.by_z,
           [&](int i, int, int, int) { charges[i] = op.charges[begin + i] / kChargeScale; });
  over_top(s, s.waves_z, s.by_waves_z, [&](int i, int x, int y, int k) {
    const double* const row = charges + (x * s.n.y + y) * s.n.z;
    double2 sum{0, 0};
    int turn = 0;
    for (int z = 0; z < s.n.z; ++z) {
      sum.x = fma(row[z], roots_z[turn].x, sum.x);
      sum.y = fma(row[z], roots_z[turn].y, sum.y);
      turn += k;
      if (turn >= s.n.z) turn -= s.n.z;
    }
    a[i] = sum;
  });
  transform_along_y<false>(s, a, b, roots_y);
  transform_along_x<false>(s, b, a, roots_x);
  if (op.energy) add_virial_of_top(s, op, a);
  over_top(s, s.waves_z, s.by_waves_z, [&](int i, int, int, int) {
    const double value = op.waves[i].value;
    a[i] = {value * a[i].x, value * a[i].y};
  });
  transform_along_x<true>(s, a, b, roots_x);
  transform_along_y<true>(s, b, a, roots_y);
  over_top(s, s.n.z, s.by_z, [&](int i, int x, int y, int z) {
    const double2* const row = a + (x * s.n.y + y) * s.waves_z;
    double sum = 0;
    int turn = 0;
    for (int k = 0; k < s.waves_z; ++k) {
      sum += times_of(k, s.n.z) * (row[k].x * roots_z[turn].x + row[k].y * roots_z[turn].y);
      turn += z;
      if (turn >= s.n.z) turn -= s.n.z;
    }
    op.potential[begin + i] = static_cast<float>(sum);
  });
}

}  // namespace

void sum_top(const SumUpperLevels& op, CudaContext& context) {
  const TopShape shape(op.levels.points(op.levels.count));
  launch(context, {SumUpperLevels::kName, 1, kTopThreads, shape.bytes(), Start::kEarly}, top_kernel,
         op, shape);
}

}  // namespace quiltmd
