// SPDX-License-Identifier: Apache-2.0
// The kernels of the fast multipole method on the `cuda` device.
#pragma once

#include "computes/long_range/fmm/operations.h"
#include "device/cuda/context.h"

namespace quiltmd {

constexpr int kFour = 4;   // numbers that are read together
constexpr int kEight = 8;  // neighbouring points of a thread

// A stencil over planes of a level's grid.
struct GpuSweep {
  FmmLevels levels;
  const FmmWindow* window;  // null: all points
  int level;
  Int3 points;  // of the level
  DeviceStencil stencil;
  GridRange planes;
  const int32_t* charges;
  float* potential;
  int64_t* energy;
  float scale;         // of what comes of the stencil's numbers
  const float* above;  // the potential of the level above, which is added; null: nothing is
};

void fit_stencil(const FitStencil& op, CudaContext& context);
void convolve_charges(const GpuSweep& sweep, CudaContext& context);
// Adds the virial to the energies.
void add_virial(const GpuSweep& sweep, CudaContext& context);
void find_window(const FindWindow& op, CudaContext& context);
void sum_top(const SumUpperLevels& op, CudaContext& context);

}  // namespace quiltmd
