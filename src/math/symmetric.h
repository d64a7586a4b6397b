// SPDX-License-Identifier: Apache-2.0
// A symmetric tensor: xx, yy, zz, xy, xz, yz.
#pragma once

#include "math/vec3.h"

namespace quiltmd {

struct Symmetric {
  static constexpr int kParts = 6;
  double part[kParts];

  QMD_HD double& operator[](int k) { return part[k]; }
  QMD_HD double operator[](int k) const { return part[k]; }

  // Add the symmetric half of a (x) b: the same whichever comes first.
  QMD_HD void add_product(Vec3d a, Vec3d b) {
    part[0] += a.x * b.x;
    part[1] += a.y * b.y;
    part[2] += a.z * b.z;
    part[3] += 0.5 * (a.x * b.y + a.y * b.x);
    part[4] += 0.5 * (a.x * b.z + a.z * b.x);
    part[5] += 0.5 * (a.y * b.z + a.z * b.y);
  }
  QMD_HD Symmetric& operator+=(const Symmetric& other) {
    for (int k = 0; k < kParts; ++k) part[k] += other.part[k];
    return *this;
  }
};

}  // namespace quiltmd
