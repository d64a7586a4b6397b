// SPDX-License-Identifier: Apache-2.0
// The influence function of the dispersion (Essmann et al., J. Chem. Phys. 103, 8577 (1995), section 5): for
// E = 1/2 sum over m of G |S(m)|^2, the Fourier transform of -(1 - g(alpha r))/r^6 divided by the volume,
//   G = -pi^(3/2) alpha^3/(3 V) |b(m)|^2 f,   f = (1 - 2 b^2) exp(-b^2) + 2 sqrt(pi) b^3 erfc(b),
// b = pi m/alpha, which is not zero at m = 0. With erfcx(b) = exp(b^2) erfc(b), which kernels lack,
//   f = exp(-b^2) phi,   df/d(b^2) = -3 exp(-b^2) psi,   psi = 1 - sqrt(pi) b erfcx(b),  phi = 1 - 2 b^2 psi.
// Both fall as 1/b^2 and are fitted by t^2 times polynomials in t = 1/(1 + 0.4 b): least squares of the
// relative error on Chebyshev points, up to b = 12. It is 7e-7 of phi and 6e-8 of psi.
#pragma once

#include "math/macros.h"

namespace quiltmd {

struct DispersionFit {
  static constexpr int kDegree = 9;
  static constexpr float kSlope = 0.4f;
  float c[kDegree + 1];  // lowest first

  QMD_HD float operator()(float b) const {
    const float t = 1.0f / (b * kSlope + 1.0f);
    float sum = c[kDegree];
    for (int k = kDegree - 1; k >= 0; --k) sum = sum * t + c[k];
    return t * t * sum;
  }
};
inline constexpr DispersionFit kDispersionPhi{
    {0.2392126322f, 0.4982517362f, 0.4468370378f, 1.510263085f, -2.58795023f, 4.927501202f,
     -4.732563496f, -1.592729926f, 3.284680128f, -0.9935027957f}};
inline constexpr DispersionFit kDispersionPsi{
    {0.08005524427f, 0.1585748792f, 0.2366392314f, 0.1435296088f, 0.6074886918f, -0.8556326628f,
     1.682619691f, -1.675821066f, 0.7509837151f, -0.1284373403f}};

}  // namespace quiltmd
