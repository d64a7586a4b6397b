// SPDX-License-Identifier: Apache-2.0
// What kernels read of a force by an expression.
#pragma once

#include "system/expression.h"

namespace quiltmd {

struct ProgramView {
  const ExpressionStep* steps;
  const int32_t* outputs;
  int step_count, output_count, registers;
  const double* tables;
  int table_size;
};

// What the evaluation of a force reads.
struct ExpressionView {
  int atoms_per_term, parameters_per_term, constant_count, variable_count;
  const double* constants;
  const ExpressionVariable* variables;
  const double* parameters;  // (terms, parameters_per_term)
  ProgramView program;
};

}  // namespace quiltmd
