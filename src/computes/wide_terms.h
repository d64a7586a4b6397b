// SPDX-License-Identifier: Apache-2.0
// Which bonded term of a system reaches farthest, and which bond is nearest to a length that it may not exceed.
#pragma once

#include <optional>
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

struct LimitedBond {
  int32_t other;  // the atom at its other end
  double length;  // nm
  double limit;   // nm
};

// The bond of the atom that is nearest to the length that it may not exceed; none where none has such a
// length. Arguments as above.
std::optional<LimitedBond> nearest_to_limit(const System& system, const Box& box,
                                            const std::vector<Vec3d>& positions, int32_t atom);

}  // namespace quiltmd
