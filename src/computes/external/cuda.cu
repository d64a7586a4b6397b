// SPDX-License-Identifier: Apache-2.0
// Forces from outside have no kernels on GPUs: an engine refuses them there.
#include "device/cuda/kernels.h"

namespace quiltmd {

void add_external_kernels(CudaKernels&) {}

}  // namespace quiltmd
