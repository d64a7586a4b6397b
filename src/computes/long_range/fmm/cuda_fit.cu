// SPDX-License-Identifier: Apache-2.0
// The fit of the stencil on a GPU: it follows a barostat, so it is to be short where it waits for nothing else.
// Sums that are long have a warp each, whose lanes add up in one order.
#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/fmm/fit_steps.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace {

constexpr int kFitThreads = 128, kWarps = kFitThreads / kWarp;

__device__ __forceinline__ double sum_of_lanes(double value) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

__device__ __forceinline__ const FitFamily& family_of(const DeviceFit& fit, int unknown) {
  int f = 0;
  while (f + 1 < fit.family_count && unknown >= fit.families[f + 1].first) ++f;
  return fit.families[f];
}

// The influence function, of samples and of the top level.
__global__ void __launch_bounds__(kFitThreads)
    fit_targets(const __grid_constant__ FitStencil op, int waves, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int index = blockIdx.x * kFitThreads + threadIdx.x, wave = index - op.fit.sample_count;
  if (wave < 0) {
    fit_target(op, ReciprocalSteps(lattice_of(op.conditions->box, op.levels.grid)), index);
  } else if (wave < waves) {
    fit_wave(op, wave);
  }
}

__global__ void __launch_bounds__(kFitThreads)
    fit_rows(const __grid_constant__ FitStencil op, int count, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int index = blockIdx.x * kFitThreads + threadIdx.x;
  if (index >= count) return;
  const int part = index % kFitParts, rest = index / kFitParts;
  sum_row(op, rest / op.fit.row_count, rest % op.fit.row_count, part);
}

// f(family, unknown, lane, parts) is a lane's share of the numbers of an unknown; store(family, unknown, parts)
// gets their sums.
template <class Share, class Store>
__device__ __forceinline__ void over_unknowns(const FitStencil& op, Share share, Store store) {
  const int unknown = blockIdx.x * kWarps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (unknown >= op.fit.unknown_count) return;
  const FitFamily& family = family_of(op.fit, unknown);
  double parts[kFitParts] = {};
  share(family, unknown, lane, parts);
  for (double& part : parts) part = sum_of_lanes(part);
  if (lane == 0) store(family, unknown, parts);
}

__global__ void __launch_bounds__(kFitThreads)
    fit_products(const __grid_constant__ FitStencil op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  over_unknowns(
      op,
      [&](const FitFamily& family, int unknown, int lane, double* parts) {
        for (int row = lane; row < op.fit.row_count; row += kWarp)
          add_product(op, family, unknown, row, parts);
      },
      [&](const FitFamily&, int unknown, const double* parts) {
        for (int k = 0; k < kFitParts; ++k) op.sums.products[unknown * kFitParts + k] = parts[k];
      });
}

__global__ void __launch_bounds__(kFitThreads)
    fit_numbers(const __grid_constant__ FitStencil op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  over_unknowns(
      op,
      [&](const FitFamily& family, int unknown, int lane, double* parts) {
        add_number(op, family, unknown, lane, kWarp, parts);
      },
      [&](const FitFamily& family, int unknown, const double* parts) {
        store_number(op, family, unknown, parts);
      });
}

// A warp for each part.
__global__ void __launch_bounds__(kWarp* kFitParts)
    fit_mean(const __grid_constant__ FitStencil op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int part = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const double sum = sum_of_lanes(sum_of_points(op, part, lane, kWarp));
  if (lane == 0) take_mean(op, part, sum);
}

// The potential of the top level at each difference of two of its points, and its derivatives by strain, in units of
// 2^-L: a warp for each, whose lanes go along the waves.
__global__ void __launch_bounds__(kFitThreads)
    fit_pairs(const __grid_constant__ FitStencil op, int waves, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const Int3 n = op.levels.points(op.levels.count);
  const int index = blockIdx.x * kWarps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (index >= n.x * n.y * n.z) return;
  const int row = index / n.z, along_z = n.z / 2 + 1;
  const Int3 at{row / n.y, row % n.y, index % n.z};
  double parts[kFitParts] = {};
  for (int w = lane; w < waves; w += kWarp) {
    const int k = w % along_z, line = w / along_z;
    const double turns = static_cast<double>(line / n.y * at.x) / n.x +
                         static_cast<double>(line % n.y * at.y) / n.y +
                         static_cast<double>(k * at.z) / n.z;
    const double cosine = (k == 0 || 2 * k == n.z ? 1 : 2) * cospi(2 * turns);
    parts[0] += cosine * op.waves[w].value;
#pragma unroll
    for (int p = 0; p < Symmetric::kParts; ++p) parts[1 + p] += cosine * op.waves[w].strain[p];
  }
  for (double& part : parts) part = sum_of_lanes(part);
  const Int3 turned{lane & 1, lane >> 1 & 1, lane >> 2 & 1};  // the image of a lane
  for (int d = 0; d < 3; ++d)
    if (lane >= 8 || (turned[d] && at[d] == 0)) return;
  const int place =
      op.of_pairs.place({at.x - turned.x * n.x, at.y - turned.y * n.y, at.z - turned.z * n.z});
  for (int k = 0; k < kFitParts; ++k)
    op.pair_values[int64_t{k} * op.of_pairs.size() + place] =
        static_cast<float>(ldexp(parts[k], op.levels.count));
}

}  // namespace

void fit_stencil(const FitStencil& op, CudaContext& context) {
  const auto shape = [](unsigned blocks) {
    return LaunchShape{FitStencil::kName, blocks, kFitThreads, 0, Start::kEarly};
  };
  const int of_rows = (op.shape.reach.z + 1) * op.fit.row_count * kFitParts;
  const unsigned of_unknowns = blocks_for(op.fit.unknown_count, kWarps);
  const int waves = op.levels.is_open() ? 0 : top_wave_count(op.levels);
  launch(context, shape(blocks_for(op.fit.sample_count + waves, kFitThreads)), fit_targets, op,
         waves);
  launch(context, shape(blocks_for(of_rows, kFitThreads)), fit_rows, op, of_rows);
  launch(context, shape(of_unknowns), fit_products, op);
  launch(context, shape(of_unknowns), fit_numbers, op);
  if (op.levels.is_open()) return;
  launch(context, {FitStencil::kName, 1, kWarp * kFitParts, 0, Start::kEarly}, fit_mean, op);
  const auto pairs = static_cast<int>(op.levels.size(op.levels.count));
  launch(context, shape(blocks_for(pairs, kWarps)), fit_pairs, op, waves);
}

}  // namespace quiltmd
