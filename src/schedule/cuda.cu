// SPDX-License-Identifier: Apache-2.0
// CUDA kernels of the exchange operations.
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "schedule/operations.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 256;

template <class Op>
__global__ void __launch_bounds__(kThreads) add_kernel(const __grid_constant__ Op op) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < op.count) op.to[i] += op.from[i];
}

template <class Op>
void add(const Op& op, CudaContext& context) {
  launch(context, {Op::kName, blocks_for(op.count, kThreads), kThreads}, add_kernel<Op>, op);
}

}  // namespace

void add_exchange_kernels(CudaKernels& table) {
  table.add<AddIntegers, &add<AddIntegers>>();
  table.add<AddGrid, &add<AddGrid>>();
}

}  // namespace quiltmd
