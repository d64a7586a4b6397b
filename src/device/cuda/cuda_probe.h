// SPDX-License-Identifier: Apache-2.0
// What GPUs there are and whether this build can use them.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace quiltmd {

// Number of GPUs; where there is none, `why_none` says why.
int count_gpus(std::string* why_none);

// Compute capability, "9.0".
std::string architecture_of(const cudaDeviceProp& properties);

// Why kernels of this build cannot run on the current device; empty if they can.
std::string missing_code(const cudaDeviceProp& properties);

}  // namespace quiltmd
