// SPDX-License-Identifier: Apache-2.0
// How Ewald summation divides the Coulomb potential 1/r: into a smooth part of long range, which a mesh sums up
// in reciprocal space, and a rest that pairs within the cutoff have.
//   Gaussian: erf(alpha r)/r (Essmann et al., J. Chem. Phys. 103, 8577 (1995)); the rest is cut off where
//     erfc(alpha cutoff) is small.
//   Prolate: Phi(r/cutoff)/r, Phi the integral of a prolate spheroidal wave function from 0, 1 from the cutoff
//     on (Liang, Lu, Barnett, Greengard and Jiang, arXiv:2505.09727): the rest ends at the cutoff by itself,
//     and of all such splits it leaves least beyond a wave number, so that a coarser mesh does.
#pragma once

#include <memory>

#include "computes/nonbonded_settings.h"

namespace quiltmd {

// A function of m^2 and minus its derivative.
struct Influence {
  double value, fall;
};

// The Fourier transform of the smooth part, times m^2 pi, as kernels evaluate it: exp(-decay m^2) times a
// polynomial in t = t_scale m^2 - 1, and nothing from m^2 = end on.
struct FittedTransform {
  static constexpr int kDegree = 8;
  float decay, end, t_scale;
  float shape[kDegree + 1];  // lowest power first
};

class EwaldSplit {
 public:
  virtual ~EwaldSplit() = default;

  // The smooth part at r^2 (1/nm), and the force of it over r: minus its derivative by r, divided by r.
  virtual double potential(double r2) const = 0;
  virtual double force(double r2) const = 0;
  // The integral of the rest over all space, nm^2.
  virtual double rest_integral() const = 0;
  // The Fourier transform of the smooth part at the wave vector 2 pi m is this, divided by pi m^2.
  virtual Influence transform(double m2) const = 0;
  virtual FittedTransform fitted_transform() const = 0;
};

// The split of the settings, whose electrostatics are PME. Throws Error for a bandwidth out of range.
std::unique_ptr<EwaldSplit> ewald_split(const NonbondedSettings& settings);

// Transform of a Gaussian of this alpha (1/nm), which a mesh of the dispersion also has.
FittedTransform gaussian_transform(double alpha);

}  // namespace quiltmd
