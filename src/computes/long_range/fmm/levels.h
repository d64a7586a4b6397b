// SPDX-License-Identifier: Apache-2.0
// The levels of the fast multipole method: a dual-space multilevel splitting of 1/r (Jiang and Greengard,
// arXiv:2308.00292) on uniform grids of B-splines (Hardy et al., J. Chem. Phys. 144, 114112 (2016)).
//   1/r = rest + D_0 + D_1 + ... + D_(L-1) + S_L,  S_l the smooth part of the split for the cutoff 2^l r_c,
//   D_l = S_l - S_(l+1) = 2^-l D_0(r/2^l), zero beyond 2^(l+1) r_c.
// Level l has a grid with 2^l times the spacing, so that one stencil serves all levels.
#pragma once

#include <array>
#include <cstdint>

#include "computes/long_range/ewald_split.h"
#include "math/vec3.h"

namespace quiltmd {

// Fourier transforms at the wave vector 2 pi m, as functions of m^2 and with minus their derivatives by it.
class LevelKernels {
 public:
  explicit LevelKernels(const EwaldSplit& split) : split_(split) {}

  Influence level_zero(double m2) const;         // of D_0
  Influence smooth(int level, double m2) const;  // of S_level; zero at m = 0

 private:
  const EwaldSplit& split_;
};

// The periodic grids: each has half as many points along an edge as the one below it; the last has no stencil
// but a sum over wave vectors.
struct FmmLevels {
  Int3 grid;      // of level 0
  int count = 0;  // of stencils: the number of the top level; none where the grid cannot be halved

  explicit FmmLevels(Int3 points);
  QMD_HD Int3 points(int level) const {
    return {grid.x >> level, grid.y >> level, grid.z >> level};
  }
  QMD_HD int64_t size(int level) const {
    const Int3 n = points(level);
    return int64_t{n.x} * n.y * n.z;
  }
  // Where a level begins in an array of all levels from the first on.
  QMD_HD int64_t begin(int level) const {
    int64_t sum = 0;
    for (int l = 1; l < level; ++l) sum += size(l);
    return sum;
  }
};

// A spline of level l is the sum of `order` + 1 splines of level l - 1 with these weights: M_p(x) =
// sum over j of weight[j] M_p(2x - j).
inline constexpr int kFmmOrder = 5;
inline constexpr std::array<int, kFmmOrder + 1> kRefinement{1, 5, 10, 10, 5, 1};
inline constexpr int kRefinementScale = 16;  // by which these are to be divided

// Throws Error for a grid or an order that the kernels cannot do.
void check_fmm_grid(int order, Int3 grid);
// Throws Error for a grid whose top level is too large for a GPU.
void check_gpu_fmm_grid(Int3 grid);

}  // namespace quiltmd
