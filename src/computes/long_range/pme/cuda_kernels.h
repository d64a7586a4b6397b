// SPDX-License-Identifier: Apache-2.0
// The PME kernels of the `cuda` device.
#pragma once

#include "computes/long_range/pme/exchange_operations.h"
#include "computes/long_range/pme/operations.h"
#include "device/cuda/context.h"

namespace quiltmd {

// Transform of planes: one block for each plane, or tiles of rows and then of columns.
enum class PlaneRoute { kWhole, kTiles };
bool plane_fits(const PmeGrid& grid, const CudaContext& context);
PlaneRoute plane_route(const PmeGrid& grid, const CudaContext& context);
void transform_planes_by(PlaneRoute route, const TransformPlanes& op, CudaContext& context);
void inverse_planes_by(PlaneRoute route, const InversePlanes& op, CudaContext& context);

// Number of blocks that share a patch when charges are spread and forces gathered.
int choose_pieces(const PmeGrid& grid, int patches, const CudaContext& context);
void spread_charges_by(int pieces, const SpreadCharges& op, CudaContext& context);
void gather_forces_by(int pieces, const GatherForces& op, CudaContext& context);

void spread_charges(const SpreadCharges& op, CudaContext& context);
void transform_planes(const TransformPlanes& op, CudaContext& context);
void convolve_lines(const ConvolveLines& op, CudaContext& context);
void inverse_planes(const InversePlanes& op, CudaContext& context);
void gather_forces(const GatherForces& op, CudaContext& context);
void transform_planes_directly(const TransformPlanesDirectly& op, CudaContext& context);
void convolve_lines_directly(const ConvolveLinesDirectly& op, CudaContext& context);
void inverse_planes_directly(const InversePlanesDirectly& op, CudaContext& context);
void sum_potential(const SumPotential& op, CudaContext& context);
void gather_forces_directly(const GatherForcesDirectly& op, CudaContext& context);
void send_grid(const SendGrid& op, CudaContext& context);
void receive_grid(const ReceiveGrid& op, CudaContext& context);
void add_grid(const AddGrid& op, CudaContext& context);

}  // namespace quiltmd
