// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms run on CPUs so far: engines refuse them on GPUs by name (runtime/devices.cpp).
#include "device/cuda/kernels.h"

namespace quiltmd {

void add_alchemy_kernels(CudaKernels&) {}

}  // namespace quiltmd
