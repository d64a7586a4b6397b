// SPDX-License-Identifier: Apache-2.0
// Launchers of the pair operations on the GPU.
#pragma once

#include "computes/nonbonded/operations.h"
#include "device/cuda/context.h"

namespace quiltmd {

void number_lists(const NumberLists& op, CudaContext& context);
void build_lists(const BuildLists& op, CudaContext& context);
void pair_forces(const PairForces& op, CudaContext& context);

}  // namespace quiltmd
