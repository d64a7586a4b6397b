// SPDX-License-Identifier: Apache-2.0
// The periodic cell: three box vectors in reduced lower-triangular form
// a = (ax,0,0), b = (bx,by,0), c = (cx,cy,cz), in nm.
#pragma once

#include "math/vec3.h"

namespace quiltmd {

struct Box {
  double ax, bx, by, cx, cy, cz;

  bool operator==(const Box&) const = default;

  QMD_HD double volume() const { return ax * by * cz; }

  // Fractional coordinates of a Cartesian point.
  QMD_HD Vec3d to_fraction(Vec3d r) const {
    const double fz = r.z / cz;
    const double fy = (r.y - fz * cy) / by;
    return {(r.x - fy * bx - fz * cx) / ax, fy, fz};
  }

  QMD_HD Vec3d to_cartesian(Vec3d f) const {
    return {f.x * ax + f.y * bx + f.z * cx, f.y * by + f.z * cy, f.z * cz};
  }

  // Distance between opposite faces, per dimension.
  QMD_HD Vec3d widths() const {
    const Vec3d a{ax, 0, 0}, b{bx, by, 0}, c{cx, cy, cz};
    const double v = volume();
    return {v / norm(cross(b, c)), v / norm(cross(c, a)), v / norm(cross(a, b))};
  }

  // The displacement whose periodic image is the shortest (valid up to half the smallest width).
  QMD_HD Vec3d nearest_image(Vec3d d) const {
    const double nz = std::floor(d.z / cz + 0.5);
    d = d - nz * Vec3d{cx, cy, cz};
    const double ny = std::floor(d.y / by + 0.5);
    d = d - ny * Vec3d{bx, by, 0};
    const double nx = std::floor(d.x / ax + 0.5);
    d.x -= nx * ax;
    return d;
  }
};

}  // namespace quiltmd
