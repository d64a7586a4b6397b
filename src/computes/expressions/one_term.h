// SPDX-License-Identifier: Apache-2.0
// Single terms and pairs of expressions over plain arrays.
#pragma once

#include <vector>

#include "computes/expressions/block.h"

namespace quiltmd {

// `box`: null without periodic images. Positions in internal order, nm, any image.
ExpressionValue evaluate_term(const ExpressionForce& force, const Box* box,
                              const std::vector<Vec3d>& positions, int term);

// Whether atoms are in the sets of a group of pairs.
bool joins(const PairExpression& force, int32_t i, int32_t j);
struct PairValue {
  double energy, slope;
};
PairValue evaluate_pair(const PairExpression& force, int32_t i, int32_t j, double distance);

}  // namespace quiltmd
