// SPDX-License-Identifier: Apache-2.0
// Forces by expressions on a GPU: kernels of terms are compiled while the program runs (compiled_terms.cuh).
#include "computes/expressions/term_sums.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 128;

__global__ void gather_expressions_kernel(const __grid_constant__ GatherExpressions op,
                                          LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k < op.shared_count) gather_position(op, k);
}

void gather_expressions(const GatherExpressions& op, CudaContext& context) {
  launch(
      context,
      {GatherExpressions::kName, blocks_for(op.shared_count, kThreads), kThreads, 0, Start::kEarly},
      gather_expressions_kernel, op);
}

void evaluate_expression(const EvaluateExpression& op, CudaContext& context) {
  launch(context, {EvaluateExpression::kName, blocks_for(op.terms, kThreads), kThreads},
         compiled_kernel<EvaluateExpression>(context, op.kernel), op);
}

}  // namespace

void add_expressions_kernels(CudaKernels& table) {
  table.add<GatherExpressions, gather_expressions>();
  table.add<EvaluateExpression, evaluate_expression>();
}

}  // namespace quiltmd
