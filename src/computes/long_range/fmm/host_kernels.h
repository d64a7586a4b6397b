// SPDX-License-Identifier: Apache-2.0
// The kernels of the fast multipole method on the `cpu` device.
#pragma once

#include "computes/long_range/fmm/operations.h"
#include "device/host/host_device.h"

namespace quiltmd {

// Two neighbouring levels.
struct TwoLevels {
  LevelWindow fine, coarse;

  TwoLevels(const FmmLevels& levels, const FmmWindow* window, int fine_level)
      : fine(levels, window, fine_level), coarse(levels, window, fine_level + 1) {}
};

// Charges of planes of the coarse grid, of those of the fine one.
void restrict_planes(const int32_t* fine, const TwoLevels& two, int order, int32_t* coarse,
                     GridRange planes, ThreadGroup& threads);
// Adds the potential of the coarse grid to planes of the fine one.
void prolong_planes(const float* coarse, const TwoLevels& two, int order, GridRange planes,
                    float* potential, ThreadGroup& threads);

// A stencil over planes of the window of a grid.
struct StencilSweep {
  const LevelWindow& window;
  DeviceStencil stencil;
  GridRange places;  // along x
  const int32_t* charges;
  float scale;  // of what comes of the stencil's numbers
};

// The potential of the planes.
void convolve_charges(const StencilSweep& sweep, float* potential, ThreadGroup& threads);
// Adds their virial to the energies, one partial sum per plane.
void add_virial(const StencilSweep& sweep, int64_t* energy, ThreadGroup& threads);

void fit_stencil(const FitStencil& op, ThreadGroup& threads);
void find_window(const FindWindow& op, ThreadGroup& threads);
void restrict_charges(const RestrictCharges& op, ThreadGroup& threads);
void sum_upper_levels(const SumUpperLevels& op, ThreadGroup& threads);
void convolve_level(const ConvolveLevel& op, ThreadGroup& threads);
void prolong_potential(const ProlongPotential& op, ThreadGroup& threads);

}  // namespace quiltmd
