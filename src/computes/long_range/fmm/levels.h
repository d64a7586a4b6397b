// SPDX-License-Identifier: Apache-2.0
// The levels of the fast multipole method: a dual-space multilevel splitting of 1/r (Jiang and Greengard,
// arXiv:2308.00292) on uniform grids of windows such as B-splines (Hardy et al., J. Chem. Phys. 144, 114112 (2016)).
//   1/r = rest + D_0 + D_1 + ... + D_(L-1) + S_L,  S_l the smooth part of the split for the cutoff 2^l r_c,
//   D_l = S_l - S_(l+1) = 2^-l D_0(r/2^l), zero beyond 2^(l+1) r_c.
// Level l has a grid with 2^l times the spacing, so that one stencil serves all levels.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "computes/long_range/ewald_split.h"
#include "device/memory_use.h"
#include "math/units.h"
#include "math/vec3.h"

namespace quiltmd {

enum class Boundaries { kPeriodic, kOpen };

// Fourier transforms at the wave vector 2 pi m, as functions of m^2 and with minus their derivatives by it. The
// transform of the smooth part of the prolate split is a series in powers of z (math/prolate.h), as in
// ../ewald_split.h.
struct LevelKernels {
  double z_per_m2, end;  // the transform is zero from z = end on
  const double* powers;
  int count;

  QMD_HD Influence transform(double m2) const {
    const double z = z_per_m2 * m2;
    if (z >= end) return {0, 0};
    double value = 0, slope = 0;
    for (int k = count; k-- > 0;) {
      slope = slope * z + value;
      value = value * z + powers[k];
    }
    return {value, -z_per_m2 * slope};
  }
  // Influence of D_0.
  QMD_HD Influence level_zero(double m2) const {
    const Influence near = transform(m2), far = transform(4 * m2);
    const double slope = 4 * far.fall - near.fall;  // of near.value - far.value
    if (m2 == 0) return {slope / kPi, 0};
    const double value = (near.value - far.value) / (kPi * m2);
    return {value, (value - slope / kPi) / m2};
  }
  // Influence of S for the cutoff of a level; zero at m = 0.
  QMD_HD Influence smooth(int level, double m2) const {
    if (m2 == 0) return {0, 0};
    const double scale = static_cast<double>(int64_t{1} << (2 * level));
    const Influence at = transform(scale * m2);
    const double value = at.value / (kPi * m2);
    return {value, (value + scale * at.fall / kPi) / m2};
  }
  // Influence of S for the cutoff of level 0 within the distance `range`, which ends there: it has no images if
  // the period is longer.
  QMD_HD Influence smooth_within(double range, double m2) const {
    const Influence at = transform(m2);
    const double turn = 2 * kPi * range;
    double ended = 0.5 * turn * turn / kPi;  // (1 - cos(turn m))/(pi m^2)
    double slope = -ended * turn * turn / 12;
    if (const double m = sqrt(m2); m * turn > 1e-3) {
      ended = (1 - cos(turn * m)) / (kPi * m2);
      slope = (0.5 * turn * sin(turn * m) / (kPi * m) - ended) / m2;
    }
    return {at.value * ended, at.fall * ended - at.value * slope};
  }

  void memory(MemoryUses& uses, Access access) const { uses.note(access, "powers", powers); }
};

// Their powers, on the host.
class LevelSeries {
 public:
  explicit LevelSeries(const NonbondedSettings& settings);
  LevelKernels kernels() const { return with(powers.data()); }
  // The kernels with powers in the memory of a device.
  LevelKernels with(const double* powers_there) const {
    return {z_per_m2_, end_, powers_there, static_cast<int>(powers.size())};
  }

  std::vector<double> powers;

 private:
  double z_per_m2_, end_;
};

// Windows half as wide, on neighbouring points, of which one of a level above is the sum.
QMD_HD constexpr int children_of(int order) { return order == 5 ? 8 : order + 1; }

// The grids: each has half as many points along an edge as the one below it; the last has no stencil but a sum
// over wave vectors, or in an open cell over all pairs of points. An open cell is periodic (decomposition/
// open_box.h), and so are its grids; but of each only a window has charges, which meet no image.
struct FmmLevels {
  Int3 grid;      // of level 0
  int order;      // of windows
  int count = 0;  // of stencils: the number of the top level; none where the grid cannot be halved
  Boundaries boundaries;

  FmmLevels(Int3 points, int spline_order, Boundaries at);
  explicit FmmLevels(const NonbondedSettings& settings);
  QMD_HD int children() const { return children_of(order); }
  QMD_HD bool is_open() const { return boundaries == Boundaries::kOpen; }
  QMD_HD Int3 points(int level) const {
    return {grid.x >> level, grid.y >> level, grid.z >> level};
  }
  QMD_HD int64_t size(int level) const {
    const Int3 n = points(level);
    return int64_t{n.x} * n.y * n.z;
  }
  // Begin of a level in an array of all levels from the first on.
  QMD_HD int64_t begin(int level) const {
    int64_t sum = 0;
    for (int l = 1; l < level; ++l) sum += size(l);
    return sum;
  }
};

// A window of level l is the sum of windows of level l - 1: w(x) = sum over j of weight(j) w(2x - j)/scale. For
// B-splines, of order 4, 6 and 8, the weights are binomial coefficients. Windows of order 5 are made for theirs
// (stencil.h).
template <int Order>
struct Refinement {
  static constexpr int kPoints = children_of(Order);
  static constexpr int kParents = (kPoints + 1) / 2;  // the most that a point contributes to
  static constexpr int kBits = Order == 5 ? 9 : Order - 1;
  static constexpr int kScale = 1 << kBits;

  // 0 beyond the last. Written out: compilers for GPUs leave a loop as it is.
  QMD_HD static constexpr int weight(int j) {
    constexpr bool kIsSpline = Order != 5;
    constexpr int kFirst = kIsSpline ? Order : 46;
    constexpr int kSecond = kIsSpline ? Order * (Order - 1) / 2 : 169;
    constexpr int kThird = kIsSpline ? kSecond * (Order - 2) / 3 : 295;
    const int k = 2 * j < kPoints ? j : kPoints - 1 - j;
    if (k < 2) return k < 0 ? 0 : (k == 0 ? (kIsSpline ? 1 : 2) : kFirst);
    return k == 2 ? kSecond : (k == 3 ? kThird : kThird * (Order - 3) / 4);
  }
};

// Patches of an open cell, each `per_patch` grid points wide: enlarged so that the grid can be halved again and
// again, and charges and the points around them fit into it.
Int3 with_levels(Int3 cells, int per_patch, int order);

// Throws Error for a grid or an order that the kernels cannot do.
void check_fmm_grid(int order, Int3 grid);
// Throws Error where a GPU cannot do it: its top level is too large.
void check_gpu_fmm(const NonbondedSettings& settings);

}  // namespace quiltmd
