// SPDX-License-Identifier: Apache-2.0
// The top level of the fast multipole method in a periodic box: a sum over the wave vectors of a small grid, in
// double precision, for kernels and reference alike.
#pragma once

#include <memory>
#include <vector>

#include "computes/long_range/fmm/levels.h"
#include "computes/long_range/fmm/stencil.h"
#include "math/box.h"
#include "math/symmetric.h"

namespace quiltmd {

// The steps of a grid of so many points in a box.
Lattice lattice_of(const Box& box, Int3 grid);

class TopSum {
 public:
  // The stencil's: the wave of length zero takes away the mean potential of all levels.
  TopSum(const LevelKernels& kernels, const FmmLevels& levels, const Box& box,
         const std::vector<StencilPoint>& stencil);

  // From charges on the grid of the top level to their potential (1/nm), [x][y][z]; the virial, of a unit
  // Coulomb constant.
  Symmetric potential(const std::vector<double>& charges, std::vector<double>& potential) const;
  Int3 points() const { return n_; }

 private:
  struct Wave {
    double value;
    Symmetric strain;
  };
  Int3 n_;
  std::vector<Wave> waves_;
};

}  // namespace quiltmd
