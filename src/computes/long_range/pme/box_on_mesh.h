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

// Quantity on a mesh: charges, with an interaction of 1/r, or square roots of C6 coefficients, with an
// interaction of -1/r^6 (Lennard-Jones PME); or derivatives of charges by lambda, of which only the energy is
// used. Operations and arrays have the names of the first.
enum class MeshOf { kCharges, kDispersion, kChargeChange };

// Dispersion coefficients in memory are scaled so that the largest is 8 to 16, in the units of charges.
inline constexpr double kLargestCoefficient = 16;
// nm^3 of the box for each grid point, of points 0.58 nm apart. Up to this, a grid point, which holds 512,
// has room for the sum of such coefficients of 164 atoms/nm^3, more than there are in molecular systems.
inline constexpr double kFineGridVolume = 0.1952;

// Factor of dispersion coefficients that makes their sums fit a grid point of a coarser grid: a power of 2,
// so that nothing is rounded; 1 on a fine grid.
QMD_HD double coarse_grid_factor(double volume, Int3 points) {
  const double per_point = volume / points.x / points.y / points.z;
  if (per_point <= kFineGridVolume) return 1;
  int exponent = 0;
  frexp(per_point / kFineGridVolume, &exponent);
  return ldexp(1.0, -exponent);
}

struct BoxOnMesh {
  Vec3f per_nm[3];           // grid points of each dimension per nm along the axes
  Reciprocal reciprocal;     // 1/nm
  double scale;              // 1/(pi V), divided by the square of coefficient_factor
  float coefficient_factor;  // of dispersion coefficients in memory, before they are spread
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
  const double factor = of == MeshOf::kDispersion ? coarse_grid_factor(box.volume(), points) : 1;
  on_mesh.scale = 1 / (kPi * box.volume()) / (factor * factor);
  on_mesh.coefficient_factor = static_cast<float>(factor);
  return on_mesh;
}

}  // namespace quiltmd
