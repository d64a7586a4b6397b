// SPDX-License-Identifier: Apache-2.0
// Single terms of expressions over plain arrays.
#pragma once

#include <vector>

#include "computes/expressions/block.h"

namespace quiltmd {

// `box`: null without periodic images. Positions in internal order, nm, any image.
ExpressionValue evaluate_term(const ExpressionForce& force, const Box* box,
                              const std::vector<Vec3d>& positions, int term);

}  // namespace quiltmd
