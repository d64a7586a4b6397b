// SPDX-License-Identifier: Apache-2.0
// From level to level on a GPU, and the list of the kernels.
#include <cmath>

#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/fmm/cuda_levels.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 64;

// A point of a grid, by its number among those of planes [first, ...).
struct Numbering {
  int first, y, z;

  __device__ __forceinline__ Int3 point(int number) const {
    const int row = number / z, plane = row / y;
    return {first + plane, row - plane * y, number - row * z};
  }
};

// ---- Up ------------------------------------------------------------------------------------

struct Restriction {
  Int3 fine;  // numbers of points
  const int32_t* from;
  int32_t* to;
  int first, end;  // planes of the coarse grid
  FmmLevels levels;
  const FmmWindow* window;
  int level;  // of the coarse grid

  // Whether a coarse point has charges; those beyond the window become zero.
  __device__ __forceinline__ bool has_charges(Int3 p) const {
    return !window || LevelWindow(levels, window, level).has(p);
  }
};

// The sum over one plane of the fine grid.
template <int Order>
__device__ __forceinline__ long long plane_sum(const Restriction& op, Int3 p, int plane) {
  using Spline = Refinement<Order>;
  const int64_t x = int64_t{onto_grid(2 * p.x + plane, op.fine.x)} * op.fine.y;
  int pairs[Spline::kParents];  // of points along z; the last may have one alone
#pragma unroll
  for (int k = 0; k < Spline::kParents; ++k) pairs[k] = onto_grid(p.z + k, op.fine.z / 2);
  constexpr int kRows = (Spline::kPoints + 1) / 2;  // fetched before the first is used
  long long sum = 0;
#pragma unroll
  for (int first = 0; first < Spline::kPoints; first += kRows) {
    int2 two[kRows][Spline::kParents];
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      if (first + j >= Spline::kPoints) break;
      const int64_t row = (x + onto_grid(2 * p.y + first + j, op.fine.y)) * op.fine.z;
      const int2* const from = reinterpret_cast<const int2*>(op.from + row);
#pragma unroll
      for (int k = 0; k < Spline::kParents; ++k) two[j][k] = from[pairs[k]];
    }
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      if (first + j >= Spline::kPoints) break;
      long long along = 0;
#pragma unroll
      for (int k = 0; k < Spline::kParents; ++k)
        along += static_cast<long long>(Spline::weight(2 * k)) * two[j][k].x +
                 static_cast<long long>(Spline::weight(2 * k + 1)) * two[j][k].y;
      sum += Spline::weight(first + j) * along;
    }
  }
  return sum;
}

constexpr int kAcross = 2;  // neighbouring coarse planes of a block

template <int Order>
constexpr int kFinePlanes = 2 * (kAcross - 1) + Refinement<Order>::kPoints;

// A warp for each fine plane that is part of the coarse planes of a block: lanes go along the points of a plane.
// Coarse planes that are neighbours have most of the fine ones in common.
template <int Order>
__global__ void __launch_bounds__(kWarp* kFinePlanes<Order>)
    restrict_kernel(const __grid_constant__ Restriction op, LaunchTimes* times) {
  using Spline = Refinement<Order>;
  const Timed timed(times);
  __shared__ long long sums[kFinePlanes<Order>][kWarp];
  const int lane = threadIdx.x % kWarp, plane = threadIdx.x / kWarp;
  const int number = blockIdx.x * kWarp + lane;
  const Int3 n{op.fine.x / 2, op.fine.y / 2, op.fine.z / 2};
  wait_for_previous();
  release_next();
  const int of_plane = min(number, n.y * n.z - 1), y = of_plane / n.z;
  const Int3 first{op.first + kAcross * static_cast<int>(blockIdx.y), y, of_plane - y * n.z};
  bool is_needed = false;
#pragma unroll
  for (int x = 0; x < kAcross; ++x) {
    const int child = plane - 2 * x;
    if (child >= 0 && child < Spline::kPoints && first.x + x < op.end)
      is_needed = is_needed || op.has_charges({first.x + x, first.y, first.z});
  }
  sums[plane][lane] = is_needed ? plane_sum<Order>(op, first, plane) : 0;
  __syncthreads();
  const Int3 p{first.x + plane, first.y, first.z};
  if (plane >= kAcross || p.x >= op.end || number >= n.y * n.z) return;
  constexpr int kShift = 3 * Spline::kBits;
  long long sum = 1ll << (kShift - 1);
#pragma unroll
  for (int i = 0; i < Spline::kPoints; ++i) sum += Spline::weight(i) * sums[2 * plane + i][lane];
  const bool has = op.has_charges(p);
  op.to[(static_cast<int64_t>(p.x) * n.y + p.y) * n.z + p.z] =
      has ? static_cast<int32_t>(sum >> kShift) : 0;
}

// Planes [first, end) of a level, from the charges of the one below it.
void restrict_planes(const FmmLevels& levels, const FmmWindow* window, int level,
                     const int32_t* fine, int32_t* coarse, int first, int end,
                     CudaContext& context) {
  const Int3 n = levels.points(level);
  const Restriction op{levels.points(level - 1), fine, coarse, first, end, levels, window, level};
  for_order(levels.order, [&]<int Order>() {
    LaunchShape shape{RestrictCharges::kName, blocks_for(int64_t{n.y} * n.z, kWarp),
                      kWarp * kFinePlanes<Order>, 0, Start::kEarly};
    shape.blocks_y = blocks_for(end - first, kAcross);
    launch(context, shape, restrict_kernel<Order>, op);
  });
}

// ---- Down ----------------------------------------------------------------------------------

// Whether the window has one of two neighbours along z. Potentials beyond it are of no use.
__device__ __forceinline__ bool in_window(const ProlongPotential& op, Int3 at) {
  if (!op.window) return true;
  const LevelWindow window(op.levels, op.window, 0);
  return window.has(at) || window.has({at.x, at.y, at.z + 1});
}

// A thread makes two neighbours along z. Where energies are wanted, what comes next, which clears the charges,
// must not begin before this has ended.
template <int Order>
__global__ void __launch_bounds__(kThreads)
    prolong_kernel(const __grid_constant__ ProlongPotential op,
                   const __grid_constant__ Numbering pairs, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (!op.energy) release_next();
  const Int3 n = op.levels.grid;
  const int number = blockIdx.x * kThreads + threadIdx.x;
  long long energy = 0;
  const Int3 p = pairs.point(number);
  if (number < op.count * n.y * pairs.z && in_window(op, {p.x, p.y, 2 * p.z})) {
    const int64_t at = (static_cast<int64_t>(p.x) * n.y + p.y) * pairs.z + p.z;
    const float2 more = prolonged<Order>(op.coarse, n, p.x, p.y, p.z);
    float2* const to = reinterpret_cast<float2*>(op.fine) + at;
    const float2 value{to->x + more.x, to->y + more.y};
    *to = value;
    if (op.energy) {
      const int2 charge = reinterpret_cast<const int2*>(op.charges)[at];
      constexpr double kHalf = 0.5 / kChargeScale;
      energy = to_fixed(kHalf * charge.x * value.x, kEnergyScale) +
               to_fixed(kHalf * charge.y * value.y, kEnergyScale);
    }
  }
  if (!op.energy) return;
  energy = warp_sum(energy);
  if (threadIdx.x % kWarp == 0 && energy != 0) add_fixed(op.energy + kReciprocal, energy);
}

// ---- The operations ------------------------------------------------------------------------

float scale_of(int level) { return static_cast<float>(std::ldexp(1 / kChargeScale, -level)); }

void restrict_charges(const RestrictCharges& op, CudaContext& context) {
  restrict_planes(op.levels, op.window, 1, op.fine, op.coarse, (op.first + 1) / 2,
                  (op.first + op.count + 1) / 2, context);
}

void sum_upper_levels(const SumUpperLevels& op, CudaContext& context) {
  const FmmLevels& levels = op.levels;
  for (int l = 1; l < levels.count; ++l)
    restrict_planes(levels, op.window, l + 1, op.charges + levels.begin(l),
                    op.charges + levels.begin(l + 1), 0, levels.points(l + 1).x, context);
  sum_top(op, context);
  for (int l = levels.count - 1; l >= 1; --l) {
    const Int3 n = levels.points(l);
    const GpuSweep sweep{levels,
                         op.window,
                         l,
                         n,
                         op.stencil,
                         {0, n.x},
                         op.charges + levels.begin(l),
                         op.potential + levels.begin(l),
                         op.energy,
                         scale_of(l),
                         op.potential + levels.begin(l + 1)};
    convolve_charges(sweep, context);
    if (op.energy) add_virial(sweep, context);
  }
}

void convolve_level(const ConvolveLevel& op, CudaContext& context) {
  const GpuSweep sweep{
      op.levels,  op.window,    0,         op.levels.grid, op.stencil, {op.first, op.count},
      op.charges, op.potential, op.energy, scale_of(0),    nullptr};
  convolve_charges(sweep, context);
  if (op.energy) add_virial(sweep, context);
}

void prolong_potential(const ProlongPotential& op, CudaContext& context) {
  const Int3 n = op.levels.grid;
  const LaunchShape shape{ProlongPotential::kName,
                          blocks_for(int64_t{op.count} * n.y * (n.z / 2), kThreads), kThreads, 0,
                          Start::kEarly};
  for_order(op.levels.order, [&]<int Order>() {
    launch(context, shape, prolong_kernel<Order>, op, Numbering{op.first, n.y, n.z / 2});
  });
}

}  // namespace

void add_fmm_kernels(CudaKernels& table) {
  table.add<FitStencil, fit_stencil>();
  table.add<FindWindow, find_window>();
  table.add<RestrictCharges, restrict_charges>();
  table.add<SumUpperLevels, sum_upper_levels>();
  table.add<ConvolveLevel, convolve_level>();
  table.add<ProlongPotential, prolong_potential>();
}

}  // namespace quiltmd
