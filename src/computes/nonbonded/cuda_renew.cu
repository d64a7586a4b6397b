// SPDX-License-Identifier: Apache-2.0
// Renewing the reference positions on the GPU: one thread a slot, nothing but traffic.
#include "computes/nonbonded/cuda_operations.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kRenewThreads = 256;

__global__ void __launch_bounds__(kRenewThreads)
    renew_kernel(const __grid_constant__ RenewReference op) {
  wait_for_previous();
  const int slot = blockIdx.x * kRenewThreads + threadIdx.x;
  if (slot >= min(*op.slot_count, op.slot_capacity)) return;
  const Vec3d position = op.slots.position[slot], moved = position - op.listed[slot];
  op.slots.reference[slot] = position;
  if (dot(moved, moved) > op.outrun2)
    atomicCAS(&op.faults->violation_step, 0, static_cast<int>(*op.step));
}

}  // namespace

void renew_reference(const RenewReference& op, CudaContext& context) {
  launch(context,
         {RenewReference::kName, blocks_for(op.slot_capacity, kRenewThreads), kRenewThreads, 0,
          Start::kEarly},
         renew_kernel, op);
}

}  // namespace quiltmd
