// SPDX-License-Identifier: Apache-2.0
// What bonded terms keep on a rank's device: tables of all terms, and which of them are placed here;
// and the operations that place and evaluate them.
//
// Every rank has the tables of the whole system, some 30 bytes a term: so terms need not travel when
// atoms migrate or computes are assigned again.
#pragma once

#include <array>
#include <vector>

#include "computes/bonded/operations.h"
#include "computes/force_family.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class TermMemory final : public ForceFamily {
 public:
  // Throws Error for parameters that make no sense; see term_arrays.
  explicit TermMemory(const SlotMemory& slots);

  void set_plan(const RankPlan& plan) override;
  void take_lambdas(const Lambdas& lambdas) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Work> step_work(Energies energies) override;
  size_t bytes() const override { return make_.bytes(); }

  PlaceTerms place_terms() const;
  TermForces term_forces(Energies energies) const;

  const TermTables& tables() const { return tables_; }
  // Placed terms of each form.
  PlacedTerms placed_terms() const override { return {placed_count_.data(), kTermForms}; }

 private:
  struct Arrays {
    Buffer<int32_t> atoms;
    Buffer<uint32_t> row;
    Buffer<double> parameters, shared;
    Buffer<uint32_t> placed;
  };
  const SlotMemory& slots_;
  BufferMaker make_;
  std::array<Arrays, kTermForms> arrays_;
  Buffer<int32_t> placed_count_;
  Buffer<int8_t> computed_here_;
  TermTables tables_{};
};

}  // namespace quiltmd
