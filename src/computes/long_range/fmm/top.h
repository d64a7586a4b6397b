// SPDX-License-Identifier: Apache-2.0
// The top level of the fast multipole method in a periodic box: a sum over the wave vectors of a small grid, in
// double precision, for kernels and reference alike.
#pragma once

#include <vector>

#include "computes/long_range/fmm/levels.h"
#include "computes/long_range/fmm/stencil.h"
#include "math/box.h"
#include "math/symmetric.h"

namespace quiltmd {

// The steps of a grid of these numbers of points in a box.
Lattice lattice_of(const Box& box, Int3 grid);

struct TopWave {
  double value;
  Symmetric strain;  // its derivatives by a strain of the box
};

// Of the grid of the top level, as a transform of real values has them. The stencil's: the wave of length zero
// takes away the mean potential of all levels.
std::vector<TopWave> top_waves(const LevelKernels& kernels, const FmmLevels& levels, const Box& box,
                               const std::vector<StencilPoint>& stencil);

// From charges on a grid of n points to their potential (1/nm), [x][y][z]; the virial, of a unit Coulomb
// constant.
Symmetric sum_over_waves(Int3 n, const TopWave* waves, const std::vector<double>& charges,
                         std::vector<double>& potential);

}  // namespace quiltmd
