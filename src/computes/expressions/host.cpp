// SPDX-License-Identifier: Apache-2.0
// Forces by expressions on the CPU.
#include <atomic>
#include <bit>

#include "computes/expressions/operations.h"
#include "decomposition/energies.h"
#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kGrain = 512;  // terms

void gather_expressions(const GatherExpressions& op, ThreadGroup& threads) {
  threads.parallel_for(op.shared_count, kGrain, [&](int begin, int end, int) {
    for (int k = begin; k < end; ++k) {
      const int slot = op.of.slot(op.shared_atoms[k]);
      const Vec3d x = slot < 0 ? Vec3d{} : op.of.position[slot];
      for (int d = 0; d < 3; ++d)
        op.shared[3 * static_cast<ptrdiff_t>(k) + d] = std::bit_cast<int64_t>(x[d]);
    }
  });
}

void add_to(int64_t& to, int64_t value) {
  std::atomic_ref(to).fetch_add(value, std::memory_order_relaxed);
}

struct FixedForce {
  int64_t part[3] = {};

  void add(Vec3d force) {
    for (int d = 0; d < 3; ++d) part[d] += to_fixed(force[d], kForceScale);
  }
};

// A part of the terms, on one thread.
class ExpressionTerms {
 public:
  explicit ExpressionTerms(const EvaluateExpression& op)
      : op_(op), block_(op.view, op.periodic ? &op.conditions->box : nullptr) {}

  void evaluate(int begin, int end) {
    for (int term = begin; term < end; ++term) {
      if (!is_here(term)) continue;
      Vec3d positions[kMaxExpressionAtoms];
      for (int k = 0; k < op_.view.atoms_per_term; ++k) positions[k] = position(term, k);
      block_.add(term, positions);
      if (block_.is_full()) finish();
    }
    if (block_.count()) finish();
    if (!op_.energy) return;
    add_to(op_.energy[op_.energy_kind], energy_);
    for (int v = 0; v < Symmetric::kParts; ++v) add_to(op_.energy[kVirial + v], virial_[v]);
  }

 private:
  ptrdiff_t place(int term, int k) const {
    return static_cast<ptrdiff_t>(term) * op_.view.atoms_per_term + k;
  }
  int slot(int term, int k) const { return op_.of.slot(op_.atoms[place(term, k)]); }
  bool is_here(int term) const {
    for (int k = 0; k < op_.view.atoms_per_term; ++k)
      if (slot(term, k) >= 0) return true;
    return false;
  }
  Vec3d position(int term, int k) const {
    if (!op_.shared_place) return op_.of.position[slot(term, k)];
    const int64_t* const words =
        op_.shared + 3 * static_cast<ptrdiff_t>(op_.shared_place[place(term, k)]);
    return {std::bit_cast<double>(words[0]), std::bit_cast<double>(words[1]),
            std::bit_cast<double>(words[2])};
  }

  void finish() {
    block_.evaluate();
    for (int lane = 0; lane < block_.count(); ++lane) take(block_.term(lane), block_.value(lane));
    block_.clear();
  }

  void take(int term, const ExpressionValue& value) {
    if (!value.is_finite) {
      report_fault(op_.faults->blowup_step, op_.faults->blowup_atom, *op_.step,
                   op_.atoms[place(term, 0)]);
      return;
    }
    const int last = op_.view.atoms_per_term - 1;
    FixedForce rest;
    for (int k = 0; k <= last; ++k) {
      FixedForce force;
      if (k < last) force.add(value.internal[k]);
      for (int d = 0; d < 3; ++d) {
        rest.part[d] -= force.part[d];
        if (k == last) force.part[d] = rest.part[d];
      }
      force.add(value.direct[k]);
      if (const int to = slot(term, k); to >= 0)
        for (int d = 0; d < 3; ++d) add_to(op_.slots.force[d][to], force.part[d]);
    }
    if (!op_.energy || slot(term, 0) < 0) return;
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
