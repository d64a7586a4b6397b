// SPDX-License-Identifier: Apache-2.0
// The top level of the fast multipole method in a periodic box: a sum over the wave vectors of a small grid, in
// double precision, for kernels and reference alike.
#pragma once

#include <vector>

#include "computes/long_range/fmm/fit.h"
#include "computes/long_range/fmm/levels.h"
#include "computes/long_range/fmm/stencil.h"
#include "computes/long_range/pme/box_on_mesh.h"

namespace quiltmd {

struct TopWave {
  double value;
  Symmetric strain;  // its derivatives by a strain of the box
};

// Wave of signed frequencies; `modulus`: the product of the moduli of the windows over dimensions.
QMD_HD TopWave top_wave(const LevelKernels& kernels, int level, const Box& box, Int3 frequency,
                        double modulus) {
  const Reciprocal reciprocal = reciprocal_vectors(box);
  const Vec3d m = static_cast<double>(frequency.x) * reciprocal.a +
                  static_cast<double>(frequency.y) * reciprocal.b +
                  static_cast<double>(frequency.z) * reciprocal.c;
  const Influence smooth = kernels.smooth(level, dot(m, m));
  const double scale = modulus / box.volume();
  TopWave wave{smooth.value * scale, {}};
  wave.strain.add_product((2 * smooth.fall * scale) * m, m);
  for (int d = 0; d < 3; ++d) wave.strain[d] -= wave.value;
  return wave;
}

// Subtraction by the zero wave vector from the sum of the stencil's values, which makes the mean potential of
// all levels zero: level l has 8^-l of the points, on which a stencil of 2^-l has this mean.
QMD_HD double mean_of_levels(const FmmLevels& levels) {
  const double below = static_cast<double>((int64_t{1} << (2 * levels.count)) - 1) / 3;
  return below / static_cast<double>(levels.size(0));
}

// The moduli of the windows of the top level, by dimension.
std::vector<double> top_moduli(const FmmLevels& levels, const MeshWindow& window);
// Waves of the grid of the top level, in the layout of a real transform.
std::vector<TopWave> top_waves(const LevelKernels& kernels, const FmmLevels& levels,
                               const MeshWindow& window, const Box& box,
                               const std::vector<StencilPoint>& stencil);

// From charges on a grid of n points to their potential (1/nm), [x][y][z]; the virial, of a unit Coulomb
// constant.
Symmetric sum_over_waves(Int3 n, const TopWave* waves, const std::vector<double>& charges,
                         std::vector<double>& potential);

}  // namespace quiltmd
