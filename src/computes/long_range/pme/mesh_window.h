// SPDX-License-Identifier: Apache-2.0
// Windows: the share of an atom's charge that a grid point near it gets, and the weight that the potential there
// has for the atom. In one dimension a window is an even function of the distance, made of one polynomial between
// grid points and the next, of `order` of them.
//   B-splines (Essmann et al., J. Chem. Phys. 103, 8577 (1995), eq. 4.1), the smoothest ones.
//   Windows of least aliasing. A grid confuses a wave with those whose phases from one point to the next differ by
//   2 pi m. Of all windows w of the degree of B-splines with continuous slopes, the one for which least of the
//   forces of a split is confused:
//     integral over theta from 0 to pi of s(theta)^2 * sum over m, not 0, of (theta + 2 pi m)^2 w(theta + 2 pi m)^2,
//   s and w the Fourier transforms of the split and of the window, w(0) = 1.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "computes/long_range/ewald_split.h"

namespace quiltmd {

inline constexpr int kMaxMeshOrder = 8;

// Calls f.operator()<Order>() for an order that the kernels have: 4, 5, 6 or 8.
template <class F>
decltype(auto) for_order(int order, F f) {
  switch (order) {
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 6:
      return f.template operator()<6>();
    default:
      return f.template operator()<8>();
  }
}

// A window as kernels evaluate it, in vectors of this width: weight j, of the grid point floor(x) - order + 1 + j
// for an atom at grid coordinate x, is the sum over d of weight[d][j] u^d, u = x - floor(x) - 1/2, and slope its
// derivative by u. Entries beyond the order are zero. Weight order - 1 - j is weight j at -u.
inline constexpr int kWindowWidth = kMaxMeshOrder;
struct WindowPolynomials {
  float weight[kMaxMeshOrder][kWindowWidth];
  float slope[kMaxMeshOrder - 1][kWindowWidth];
};

class MeshWindow {
 public:
  static constexpr int kMaxOrder = kMaxMeshOrder;
  using Powers = std::array<double, kMaxOrder>;  // of t = x - floor(x), lowest first

  static MeshWindow bspline(int order);
  // `spacing`: of the grid, nm. Throws Error for an order that kernels do not have.
  static MeshWindow least_aliasing(int order, const EwaldSplit& split, double spacing);

  // Of the same windows of order 5 the one that is also nearly the sum of windows half as wide, on neighbouring points,
  // with `weights`, which are symmetric: to the integral is added
  //   30 times that of s(theta)^2 (w(theta) - c(theta/2) w(theta/2))^2,
  // c the transform of the weights, c(0) = 1.
  static MeshWindow refining(std::span<const int> weights, const EwaldSplit& split, double spacing);

  int order() const { return static_cast<int>(pieces_.size()); }
  // Weight j and its derivative by t.
  double weight(int j, double t) const;
  double slope(int j, double t) const;
  // The Fourier transform at a phase of `theta` from one grid point to the next.
  double transform(double theta) const;
  WindowPolynomials polynomials() const;

 private:
  explicit MeshWindow(std::vector<Powers> pieces) : pieces_(std::move(pieces)) {}

  std::vector<Powers> pieces_;  // by j
};

}  // namespace quiltmd
