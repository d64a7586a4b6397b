// SPDX-License-Identifier: Apache-2.0
// The top level of the fast multipole method in an open cell: the smooth part of the split for the cutoff
// 2^L r_c between all points of a small grid, as a stencil that reaches from one end of it to the other.
// In units of the spacing it is 2^-L times that of level 0.
#pragma once

#include <vector>

#include "computes/long_range/fmm/fit.h"
#include "computes/long_range/fmm/operations.h"
#include "computes/long_range/pme/mesh_window.h"

namespace quiltmd {

struct WideStencil {
  StencilShape shape;
  std::vector<StencilRow> rows;
  std::vector<float> values;  // [kFitParts][table], as DeviceStencil has them
};

// `steps`: of level 0, perpendicular. The influence function is that of the least
// error (see stencil.h). The smooth part is cut off at a distance beyond the grid, so that a transform of finite
// length has its values without any image (Vico, Greengard and Ferrando, J. Comput. Phys. 323, 191 (2016)).
WideStencil open_top(const LevelKernels& kernels, double cutoff, const Lattice& steps,
                     const FmmLevels& levels, const MeshWindow& window);

}  // namespace quiltmd
