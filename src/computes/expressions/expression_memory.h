// SPDX-License-Identifier: Apache-2.0
// What forces by expressions need on a rank's device, and their operations.
#pragma once

#include <vector>

#include "computes/expressions/operations.h"
#include "computes/expressions/program_memory.h"
#include "computes/force_family.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class ExpressionMemory final : public ForceFamily {
 public:
  // `own_energies`: the first of those with names of their own.
  ExpressionMemory(const SlotMemory& slots, int own_energies);

  void set_plan(const RankPlan& /*plan*/) override {}  // atoms are found by their index
  std::vector<Work> step_work(Energies energies) override;
  std::vector<Handover> handovers() override;
  void take_constants() override;
  size_t bytes() const override { return make_.bytes(); }

 private:
  struct Force {
    int atoms_per_term, parameters_per_term, energy_kind, kernel;
    Buffer<double> constants, parameters;
    Buffer<ExpressionVariable> variables;
    Buffer<int32_t> atoms, shared_place;
    ProgramMemory program;
  };

  ExpressionAtoms atoms() const;
  EvaluateExpression evaluate(const Force& force, Energies energies) const;
  void launch_gather(Stream stream) const;
  void launch_forces(Energies energies, Stream stream) const;

  const SlotMemory& slots_;
  BufferMaker make_;
  std::vector<Force> forces_;
  Buffer<int32_t> shared_atoms_;
  Buffer<int64_t> shared_;
};

}  // namespace quiltmd
