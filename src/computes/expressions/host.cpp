// SPDX-License-Identifier: Apache-2.0
// Forces by expressions on the CPU.
#include <atomic>

#include "computes/expressions/block.h"
#include "computes/expressions/term_sums.h"
#include "decomposition/energies.h"
#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 512;  // terms

void gather_expressions(const GatherExpressions& op, ThreadGroup& threads) {
  threads.parallel_for(op.shared_count, kGrain, [&](int begin, int end, int) {
    for (int k = begin; k < end; ++k) gather_position(op, k);
  });
}

void add_to(int64_t& to, int64_t value) {
  std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
}

// A part of the terms, on one thread.
class ExpressionTerms {
 public:
  explicit ExpressionTerms(const EvaluateExpression& op)
      : op_(op), block_(op.view, op.periodic ? &op.conditions->box : nullptr) {}

  void evaluate(int begin, int end) {
    for (int term = begin; term < end; ++term) {
      if (!is_here(op_, term)) continue;
      Vec3d positions[kMaxExpressionAtoms];
      for (int k = 0; k < op_.view.atoms_per_term; ++k) positions[k] = position_of(op_, term, k);
      block_.add(term, positions);
      if (block_.is_full()) finish();
    }
    if (block_.count()) finish();
    if (!op_.energy) return;
    add_to(op_.energy[op_.energy_kind], energy_);
    for (int v = 0; v < Symmetric::kParts; ++v) add_to(op_.energy[kVirial + v], virial_[v]);
  }

 private:
  void finish() {
    block_.evaluate();
    for (int lane = 0; lane < block_.count(); ++lane) take(block_.term(lane), block_.value(lane));
    block_.clear();
  }

  void take(int term, const ExpressionValue& value) {
    if (!value.is_finite) {
      report_fault(op_.faults->blowup_step, op_.faults->blowup_atom, *op_.step,
                   op_.atoms[place_of(op_, term, 0)]);
      return;
    }
    add_forces(op_, term, value, [](int64_t* to, int64_t fixed) { add_to(*to, fixed); });
    if (!op_.energy || slot_of(op_, term, 0) < 0) return;
    energy_ += to_fixed(value.energy, kEnergyScale);
    for (int v = 0; v < Symmetric::kParts; ++v)
      virial_[v] += to_fixed(value.virial[v], kEnergyScale);
  }

  const EvaluateExpression& op_;
  ExpressionBlock block_;
  int64_t energy_ = 0, virial_[Symmetric::kParts] = {};
};

void evaluate_expression(const EvaluateExpression& op, ThreadGroup& threads) {
  threads.parallel_for(op.terms, kGrain,
                       [&](int begin, int end, int) { ExpressionTerms(op).evaluate(begin, end); });
}

}  // namespace

void add_expressions_kernels(HostKernels& table) {
  table.add<GatherExpressions, gather_expressions>();
  table.add<EvaluateExpression, evaluate_expression>();
}

}  // namespace quiltmd
