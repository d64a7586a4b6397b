// SPDX-License-Identifier: Apache-2.0
// From an atom's patch-centred position to its place on the charge grid, on hosts; GPUs find it in
// cuda_bricks.cuh.
//
// The patch's centre is placed on the grid in double, split into a whole point and the rest, once
// per patch; an atom adds only its offset, which is small however large the box is. Atoms may lie
// outside their patch, so indices are wrapped, never assumed.
#pragma once

#include <cmath>

#include "computes/long_range/pme/operations.h"

namespace quiltmd {

// The image of a point that is on a grid of n points.
QMD_HD int onto_grid(int point, int n) {
  if (point < 0 || point >= n) {
    point %= n;
    if (point < 0) point += n;
  }
  return point;
}

// The planes of a dimension (0: x) that atoms of the patches at `cell` of the patch grid can touch, when
// none sticks out of its patch by more than `beyond`, a fraction of the box. Modulo the grid.
QMD_HD GridRange pme_reach(const PmeGrid& grid, int dimension, int cell, double beyond) {
  const int n = Int3{grid.nx, grid.ny, grid.nz}[dimension];
  const double cells = grid.cells[dimension];
  // The kernels work in single precision around patch centres: allow for its rounding.
  const double slack = 1e-3;
  const int lowest =
      static_cast<int>(std::floor(n * (cell / cells - beyond) - slack)) - grid.order + 1;
  const int highest = static_cast<int>(std::floor(n * ((cell + 1) / cells + beyond) + slack));
  const int count = highest - lowest + 1;
  return {onto_grid(lowest, n), count < n ? count : n};
}

// A patch's centre on the grid, in grid points: base + rest, and the grid as patches share it.
class MeshFrame {
 public:
  MeshFrame(const PmeGrid& grid, const BoxOnMesh& box)
      : size_{grid.nx, grid.ny, grid.nz}, cells_(grid.cells) {
    for (int d = 0; d < 3; ++d) per_nm_[d] = box.per_nm[d];
  }

  // Centre of a patch on the grid: a whole grid point and the remainder.
  struct Centre {
    int base[3];
    float rest[3];
  };
  Centre centre(Int3 cell) const {
    Centre result;
    for (int d = 0; d < 3; ++d) {
      const double exact = size_[d] * (cell[d] + 0.5) / cells_[d];
      result.base[d] = static_cast<int>(std::floor(exact));
      result.rest[d] = static_cast<float>(exact - result.base[d]);
    }
    return result;
  }

  // Grid point at or below the atom in dimension d, unwrapped, and the fraction beyond it.
  struct Place {
    int point;
    float fraction;
  };
  Place place(const Centre& centre, int d, const Float4& local) const {
    const float u =
        centre.rest[d] + (per_nm_[d].x * local.x + per_nm_[d].y * local.y + per_nm_[d].z * local.z);
    const float whole = std::floor(u);
    return {centre.base[d] + static_cast<int>(whole), u - whole};
  }

  // The same for the atoms of one patch after another.
  void enter(Int3 cell) { centre_ = centre(cell); }
  Place place(int d, const Float4& local) const { return place(centre_, d, local); }

  int wrap(int d, int point) const { return onto_grid(point, size_[d]); }

  // Gradient in grid coordinates -> gradient in nm.
  Vec3f to_cartesian(Vec3f g) const {
    return g.x * per_nm_[0] + g.y * per_nm_[1] + g.z * per_nm_[2];
  }

 private:
  Int3 size_, cells_;
  Vec3f per_nm_[3];
  Centre centre_{};
};

}  // namespace quiltmd
