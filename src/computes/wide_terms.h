// SPDX-License-Identifier: Apache-2.0
// Which bonded term of a system reaches farthest.
#pragma once

#include <vector>

#include "math/box.h"
#include "system/system.h"

namespace quiltmd {

struct WideTerm {
  const Terms* terms;
  int term;
  double width;  // between two of its atoms, nm
};

// The widest of the terms whose atoms must be in neighbouring patches; `terms` is null where all atoms of
// all terms may be anywhere. Positions in internal order, nm, any image.
WideTerm widest_term(const System& system, const Box& box, const std::vector<Vec3d>& positions);

}  // namespace quiltmd
