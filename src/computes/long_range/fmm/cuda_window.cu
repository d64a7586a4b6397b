// SPDX-License-Identifier: Apache-2.0
// The window on a GPU.
#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/fmm/find_window.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kWindowThreads = 256;

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

}  // namespace

void find_window(const FindWindow& op, CudaContext& context) {
  const Int3 cells = op.grid.cells;
  const size_t bytes = sizeof(int32_t) * static_cast<size_t>(cells.x + cells.y + cells.z);
  launch(context, {FindWindow::kName, 1, kWindowThreads, bytes, Start::kEarly}, window_kernel, op);
}

}  // namespace quiltmd
