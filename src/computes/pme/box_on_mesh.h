// SPDX-License-Identifier: Apache-2.0
// What the kernels of PME need of the periodic cell. It lies in device memory and changes with the
// conditions (decomposition/conditions.h), so that recorded steps stay valid.
#pragma once

#include "math/box.h"
#include "math/units.h"

namespace quiltmd {

// The reciprocal vectors (without 2 pi): fraction[i] = dot(reciprocal[i], r).
struct Reciprocal {
  Vec3d a, b, c;
};
QMD_HD Reciprocal reciprocal_vectors(const Box& box) {
  const double xy = -box.bx / (box.ax * box.by);
  const double yz = -box.cy / (box.by * box.cz);
  const double xz = (box.bx * box.cy - box.by * box.cx) / (box.ax * box.by * box.cz);
  return {{1 / box.ax, xy, xz}, {0, 1 / box.by, yz}, {0, 0, 1 / box.cz}};
}

struct BoxOnMesh {
  Vec3f per_nm[3];        // grid points of each dimension per nm along the axes
  Reciprocal reciprocal;  // 1/nm
  double scale;           // 1/(pi V)
};
QMD_HD BoxOnMesh box_on_mesh(const Box& box, Int3 points) {
  BoxOnMesh on_mesh{};
  on_mesh.reciprocal = reciprocal_vectors(box);
  const Vec3d rows[3] = {on_mesh.reciprocal.a, on_mesh.reciprocal.b, on_mesh.reciprocal.c};
  for (int d = 0; d < 3; ++d) {
    const Vec3d row = static_cast<double>(points[d]) * rows[d];
    on_mesh.per_nm[d] = {static_cast<float>(row.x), static_cast<float>(row.y),
                         static_cast<float>(row.z)};
  }
  on_mesh.scale = 1 / (kPi * box.volume());
  return on_mesh;
}

}  // namespace quiltmd
