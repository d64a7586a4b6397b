// SPDX-License-Identifier: Apache-2.0
// The bonded kernels of the `cuda` device.
#pragma once

#include "computes/bonded/operations.h"
#include "device/cuda/context.h"

namespace quiltmd {

void place_terms(const PlaceTerms& op, CudaContext& context);

}  // namespace quiltmd
