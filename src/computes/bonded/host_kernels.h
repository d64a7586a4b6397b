// SPDX-License-Identifier: Apache-2.0
// The bonded kernels of the `cpu` device.
#pragma once

#include "computes/bonded/operations.h"
#include "device/host/host_device.h"

namespace quiltmd {

void place_terms(const PlaceTerms& op, ThreadGroup& threads);
void term_forces(const TermForces& op, ThreadGroup& threads);

}  // namespace quiltmd
