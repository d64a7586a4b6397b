// SPDX-License-Identifier: Apache-2.0
// What joins two GPUs of a machine.
#pragma once

#include "device/cuda/cuda_device.h"

namespace quiltmd {

GpuLink link_between(int from, int to);

}  // namespace quiltmd
