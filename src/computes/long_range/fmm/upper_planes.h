// SPDX-License-Identifier: Apache-2.0
// Which part of the upper levels a rank on a CPU evaluates: what its planes of level 0 need.
#pragma once

#include <cstdint>
#include <vector>

#include "computes/long_range/fmm/levels.h"
#include "computes/long_range/pme/operations.h"

namespace quiltmd {

// By level, from `planes` of level 0 to the top: the planes, in one run or two, of which the potential of planes of
// the level below is made.
std::vector<std::vector<GridRange>> upper_planes(const FmmLevels& levels, GridRange planes);

// Points of these on the upper levels that have the stencil.
int64_t upper_points(const FmmLevels& levels, GridRange planes);

}  // namespace quiltmd
