// SPDX-License-Identifier: Apache-2.0
// Operations of the fast multipole method between SpreadCharges and GatherForces (../pme/operations.h), which
// it shares with PME: charges are integers of the same scale on every level, potentials single precision, each
// point summed in the order of the stencil, so the result is the same on any number of ranks.
#pragma once

#include "computes/long_range/fmm/top.h"
#include "computes/long_range/fmm/window.h"
#include "computes/long_range/pme/operations.h"
#include "decomposition/energies.h"

namespace quiltmd {

// The numbers of a stencil lie in a table [x][y][z] of all points within its reach and one row more on either
// side along y, with zeros where the stencil has no point. Rows are a multiple of 4 long, and so is their part
// before the middle.
struct StencilShape {
  Int3 reach{};  // the farthest points

  QMD_HD int before() const { return (reach.z + 3) / 4 * 4; }
  QMD_HD int width() const { return before() + (reach.z + 4) / 4 * 4; }
  QMD_HD int depth() const { return 2 * reach.y + 3; }
  QMD_HD int size() const { return (2 * reach.x + 1) * depth() * width(); }
  QMD_HD int place(Int3 at) const {
    return ((at.x + reach.x) * depth() + at.y + reach.y + 1) * width() + at.z + before();
  }
};

// A run of points along z: `count` numbers of the table from `first` on.
struct StencilRow {
  Int3 at;  // of the first
  int first, count;
};

// A row of charges for two rows of potentials, of which the first has the lower y: its place relative to the
// first, and the fours of numbers of the table's rows (x, y) and (x, y - 1) that are not all zero.
struct StencilPair {
  int x, y, first, end;
};

// The stencil in device memory: its numbers for potentials (1/nm), and for the virial its derivatives.
struct DeviceStencil {
  StencilShape shape;
  bool is_even;  // in x: the numbers for potentials at x and -x are equal
  const StencilRow* rows;
  int row_count;
  const StencilPair* pairs;  // ordered by x
  int pair_count;
  int pairs_below;      // of these, with x < 0
  const float* values;  // [1 + Symmetric::kParts][table]

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "rows", rows);
    uses.note(access, "pairs", pairs);
    uses.note(access, "values", values);
  }
};

// The fit of the stencil in device memory (StencilFit).
struct DeviceFit {
  FitAngles angles;
  const FitSample* samples;
  int sample_count;
  const FitRow* rows;
  int row_count;
  FitFamily families[kMostFamilies];
  int family_count;
  const FitUnknown* unknowns;
  int unknown_count;
  const FitImage* images;
  const double* inverses;

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "angles.table", angles.table);
    uses.note(access, "samples", samples);
    uses.note(access, "rows", rows);
    uses.note(access, "unknowns", unknowns);
    uses.note(access, "images", images);
    uses.note(access, "inverses", inverses);
  }
};

// Numbers on the way from the influence function to the stencil.
struct FitSums {
  double* targets;   // [sample][part]: the influence function times the weight of the sample
  double* of_rows;   // [point along z, from 0][row][cosines, sines][part]
  double* products;  // [unknown][part]: with the waves of the unknowns
  double* numbers;   // [unknown][part]: of points

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "targets", targets);
    uses.note(access, "of_rows", of_rows);
    uses.note(access, "products", products);
    uses.note(access, "numbers", numbers);
  }
};

// The stencil, and in a periodic box the waves of the top, in the box of the conditions.
struct FitStencil {
  static constexpr const char* kName = "fit_stencil";
  const Conditions* conditions;
  FmmLevels levels;
  LevelKernels kernels;
  DeviceFit fit;
  StencilShape shape;
  const double* moduli;  // of the windows of the top level, by dimension
  FitSums sums;
  float* values;  // DeviceStencil::values; those without a point stay
  TopWave* waves;
  StencilShape
      of_pairs;  // of points of a periodic top level; a GPU has their numbers instead of transforms
  float* pair_values;  // null in an open cell

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, conditions, kernels, fit, moduli);
    QMD_USES(kWrite, sums, values, waves, pair_values);
  }
};

// The window of the patches that have atoms, on a rank that holds all patches.
struct FindWindow {
  static constexpr const char* kName = "find_window";
  PmeGrid grid;
  const PlacedPatch* patches;
  int patch_count;
  Vec3d beyond;  // how far atoms may stick out of their patches, in fractions of the box
  FmmWindow* window;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(patches, patch_count));
    QMD_USES(kWrite, window);
  }
};

// Charges of level 1 whose points lie on planes [first, first + count) of level 0, of the charges of these and
// the next planes: rounded once.
struct RestrictCharges {
  static constexpr const char* kName = "restrict_charges";
  FmmLevels levels;
  const FmmWindow* window;  // null: all points
  int first, count;
  const int32_t* fine;
  int32_t* coarse;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, window, fine);
    QMD_USES(kAdd, coarse);  // planes that no other work touches then
  }
};

// From charges of level 1 to its potential, with that of all levels above, where planes [first, first + count) of
// level 0 need it; a GPU makes all of it. The virial of these levels where `energy` is not null.
struct SumUpperLevels {
  static constexpr const char* kName = "sum_upper_levels";
  FmmLevels levels;
  const FmmWindow* window;
  int first, count;
  DeviceStencil stencil;
  const TopWave* waves;    // in a periodic box
  DeviceStencil of_pairs;  // of the points of the top level, in a periodic box on a GPU
  int32_t* charges;        // of all levels from the first on
  float* potential;
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, window, stencil, waves, of_pairs);
    QMD_USES(kReadWrite, charges);
    QMD_USES(kWrite, potential);
    QMD_USES(kAdd, energy);
  }
};

// Potential of planes [first, first + count) of level 0 by the charges within the stencil; its virial where
// `energy` is not null.
struct ConvolveLevel {
  static constexpr const char* kName = "convolve_level";
  FmmLevels levels;
  const FmmWindow* window;
  DeviceStencil stencil;
  int first, count;
  const int32_t* charges;
  float* potential;
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, window, stencil, charges);
    QMD_USES(kAdd, potential);  // planes that no other work touches then
    QMD_USES(kAdd, energy);
  }
};

// Adds the potential of level 1 on planes [first, first + count) of level 0; then the energy of the charges
// there (kReciprocal), one partial sum per plane, where `energy` is not null.
struct ProlongPotential {
  static constexpr const char* kName = "prolong_potential";
  FmmLevels levels;
  const FmmWindow* window;  // null: all points
  int first, count;
  const float* coarse;
  float* fine;
  const int32_t* charges;
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, window, coarse, charges);
    QMD_USES(kReadWrite, fine);
    QMD_USES(kAdd, energy);
  }
};

}  // namespace quiltmd
