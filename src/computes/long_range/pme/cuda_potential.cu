// SPDX-License-Identifier: Apache-2.0
// The sum of the potential of the mesh at atoms, on a GPU: one warp for a patch. It runs in steps with energies
// alone.
#include "computes/long_range/pme/cuda_kernels.h"
#include "computes/long_range/pme/mesh_potential.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace {

template <int Order>
__global__ void __launch_bounds__(kWarp)
    sum_potential_kernel(const __grid_constant__ SumPotential op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int lane = static_cast<int>(threadIdx.x);
  const PlacedPatch patch = op.patches[blockIdx.x];
  long long sum = 0;
  for (int n = lane; n < patch.atoms; n += kWarp)
    sum += potential_energy_of<Order>(op, patch.start + n);
  sum = warp_sum(sum);
  if (lane == 0 && sum != 0) add_fixed(op.sum, sum);
}

}  // namespace

void sum_potential(const SumPotential& op, CudaContext& context) {
  const LaunchShape shape{SumPotential::kName, static_cast<unsigned>(op.patch_count), kWarp, 0,
                          Start::kEarly};
  for_order(op.grid.order,
            [&]<int Order>() { launch(context, shape, sum_potential_kernel<Order>, op); });
}

}  // namespace quiltmd
