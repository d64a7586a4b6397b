// SPDX-License-Identifier: Apache-2.0
// The window and the top level of an open cell on a GPU.
#include <cmath>

#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/fmm/find_window.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kWindowThreads = 256, kPairThreads = 128;

// One block; whether each layer of patches has atoms, dimension by dimension.
__global__ void __launch_bounds__(kWindowThreads)
    window_kernel(const __grid_constant__ FindWindow op, LaunchTimes* times) {
  const Timed timed(times);
  extern __shared__ int32_t used[];
  const Int3 cells = op.grid.cells;
  const int layers = cells.x + cells.y + cells.z;
  for (int k = threadIdx.x; k < layers; k += blockDim.x) used[k] = 0;
  __syncthreads();
  wait_for_previous();
  for (int p = threadIdx.x; p < op.patch_count; p += blockDim.x) {
    const PlacedPatch patch = op.patches[p];
    if (patch.atoms == 0) continue;
    used[patch.cell.x] = 1;
    used[cells.x + patch.cell.y] = 1;
    used[cells.x + cells.y + patch.cell.z] = 1;
  }
  __syncthreads();
  const int d = threadIdx.x;
  if (d < 3) find_window_along(op, d, used + (d > 0 ? cells.x : 0) + (d > 1 ? cells.y : 0));
}

// A block for each point of the grid of the top level: the sum over all others of a part of the stencil's numbers
// times charges, in an order that the grid alone fixes.
__global__ void __launch_bounds__(kPairThreads)
    pairs_kernel(const __grid_constant__ SumUpperLevels op, int parts, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const LevelWindow window(op.levels, op.window, op.levels.count);
  const Int3 n = window.points;
  const auto place_of = [&](int index) {
    const int row = index / n.z, x = row / n.y;
    return Int3{onto_grid(x - window.first(0), n.x),
                onto_grid(row - x * n.y - window.first(1), n.y),
                onto_grid(index - row * n.z - window.first(2), n.z)};
  };
  const int own = blockIdx.x;
  const Int3 here = place_of(own);
  if (here.x >= window.count.x || here.y >= window.count.y || here.z >= window.count.z) return;
  const int32_t* const charges = op.charges + op.levels.begin(op.levels.count);
  const StencilShape shape = op.of_pairs.shape;
  float sums[kFitParts] = {};
  for (int other = threadIdx.x; other < n.x * n.y * n.z; other += kPairThreads) {
    const int charge = charges[other];
    if (charge == 0) continue;  // as beyond the window
    const float* const number = op.of_pairs.values + shape.place(here - place_of(other));
    const float q = __int2float_rn(charge);
#pragma unroll
    for (int k = 0; k < kFitParts; ++k)
      if (k < parts) sums[k] = __fmaf_rn(number[int64_t{k} * shape.size()], q, sums[k]);
  }
  __shared__ float of_warps[kFitParts][kPairThreads / kWarp];
#pragma unroll
  for (int k = 0; k < kFitParts; ++k) {
    float sum = sums[k];
    for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
    if (threadIdx.x % kWarp == 0) of_warps[k][threadIdx.x / kWarp] = sum;
  }
  __syncthreads();
  const int part = threadIdx.x;
  if (part >= parts) return;
  float sum = 0;
  for (const float of_warp : of_warps[part]) sum += of_warp;
  const double scale = ldexp(1 / kChargeScale, -op.levels.count);
  if (part == 0) {
    op.potential[op.levels.begin(op.levels.count) + own] = static_cast<float>(scale * sum);
  } else {
    const double virial = -0.5 * scale / kChargeScale * charges[own] * sum;
    add_fixed(op.energy + kVirial + part - 1, to_fixed(virial, kEnergyScale));
  }
}

}  // namespace

void find_window(const FindWindow& op, CudaContext& context) {
  const Int3 cells = op.grid.cells;
  const size_t bytes = sizeof(int32_t) * static_cast<size_t>(cells.x + cells.y + cells.z);
  launch(context, {FindWindow::kName, 1, kWindowThreads, bytes, Start::kEarly}, window_kernel, op);
}

void sum_open_top(const SumUpperLevels& op, CudaContext& context) {
  const auto points = static_cast<unsigned>(op.levels.size(op.levels.count));
  launch(context, {SumUpperLevels::kName, points, kPairThreads, 0, Start::kEarly}, pairs_kernel, op,
         op.energy ? kFitParts : 1);
}

}  // namespace quiltmd
