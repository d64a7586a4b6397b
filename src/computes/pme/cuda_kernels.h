// SPDX-License-Identifier: Apache-2.0
// The PME kernels of the `cuda` device.
#pragma once

#include "computes/pme/operations.h"
#include "device/cuda/context.h"

namespace quiltmd {

// How planes are transformed: one block each, or in tiles of rows and then of columns.
enum class PlaneRoute { kWhole, kTiles };
bool plane_fits(const PmeGrid& grid, const CudaContext& context);
PlaneRoute plane_route(const PmeGrid& grid, int planes, const CudaContext& context);
void transform_planes_by(PlaneRoute route, const TransformPlanes& op, CudaContext& context);
void inverse_planes_by(PlaneRoute route, const InversePlanes& op, CudaContext& context);

// How many patches per dimension a block takes when it spreads or gathers, and its threads (512 or
// 1024).
struct BrickChoice {
  Int3 patches;
  int threads;
};
BrickChoice choose_bricks(const PmeGrid& grid, const CudaContext& context);
bool bricks_fit(const PmeGrid& grid, BrickChoice choice, const CudaContext& context);
void spread_charges_by(BrickChoice choice, const SpreadCharges& op, CudaContext& context);
void gather_forces_by(BrickChoice choice, const GatherForces& op, CudaContext& context);

void spread_charges(const SpreadCharges& op, CudaContext& context);
void transform_planes(const TransformPlanes& op, CudaContext& context);
void convolve_lines(const ConvolveLines& op, CudaContext& context);
void inverse_planes(const InversePlanes& op, CudaContext& context);
void gather_forces(const GatherForces& op, CudaContext& context);

}  // namespace quiltmd
