// SPDX-License-Identifier: Apache-2.0
// Terms of an expression on a GPU, one thread each, in double precision as on the host. Compiled while a program
// runs, with the program of the expression as C++ (program_source.h).
#pragma once

#include "computes/expressions/operation_parts.h"
#include "computes/expressions/term_sums.h"
#include "decomposition/cuda_faults.cuh"
#include "decomposition/energies.h"
#include "device/cuda/timed.cuh"
#include "device/cuda/warp.cuh"

namespace quiltmd {

// What is the same for all terms, as constants of the compiler.
template <class Program>
__device__ __forceinline__ ExpressionView compiled_view(ExpressionView view,
                                                        const ExpressionVariable* variables) {
  view.atoms_per_term = Program::kAtoms;
  view.parameters_per_term = Program::kParameters;
  view.constant_count = Program::kConstants;
  view.variable_count = Program::kVariableCount;
  view.variables = variables;
  view.program.output_count = Program::kResults;
  return view;
}

template <class Program>
__device__ __forceinline__ ExpressionValue evaluate_term(const EvaluateExpression& op,
                                                         const ExpressionView& view, int term) {
  const Box* const box = op.periodic ? &op.conditions->box : nullptr;
  Vec3d positions[Program::kAtoms];
  for (int k = 0; k < Program::kAtoms; ++k) positions[k] = position_of(op, term, k);
  VariableAt variables[Program::kVariableCount + 1];
  double given[Program::kConstants + Program::kVariableCount + Program::kParameters + 1];
  double* next = given;
  for (int c = 0; c < Program::kConstants; ++c) *next++ = view.constants[c];
  for (int v = 0; v < Program::kVariableCount; ++v) {
    variables[v] = variable_at(view.variables[v], positions, box);
    *next++ = variables[v].value;
  }
  const double* const own = view.parameters + static_cast<ptrdiff_t>(term) * Program::kParameters;
  for (int p = 0; p < Program::kParameters; ++p) *next++ = own[p];
  double results[Program::kResults];
  Program::run(given, results, view.program.tables, view.program.table_size, box);
  return value_of(view, positions, variables, [&](int k) { return results[k]; });
}

// The value of a term, whose forces are added; zero for one that this rank does not count.
template <class Program>
__device__ __forceinline__ ExpressionValue add_term(const EvaluateExpression& op,
                                                    const ExpressionView& view, int term) {
  if (term >= op.terms || !is_here(op, term)) return {};
  const ExpressionValue value = evaluate_term<Program>(op, view, term);
  if (!value.is_finite) {
    report_fault(*op.faults, &op.faults->blowup_step, &op.faults->blowup_atom, *op.step,
                 op.atoms[place_of(op, term, 0)]);
    return {};
  }
  add_forces(op, term, value, [](int64_t* to, int64_t fixed) { add_fixed(to, fixed); });
  return slot_of(op, term, 0) < 0 ? ExpressionValue{} : value;
}

template <class Program>
__device__ __forceinline__ void evaluate_terms(EvaluateExpression op,
                                               const ExpressionVariable* variables,
                                               LaunchTimes* times) {
  const Timed timed(times);
  op.view = compiled_view<Program>(op.view, variables);
  const int term = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const ExpressionValue value = add_term<Program>(op, op.view, term);
  if (!op.energy) return;
  const auto add = [&](int kind, double energy) {
    const long long sum = warp_sum(to_fixed(energy, kEnergyScale));
    if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.energy + kind, sum);
  };
  add(op.energy_kind, value.energy);
  for (int v = 0; v < Symmetric::kParts; ++v) add(kVirial + v, value.virial[v]);
}

}  // namespace quiltmd
