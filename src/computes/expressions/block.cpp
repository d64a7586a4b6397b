// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/block.h"

#include <algorithm>

namespace quiltmd {

ExpressionBlock::ExpressionBlock(const ExpressionView& view, const Box* box)
    : view_(view),
      program_(view.program, view.constants, view.constant_count, box),
      box_(box),
      positions_(static_cast<size_t>(view.atoms_per_term) * kLanes),
      variables_(static_cast<size_t>(view.variable_count) * kLanes) {}

void ExpressionBlock::add(int term, const Vec3d* positions) {
  const int lane = count_++;
  terms_[lane] = term;
  std::copy_n(positions, view_.atoms_per_term,
              &positions_[static_cast<size_t>(lane) * static_cast<size_t>(view_.atoms_per_term)]);
  const auto first = static_cast<size_t>(lane) * static_cast<size_t>(view_.variable_count);
  int place = view_.constant_count;
  for (int v = 0; v < view_.variable_count; ++v) {
    VariableAt& variable = variables_[first + static_cast<size_t>(v)];
    variable = variable_at(view_.variables[v], positions, box_);
    program_.lanes(place++)[lane] = variable.value;
  }
  const double* const parameters =
      view_.parameters + static_cast<ptrdiff_t>(term) * view_.parameters_per_term;
  for (int p = 0; p < view_.parameters_per_term; ++p) program_.lanes(place++)[lane] = parameters[p];
}

ExpressionValue ExpressionBlock::value(int lane) const {
  const auto own = static_cast<size_t>(lane);
  return value_of(view_, &positions_[own * static_cast<size_t>(view_.atoms_per_term)],
                  &variables_[own * static_cast<size_t>(view_.variable_count)],
                  [&](int k) { return program_.output(k, lane); });
}

}  // namespace quiltmd
