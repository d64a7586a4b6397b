// SPDX-License-Identifier: Apache-2.0
// Terms of an expression, evaluated in blocks.
#pragma once

#include <vector>

#include "computes/expressions/program_lanes.h"
#include "computes/expressions/term_value.h"
#include "computes/expressions/variables.h"
#include "computes/expressions/views.h"
#include "system/expression.h"

namespace quiltmd {

class ExpressionBlock {
 public:
  // `box`: null where there are no images.
  ExpressionBlock(const ExpressionView& view, const Box* box);

  bool is_full() const { return count_ == kLanes; }
  int count() const { return count_; }
  void clear() { count_ = 0; }
  // One more term, with the positions of its atoms.
  void add(int term, const Vec3d* positions);
  int term(int lane) const { return terms_[lane]; }
  void evaluate() { program_.run(); }
  ExpressionValue value(int lane) const;

 private:
  const ExpressionView& view_;
  ProgramLanes program_;
  const Box* box_;
  int count_ = 0;
  int terms_[kLanes] = {};
  std::vector<Vec3d> positions_;       // (kLanes, atoms_per_term)
  std::vector<VariableAt> variables_;  // (kLanes, variables)
};

}  // namespace quiltmd
