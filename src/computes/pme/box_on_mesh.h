// SPDX-License-Identifier: Apache-2.0
// What the kernels of PME need of the periodic cell. It lies in device memory and changes with the
// conditions (decomposition/conditions.h), so that recorded steps stay valid.
#pragma once

#include <cmath>

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

// What is on a mesh: charges, with an interaction of 1/r, or square roots of C6 coefficients, with one of
// -1/r^6 (Lennard-Jones PME). The names of operations and arrays are those of the first.
enum class MeshOf { kCharges, kDispersion };

// The largest coefficient of dispersion on the grid is from half of this on, in the units of charges.
inline constexpr double kLargestCoefficient = 16;
// nm^3 of the box for each grid point (0.58 nm apart) up to which the integers of the grid hold the sum of
// such coefficients of atoms at 164/nm^3, which is denser than molecules are.
inline constexpr double kFinePoint = 0.1952;

// By which coefficients on a coarser grid are multiplied, so that there is room for more of them: a power of
// 2, for which nothing is rounded; 1 where the grid is fine.
QMD_HD double coefficient_scale(double volume, Int3 points) {
  const double per_point =
      volume / (static_cast<double>(points.x) * points.y * static_cast<double>(points.z));
  if (!(per_point > kFinePoint)) return 1;
  int exponent = 0;
  frexp(per_point / kFinePoint, &exponent);
  return ldexp(1.0, -exponent);
}

struct BoxOnMesh {
  Vec3f per_nm[3];        // grid points of each dimension per nm along the axes
  Reciprocal reciprocal;  // 1/nm
  double scale;           // 1/(pi V), over the square of the next
  float coefficients;     // of dispersion are so many times those of the memory
};
QMD_HD BoxOnMesh box_on_mesh(const Box& box, Int3 points, MeshOf of) {
  BoxOnMesh on_mesh{};
  on_mesh.reciprocal = reciprocal_vectors(box);
  const Vec3d rows[3] = {on_mesh.reciprocal.a, on_mesh.reciprocal.b, on_mesh.reciprocal.c};
  for (int d = 0; d < 3; ++d) {
    const Vec3d row = static_cast<double>(points[d]) * rows[d];
    on_mesh.per_nm[d] = {static_cast<float>(row.x), static_cast<float>(row.y),
                         static_cast<float>(row.z)};
  }
  const double factor = of == MeshOf::kDispersion ? coefficient_scale(box.volume(), points) : 1;
  on_mesh.scale = 1 / (kPi * box.volume()) / (factor * factor);
  on_mesh.coefficients = static_cast<float>(factor);
  return on_mesh;
}

}  // namespace quiltmd
