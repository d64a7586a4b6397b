// SPDX-License-Identifier: Apache-2.0
// Words for errors where expressions have no finite value.
#pragma once

#include <string>
#include <vector>

#include "math/box.h"
#include "system/system.h"

namespace quiltmd {

// Which custom force with a term of this atom has no finite energy or force at these positions; if all have,
// which ones there are; empty without custom forces on the atom. `box`: null without periodic images. Positions
// in internal order, nm.
std::string describe_custom_forces(const System& system, const Box* box,
                                   const std::vector<Vec3d>& positions, int32_t atom);

}  // namespace quiltmd
