// SPDX-License-Identifier: Apache-2.0
// The stencil by which charges of level 0 become potentials of D_0: by least squares, such that its Fourier
// series is as near the influence function D_0 w^2/(sum over aliases of w^2)^2 as it can be, in the measure of
// errors of forces (Hockney and Eastwood, Computer Simulation Using Particles (1988), section 8-3-3):
//   minimise the integral over theta of (sum w^2) (sum k^2 w^2) (K(theta) - G(theta))^2.
// Near the Nyquist frequency, where w is small, errors do not matter: so it needs half the radius of D_0.
#pragma once

#include <vector>

#include "computes/long_range/fmm/fit.h"
#include "computes/long_range/pme/mesh_window.h"

namespace quiltmd {

struct StencilPoint {
  Int3 at;
  double value;      // 1/nm: the potential of a unit charge at this offset
  Symmetric strain;  // its derivatives by a strain of the lattice
};

// The radius, nm, with which the stencil adds a few per cent to the error of splines at these steps.
double stencil_radius(const NonbondedSettings& settings, const Lattice& steps);

bool is_orthogonal(const Lattice& steps);

class Moments;

// The fit with points within `radius` (nm) and weights of one lattice, for a window.
class StencilFit {
 public:
  // Throws Error where the grid is too fine.
  StencilFit(const Lattice& steps, double radius, const MeshWindow& window);

  // The stencil of a lattice, ordered by x, y and z.
  std::vector<StencilPoint> at(const LevelKernels& kernels, const Lattice& steps) const;

  bool orthogonal() const { return families.front().parity != Parity::kNone; }
  struct Image {
    Int3 at;
    double sign;
  };
  // Images of an unknown, itself the first.
  std::vector<Image> images(const FitFamily& family, Int3 unknown) const;
  FitAngles angles() const { return {angles_.data(), static_cast<int>(angles_.size() / 2)}; }
  const std::vector<double>& angle_table() const { return angles_; }

  std::vector<Int3> points;  // ordered; a point and its opposite alike
  std::vector<FitSample> samples;
  std::vector<FitRow> rows;  // of samples
  std::vector<FitFamily> families;
  std::vector<Int3> unknowns;    // of all families
  std::vector<double> inverses;  // of their normal matrices

 private:
  void add_family(const FitFamily& family, const Moments& moments);

  std::vector<double> angles_;
};

// The window of all levels, each in units of its own spacing; `box` as in stencil_fit(). Of order 5: of least
// aliasing among those that are the sums of their children, nearly (long_range/pme/mesh_window.h); others are
// B-splines.
MeshWindow level_window(const NonbondedSettings& settings, const Box& box);

// The fit for the settings; `box` is the box of the stencil if the settings have none.
StencilFit stencil_fit(const NonbondedSettings& settings, const MeshWindow& window, const Box& box);

}  // namespace quiltmd
