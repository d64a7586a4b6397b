// SPDX-License-Identifier: Apache-2.0
// A program of an expression, run for a block of terms: each step for all of them, in double precision. What a
// term gives does not depend on the block it is in.
#pragma once

#include <algorithm>
#include <vector>

#include "computes/expressions/operation_table.h"
#include "computes/expressions/views.h"
#include "system/expression.h"

namespace quiltmd {

inline ProgramView view_of(const ExpressionProgram& program) {
  return {program.steps.data(),
          program.outputs.data(),
          static_cast<int>(program.steps.size()),
          static_cast<int>(program.outputs.size()),
          program.registers,
          program.tables.data(),
          static_cast<int>(program.tables.size())};
}

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
