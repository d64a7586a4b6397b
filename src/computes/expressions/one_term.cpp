// SPDX-License-Identifier: Apache-2.0
#include "computes/expressions/one_term.h"

namespace quiltmd {
namespace {

ExpressionView view_of(const ExpressionForce& force) {
  return {force.atoms_per_term,
          force.parameters_per_term,
          static_cast<int>(force.constants.size()),
          static_cast<int>(force.variables.size()),
          force.constants.data(),
          force.variables.data(),
          force.parameters.data(),
          ProgramView(force.program)};
}

}  // namespace

ExpressionValue evaluate_term(const ExpressionForce& force, const Box* box,
                              const std::vector<Vec3d>& positions, int term) {
  const ExpressionView view = view_of(force);
  ExpressionBlock block(view, box);
  Vec3d own[kMaxExpressionAtoms];
  for (int k = 0; k < force.atoms_per_term; ++k) {
    const int32_t atom = force.atoms[static_cast<size_t>(term * force.atoms_per_term + k)];
    own[k] = positions[static_cast<size_t>(atom)];
  }
  block.add(term, own);
  block.evaluate();
  return block.value(0);
}

}  // namespace quiltmd
