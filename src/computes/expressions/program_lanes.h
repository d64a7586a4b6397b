// SPDX-License-Identifier: Apache-2.0
// A program of an expression, run for a block of terms: each step for all of them, in double precision. What a
// term gives does not depend on the block it is in.
#pragma once

#include <algorithm>
#include <vector>

#include "computes/expressions/operation_table.h"
#include "system/expression.h"

namespace quiltmd {

struct ProgramView {
  const ExpressionStep* steps;
  const int32_t* outputs;
  int step_count, output_count, registers;
  const double* tables;
  int table_size;

  explicit ProgramView(const ExpressionProgram& program)
      : steps(program.steps.data()),
        outputs(program.outputs.data()),
        step_count(static_cast<int>(program.steps.size())),
        output_count(static_cast<int>(program.outputs.size())),
        registers(program.registers),
        tables(program.tables.data()),
        table_size(static_cast<int>(program.tables.size())) {}
  ProgramView() = default;
};

class ProgramLanes {
 public:
  // `box`: null where there are no images.
  ProgramLanes(const ProgramView& program, const double* constants, int count, const Box* box)
      : program_(program),
        box_(box),
        registers_(static_cast<size_t>(program.registers) * kLanes, 1.0) {
    for (int c = 0; c < count; ++c) std::fill_n(lanes(c), kLanes, constants[c]);
  }

  double* lanes(int place) { return &registers_[static_cast<size_t>(place) * kLanes]; }
  void run() {
    for (int s = 0; s < program_.step_count; ++s) {
      const ExpressionStep& step = program_.steps[s];
      const auto& [a, b, c] = step.from;
      kExpressionOperations[step.operation].loop({lanes(step.to), lanes(a), lanes(b), lanes(c),
                                                  box_, program_.tables, program_.table_size});
    }
  }
  int outputs() const { return program_.output_count; }
  double output(int k, int lane) const {
    return registers_[static_cast<size_t>(program_.outputs[k]) * kLanes +
                      static_cast<size_t>(lane)];
  }

 private:
  const ProgramView program_;
  const Box* box_;
  std::vector<double> registers_;
};

}  // namespace quiltmd
