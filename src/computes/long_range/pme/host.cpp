// SPDX-License-Identifier: Apache-2.0
// The long-range kernels of the `cpu` device, listed.
#include <algorithm>

#include "computes/long_range/pme/host_kernels.h"
#include "device/host/kernels.h"

namespace quiltmd {

void put_box_on_mesh(const PutBoxOnMesh& op, ThreadGroup&) {
  *op.box = box_on_mesh(op.conditions->box, op.points, op.of);
}

void place_coefficients(const PlaceCoefficients& op, ThreadGroup& threads) {
  const int slots = std::min(*op.slot_count, op.slot_capacity);
  constexpr int kGrain = 4096;
  threads.parallel_for(slots, kGrain, [&](int begin, int end, int) {
    for (int slot = begin; slot < end; ++slot) place_coefficient(op, slot);
  });
}

void add_pme_kernels(HostKernels& table) {
  table.add<PlaceCoefficients, place_coefficients>();
  table.add<SpreadCharges, spread_charges>();
  table.add<TransformPlanes, transform_planes>();
  table.add<ConvolveLines, convolve_lines>();
  table.add<InversePlanes, inverse_planes>();
  table.add<TransformRows, transform_rows>();
  table.add<TransformColumns, transform_columns>();
  table.add<ConvolvePencils, convolve_pencils>();
  table.add<InverseColumns, inverse_columns>();
  table.add<InverseRows, inverse_rows>();
  table.add<GatherForces, gather_forces>();
  table.add<SumPotential, sum_potential>();
  table.add<PutBoxOnMesh, put_box_on_mesh>();
  table.add<SendGrid, send_grid>();
  table.add<ReceiveGrid, receive_grid>();
  table.add<AddGrid, add_grid>();
}

}  // namespace quiltmd
