// SPDX-License-Identifier: Apache-2.0
// Host kernels of the pair lists.
#pragma once

#include "computes/nonbonded/operations.h"
#include "device/host/host_device.h"

namespace quiltmd {

void number_lists(const NumberLists& op, ThreadGroup& threads);
void build_lists(const BuildLists& op, ThreadGroup& threads);

}  // namespace quiltmd
