// SPDX-License-Identifier: Apache-2.0
// What pair energies by expressions need on a rank's device, and their operations.
#pragma once

#include <vector>

#include "computes/expressions/program_memory.h"
#include "computes/force_family.h"
#include "computes/lists/list_memory.h"
#include "computes/pair_expressions/operations.h"

namespace quiltmd {

// Numbers of the kernels of a program; -1 on devices that do not compile it.
struct PairKernels {
  int forces = -1, with_energies = -1;
};

class PairExpressionMemory final : public ForceFamily {
 public:
  // `own_energies`: the first of those with names of their own.
  PairExpressionMemory(const SlotMemory& slots, const ListMemory& lists, int own_energies);

  void set_plan(const RankPlan& /*plan*/) override {}  // the lists follow it
  std::vector<Work> step_work(Energies energies) override;
  void take_constants() override;
  size_t bytes() const override { return make_.bytes(); }

 private:
  struct Force {
    int parameters_per_atom, energy_kind;
    PairKernels kernels;
    double cutoff;
    Buffer<double> constants, parameters;
    Buffer<uint64_t> first_sets, second_sets;
    ProgramMemory program;
  };

  EvaluatePairExpression evaluate(const Force& force, Part part, int list_age,
                                  Energies energies) const;

  const SlotMemory& slots_;
  const ListMemory& lists_;
  BufferMaker make_;
  std::vector<Force> forces_;
};

}  // namespace quiltmd
