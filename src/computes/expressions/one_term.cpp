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
          view_of(force.program)};
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

bool joins(const PairExpression& force, int32_t i, int32_t j) {
  if (force.first.empty()) return true;
  const auto a = static_cast<size_t>(i), b = static_cast<size_t>(j);
  return ((force.first[a] & force.second[b]) | (force.first[b] & force.second[a])) != 0;
}

PairValue evaluate_pair(const PairExpression& force, int32_t i, int32_t j, double distance) {
  const auto width = static_cast<size_t>(force.parameters_per_atom);
  auto place = static_cast<int>(force.constants.size());
  ProgramLanes program(view_of(force.program), force.constants.data(), place, nullptr);
  *program.lanes(place++) = distance;
  for (const int32_t atom : {i, j})
    for (size_t p = 0; p < width; ++p)
      *program.lanes(place++) = force.parameters[static_cast<size_t>(atom) * width + p];
  program.run();
  return {program.output(0, 0), program.output(1, 0)};
}

}  // namespace quiltmd
