// SPDX-License-Identifier: Apache-2.0
// A virtual site: a massless atom whose place follows from those of its parents. One equation has all
// kinds that are in use (docs/theory/sites.md):
//
//   r = O + l_x e_x + l_y e_y + l_z e_z + c X x Y
//
// with weighted sums of the parents' places O = sum o_p r_p, X = sum x_p r_p, Y = sum y_p r_p, and unit
// vectors e_x along X, e_z along X x Y, e_y = e_z x e_x.
#pragma once

#include <cstdint>

#include "math/vec3.h"

namespace quiltmd {

// A site and its parents fill a hydrogen group.
inline constexpr int kMaxSiteParents = 7;

struct Site {
  int32_t atom, parents;            // the site itself; how many parents
  int32_t parent[kMaxSiteParents];  // atoms: indices in a System, places in the group in tables
  double origin[kMaxSiteParents], x[kMaxSiteParents], y[kMaxSiteParents];  // sums: 1, 0, 0
  Vec3d local;                                                             // l, nm
  double cross;                                                            // c, 1/nm
};

}  // namespace quiltmd
