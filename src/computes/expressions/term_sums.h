// SPDX-License-Identifier: Apache-2.0
// Terms of expressions on a rank: where their atoms are, and what they add to forces. Every contribution is fixed
// point by itself. `add(place, value)` adds an integer.
#pragma once

#include "computes/expressions/operations.h"
#include "computes/expressions/term_value.h"
#include "math/bits.h"
#include "math/fixed.h"

namespace quiltmd {

QMD_HD void gather_position(const GatherExpressions& op, int k) {
  const int slot = op.of.slot(op.shared_atoms[k]);
  const Vec3d x = slot < 0 ? Vec3d{} : op.of.position[slot];
  for (int d = 0; d < 3; ++d) op.shared[3 * static_cast<ptrdiff_t>(k) + d] = to_bits(x[d]);
}

QMD_HD ptrdiff_t place_of(const EvaluateExpression& op, int term, int k) {
  return static_cast<ptrdiff_t>(term) * op.view.atoms_per_term + k;
}

QMD_HD int slot_of(const EvaluateExpression& op, int term, int k) {
  return op.of.slot(op.atoms[place_of(op, term, k)]);
}

// Whether this rank owns an atom of the term.
QMD_HD bool is_here(const EvaluateExpression& op, int term) {
  for (int k = 0; k < op.view.atoms_per_term; ++k)
    if (slot_of(op, term, k) >= 0) return true;
  return false;
}

QMD_HD Vec3d position_of(const EvaluateExpression& op, int term, int k) {
  if (!op.shared_place) return op.of.position[slot_of(op, term, k)];
  const int64_t* const words =
      op.shared + 3 * static_cast<ptrdiff_t>(op.shared_place[place_of(op, term, k)]);
  return {from_bits(words[0]), from_bits(words[1]), from_bits(words[2])};
}

struct FixedForce {
  int64_t part[3] = {};

  QMD_HD void add(Vec3d force) {
    for (int d = 0; d < 3; ++d) part[d] += to_fixed(force[d], kForceScale);
  }
};

template <class Add>
QMD_HD void add_forces(const EvaluateExpression& op, int term, const ExpressionValue& value,
                       const Add& add) {
  const int last = op.view.atoms_per_term - 1;
  FixedForce rest;
  for (int k = 0; k <= last; ++k) {
    FixedForce force;
    if (k < last) force.add(value.internal[k]);
    for (int d = 0; d < 3; ++d) {
      rest.part[d] -= force.part[d];
      if (k == last) force.part[d] = rest.part[d];
    }
    force.add(value.direct[k]);
    if (const int to = slot_of(op, term, k); to >= 0)
      for (int d = 0; d < 3; ++d) add(op.slots.force[d] + to, force.part[d]);
  }
}

}  // namespace quiltmd
