// SPDX-License-Identifier: Apache-2.0
// The least-squares fit of the stencil (stencil.h) as devices make it. The points of the stencil, the waves at
// which it is fitted and their weights belong to one lattice; so the stencil of any other is linear in the
// influence function there, smooth as the box changes, and its derivatives are exact.
#pragma once

#include <array>

#include "computes/long_range/fmm/levels.h"
#include "math/box.h"
#include "math/symmetric.h"

namespace quiltmd {

// A lattice of grid points: the steps along the edges of the cell, nm.
using Lattice = std::array<Vec3d, 3>;

// Lattice of a grid with these numbers of points in a box.
QMD_HD Lattice lattice_of(const Box& box, Int3 grid) {
  return {(1.0 / grid.x) * Vec3d{box.ax, 0, 0}, (1.0 / grid.y) * Vec3d{box.bx, box.by, 0},
          (1.0 / grid.z) * Vec3d{box.cx, box.cy, box.cz}};
}

// The numbers of a point: its value and the derivatives by strain.
inline constexpr int kFitParts = 1 + Symmetric::kParts;

// A wave: its phase from one grid point to the next, in steps of the samples; the weight of its error, and the
// factor of D_0 that makes it the influence function, but for the volume of a point.
struct FitSample {
  Int3 wave;
  double weight, scale;
};

enum class Parity { kNone, kEven, kOddXY, kOddXZ, kOddYZ };

// An unknown of the fit: a point and those that have the same value by symmetry, `count` images from `first`
// on. In lattices of parity kNone a point and its opposite are alike.
struct FitUnknown {
  Int3 at;
  int first, count;
};
struct FitImage {
  int place;  // in the table of the stencil
  double sign;
};

// Unknowns [first, first + count), which have `parts` numbers from `part` on; the inverse of their normal
// matrix begins at `inverse`.
struct FitFamily {
  Parity parity;
  int first, count;
  int part, parts;
  int64_t inverse;

  QMD_HD bool is_odd(int d) const {
    if (parity == Parity::kOddXY) return d != 2;
    if (parity == Parity::kOddXZ) return d != 1;
    return parity == Parity::kOddYZ && d != 0;
  }
};
inline constexpr int kMostFamilies = 4;

// Cosines of 2 pi k/n, k = 0 .. n - 1, then sines.
struct FitAngles {
  const double* table;
  int n;

  QMD_HD double cosine(int k) const { return table[turned(k)]; }
  QMD_HD double sine(int k) const { return table[n + turned(k)]; }

 private:
  QMD_HD int turned(int k) const {
    const int rest = k % n;
    return rest < 0 ? rest + n : rest;
  }
};

// Samples [first, first + count), which differ in z alone.
struct FitRow {
  int x, y;
  int first, count;
};

// The sum over the images p of sign times cos(p . theta) is cosine * cos(p.z theta.z) + sine * sin(p.z theta.z),
// with factors that are the same for a row of samples.
struct RowFactors {
  double cosine, sine;
};
QMD_HD RowFactors row_factors(const FitFamily& family, Int3 p, int x, int y,
                              const FitAngles& angles) {
  if (family.parity == Parity::kNone) {
    const double images = p.x == 0 && p.y == 0 && p.z == 0 ? 1 : 2;
    const int turn = p.x * x + p.y * y;
    return {images * angles.cosine(turn), -images * angles.sine(turn)};
  }
  double product = (family.parity == Parity::kEven ? 1 : -1) * (p.z == 0 ? 1 : 2);
  product *=
      (p.x == 0 ? 1 : 2) * (family.is_odd(0) ? angles.sine(p.x * x) : angles.cosine(p.x * x));
  product *=
      (p.y == 0 ? 1 : 2) * (family.is_odd(1) ? angles.sine(p.y * y) : angles.cosine(p.y * y));
  return family.is_odd(2) ? RowFactors{0, product} : RowFactors{product, 0};
}

// Steps of a lattice: the vectors that convert theta to a wave vector, m = (1/2 pi) sum over d of theta_d
// reciprocal[d], and the volume of a point.
struct ReciprocalSteps {
  Vec3d along[3];
  double volume;

  QMD_HD explicit ReciprocalSteps(const Lattice& steps) {
    volume = dot(steps[0], cross(steps[1], steps[2]));
    for (int d = 0; d < 3; ++d)
      along[d] = (1 / volume) * cross(steps[(d + 1) % 3], steps[(d + 2) % 3]);
  }
  // Wave vector of a wave in steps of 1/n of a turn.
  QMD_HD Vec3d vector(Int3 wave, int n) const {
    return (1.0 / n) *
           (static_cast<double>(wave.x) * along[0] + static_cast<double>(wave.y) * along[1] +
            static_cast<double>(wave.z) * along[2]);
  }
};

// The influence function at a sample and its derivatives by strain.
QMD_HD void influence_at(const LevelKernels& kernels, const ReciprocalSteps& steps,
                         const FitSample& sample, int n, double* parts) {
  const Vec3d m = steps.vector(sample.wave, n);
  const Influence level = kernels.level_zero(dot(m, m));
  const double scale = sample.scale / steps.volume;
  Symmetric strain{};
  strain.add_product((2 * scale * level.fall) * m, m);
  parts[0] = scale * level.value;
  for (int k = 0; k < Symmetric::kParts; ++k) parts[1 + k] = strain[k] - (k < 3 ? parts[0] : 0);
}

}  // namespace quiltmd
