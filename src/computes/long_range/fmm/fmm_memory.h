// SPDX-License-Identifier: Apache-2.0
// The memory of the fast multipole method on one rank: the grid of level 0 (a MeshMemory, without whose spectrum
// it does), those above it, and the stencil; and the operations on them.
#pragma once

#include "computes/long_range/fmm/tables.h"
#include "computes/long_range/pme/mesh_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

class FmmMemory {
 public:
  FmmMemory(const SlotMemory& slots, const NonbondedSettings& settings, const FmmTables& tables);

  // Before anything else, and when the conditions have another box: stencil and top follow it.
  FitStencil fit_stencil();
  // From here on only the points around the atoms are evaluated, with the same result: always in an open cell, and
  // only on a rank that holds all patches. If so, find_window comes first, whenever atoms have other patches;
  // they stick out of these by `margin` (nm) at most.
  void follow_atoms(bool follow) { follows_atoms_ = levels.is_open() || follow; }
  bool follows_atoms() const { return follows_atoms_; }
  FindWindow find_window(double margin);
  RestrictCharges restrict_charges(GridRange planes);
  SumUpperLevels sum_upper_levels(GridRange planes, Energies energies);
  ConvolveLevel convolve_level(GridRange planes, Energies energies);
  ProlongPotential prolong_potential(GridRange planes, Energies energies);
  Int3 reach() const { return shape_.reach; }  // of the stencil
  size_t bytes() const { return mesh.bytes() + make_.bytes(); }

  const FmmLevels levels;
  MeshMemory mesh;

 private:
  DeviceStencil stencil() const, of_pairs() const;
  int64_t* energy(Energies energies) const;

  const SlotMemory& slots_;
  BufferMaker make_;

 public:
  Buffer<int32_t> charges;  // of the levels from the first on

 private:
  DeviceFit fit() const;
  const FmmWindow* window() const { return follows_atoms_ ? window_.data() : nullptr; }

  const FmmTables& tables_;
  bool follows_atoms_;
  Buffer<float> potential_;
  StencilShape shape_;
  Buffer<StencilRow> rows_;
  Buffer<StencilPair> pairs_;
  Buffer<float> values_;
  Buffer<FmmWindow> window_;
  Buffer<TopWave> waves_;         // of a periodic top level
  Buffer<StencilRow> pair_rows_;  // of an open top level
  Buffer<float> pair_values_;
  // Tables of the fit.
  Buffer<double> powers_, angles_, inverses_, moduli_;
  Buffer<FitSample> samples_;
  Buffer<FitRow> sample_rows_;
  Buffer<FitUnknown> unknowns_;
  Buffer<FitImage> images_;
  Buffer<double> targets_, of_rows_, products_, numbers_;
};

}  // namespace quiltmd
