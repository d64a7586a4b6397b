// SPDX-License-Identifier: Apache-2.0
// A double as a sum of two floats: the nearest float and what that leaves (48 bits in all).
#pragma once

#include "math/vec3.h"

namespace quiltmd {

struct Split {
  float high, low;
};

QMD_HD Split split(double value) {
  float high = static_cast<float>(value);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDA_ARCH__)
  // When GCC (12 at least) vectorises double -> float -> double it drops the round trip, as if
  // nothing had been rounded, and `low` is 0. This hides where `high` comes from.
  asm("" : "+m"(high));
#endif
  return {high, static_cast<float>(value - static_cast<double>(high))};
}

// A position from a patch's centre: coordinates in single precision with `w` beside them, and what
// they leave.
QMD_HD void split(Vec3d r, float w, Float4& high, Float4& low) {
  const Split x = split(r.x), y = split(r.y), z = split(r.z);
  high = {x.high, y.high, z.high, w};
  low = {x.low, y.low, z.low, 0.0f};
}

}  // namespace quiltmd
