// SPDX-License-Identifier: Apache-2.0
// Operations of expressions that read more than their arguments.
#pragma once

#include "math/box.h"

namespace quiltmd {

// The number at a place of the tables; no number where there is none.
template <class Real>
QMD_HD Real look_up(Real place, const double* tables, int size) {
  const bool is_there = place >= 0 && place < size;
  return static_cast<Real>(is_there ? tables[static_cast<int>(place)] : NAN);
}

// The nearest image of a vector; `box` is null where there are no images.
QMD_HD Vec3d nearest(double x, double y, double z, const Box* box) {
  return box ? box->nearest_image({x, y, z}) : Vec3d{x, y, z};
}

}  // namespace quiltmd
