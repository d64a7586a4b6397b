// SPDX-License-Identifier: Apache-2.0
// What GPUs there are, whether this build can use them, and the first step onto one.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace quiltmd {

// Number of GPUs; where there is none, `why_none` says why.
int count_gpus(std::string* why_none);

// Makes a GPU the current one of this thread; to be called before anything else is asked of it. Where
// that makes the context of this process on it, little memory is set aside for stacks.
void enter_gpu(int ordinal);

// Compute capability, "9.0".
std::string architecture_of(const cudaDeviceProp& properties);

// Why kernels of this build cannot run on the current device; empty if they can.
std::string missing_code(const cudaDeviceProp& properties);

}  // namespace quiltmd
