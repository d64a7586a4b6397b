// SPDX-License-Identifier: Apache-2.0
// The stencil by which charges of level 0 become potentials of D_0: by least squares, such that its Fourier
// series is as near the influence function D_0 w^2/(sum over aliases of w^2)^2 as it can be, in the measure of
// errors of forces (Hockney and Eastwood, Computer Simulation Using Particles (1988), section 8-3-3):
//   minimise the integral over theta of (sum w^2) (sum k^2 w^2) (K(theta) - G(theta))^2.
// Near the Nyquist frequency, where w is small, errors do not matter: so it needs half the radius of D_0.
#pragma once

#include <array>
#include <vector>

#include "computes/long_range/fmm/levels.h"
#include "math/symmetric.h"

namespace quiltmd {

// A lattice of grid points: the steps along the edges of the cell, nm.
using Lattice = std::array<Vec3d, 3>;

struct StencilPoint {
  Int3 at;
  double value;      // 1/nm: the potential of a unit charge at this offset
  Symmetric strain;  // its derivatives by a strain of the lattice, with the weights of the fit kept
};

// Points within `radius` (nm), a point and its opposite alike, ordered by x, y and z.
std::vector<StencilPoint> fit_stencil(const LevelKernels& kernels, const Lattice& steps,
                                      double radius);

// The largest distance of its points along z.
int reach_of(const std::vector<StencilPoint>& stencil);

// The radius, nm, with which the stencil adds a few per cent to the error of splines at these steps.
double stencil_radius(double cutoff, const Lattice& steps);

}  // namespace quiltmd
