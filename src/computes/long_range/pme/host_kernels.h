// SPDX-License-Identifier: Apache-2.0
// The long-range kernels of the `cpu` device.
#pragma once

#include "computes/long_range/pme/exchange_operations.h"
#include "computes/long_range/pme/operations.h"
#include "device/host/host_device.h"

namespace quiltmd {

void place_coefficients(const PlaceCoefficients& op, ThreadGroup& threads);
void spread_charges(const SpreadCharges& op, ThreadGroup& threads);
void transform_planes(const TransformPlanes& op, ThreadGroup& threads);
void convolve_lines(const ConvolveLines& op, ThreadGroup& threads);
void inverse_planes(const InversePlanes& op, ThreadGroup& threads);
void transform_rows(const TransformRows& op, ThreadGroup& threads);
void transform_columns(const TransformColumns& op, ThreadGroup& threads);
void convolve_pencils(const ConvolvePencils& op, ThreadGroup& threads);
void inverse_columns(const InverseColumns& op, ThreadGroup& threads);
void inverse_rows(const InverseRows& op, ThreadGroup& threads);
void gather_forces(const GatherForces& op, ThreadGroup& threads);
void sum_potential(const SumPotential& op, ThreadGroup& threads);
void put_box_on_mesh(const PutBoxOnMesh& op, ThreadGroup& threads);
void send_grid(const SendGrid& op, ThreadGroup& threads);
void receive_grid(const ReceiveGrid& op, ThreadGroup& threads);
void add_grid(const AddGrid& op, ThreadGroup& threads);

}  // namespace quiltmd
