// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/block.h"

#include <algorithm>
#include <cmath>

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
  ExpressionValue found{};
  int at = 0;
  found.energy = program_.output(at++, lane);
  bool is_finite = std::isfinite(found.energy);
  const auto own = static_cast<size_t>(lane);
  const Vec3d* const x = &positions_[own * static_cast<size_t>(view_.atoms_per_term)];
  for (int v = 0; v < view_.variable_count; ++v) {
    const ExpressionVariable& variable = view_.variables[v];
    const VariableAt& here =
        variables_[own * static_cast<size_t>(view_.variable_count) + static_cast<size_t>(v)];
    const double slope = program_.output(at++, lane);
    is_finite &= std::isfinite(slope);
    if (is_coordinate(variable.kind)) {
      Vec3d force{0, 0, 0};
      force[static_cast<int>(variable.kind)] = -slope;
      found.direct[variable.atoms[0]] += force;
      found.virial.add_product(x[variable.atoms[0]], force);
      continue;
    }
    Vec3d last{0, 0, 0};
    const int atoms = atoms_of(variable.kind);
    for (int k = 0; k < atoms; ++k) {
      const Vec3d force = k + 1 < atoms ? slope * here.force[k] : -last;
      const int atom = variable.atoms[static_cast<size_t>(k)];
      if (atom + 1 < view_.atoms_per_term) found.internal[atom] += force;
      last += force;
    }
    for (int p = 0; p < Symmetric::kParts; ++p) found.virial[p] += slope * here.virial[p];
  }
  for (; at < program_.outputs(); at += 6) {
    const Vec3d shift{program_.output(at, lane), program_.output(at + 1, lane),
                      program_.output(at + 2, lane)};
    found.virial.add_product(shift, {program_.output(at + 3, lane), program_.output(at + 4, lane),
                                     program_.output(at + 5, lane)});
  }
  found.is_finite = is_finite;
  return found;
}

}  // namespace quiltmd
