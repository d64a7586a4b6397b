// SPDX-License-Identifier: Apache-2.0
// Pair energies by expressions on a GPU: the kernels are compiled while the program runs (compiled_pairs.cuh).
#include "computes/nonbonded/cuda_pair_sums.cuh"
#include "computes/pair_expressions/operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

void evaluate_pair_expression(const EvaluatePairExpression& op, CudaContext& context) {
  const auto kernel = compiled_kernel<EvaluatePairExpression>(context, op.kernel);
  const auto blocks = static_cast<unsigned>(op.capacity) * static_cast<unsigned>(op.pieces);
  const LaunchShape shape{EvaluatePairExpression::kName, blocks, kWarp};
  if (!op.energy) return launch(context, shape, kernel, op);
  pairs::launch_with_energies(context, shape, kernel, op, static_cast<EnergyKind>(op.energy_kind),
                              "evaluate_pair_expression.sums");
}

}  // namespace

void add_pair_expressions_kernels(CudaKernels& table) {
  table.add<EvaluatePairExpression, evaluate_pair_expression>();
}

}  // namespace quiltmd
