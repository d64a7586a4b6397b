// SPDX-License-Identifier: Apache-2.0
// Operations of expressions that no operator or function of C++ is.
#pragma once

#include "math/box.h"

namespace quiltmd {

QMD_HD double divide(double a, double b) { return a / b; }
#ifdef __CUDACC__
// To 2 units in the last place; 0 for b of 2^126 and more.
__device__ __forceinline__ float divide(float a, float b) { return __fdividef(a, b); }
#endif

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
