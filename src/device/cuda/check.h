// SPDX-License-Identifier: Apache-2.0
// Turns errors of the CUDA runtime into readable messages, out-of-memory above all.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <string>

#include "math/error.h"

namespace quiltmd {

inline std::string mebibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// The current GPU: "GPU 0 (NVIDIA H200)".
inline std::string current_gpu() {
  int ordinal = 0;
  cudaDeviceProp properties{};
  cudaGetDevice(&ordinal);
  cudaGetDeviceProperties(&properties, ordinal);
  return "GPU " + std::to_string(ordinal) + " (" + properties.name + ")";
}

// Throw quiltmd::Error when a call of the CUDA runtime failed; `what` is what was being done. LostError
// where every later call of this process will fail, too, as after an illegal address.
inline void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or it would be reported again
  size_t free = 0, total = 0;
  const bool is_lost = cudaMemGetInfo(&free, &total) != cudaSuccess;
  if (is_lost || status != cudaErrorMemoryAllocation) {
    const std::string message =
        std::string("CUDA failed to ") + what + ": " + cudaGetErrorString(status);
    if (is_lost) throw LostError(message + "; this process cannot use the GPU any more");
    throw Error(message + ".");
  }
  throw Error(current_gpu() + " is out of memory: it could not " + what + ", " + mebibytes(free) +
              " of " + mebibytes(total) +
              " are free. Free what other programs hold (nvidia-smi lists them), take a GPU with "
              "more memory, or a smaller system.");
}

// Memory of the current GPU.
inline void* allocate_on_gpu(size_t bytes) {
  void* pointer = nullptr;
  cuda_check(cudaMalloc(&pointer, bytes), ("allocate " + mebibytes(bytes)).c_str());
  return pointer;
}

// Host memory that the current GPU reaches by itself.
inline void* allocate_pinned(size_t bytes) {
  void* pointer = nullptr;
  const cudaError_t status = cudaMallocHost(&pointer, bytes);
  if (status == cudaSuccess) return pointer;
  cudaGetLastError();
  throw Error("This machine gives no " + mebibytes(bytes) +
              " of page-locked memory for copies from " + current_gpu() + ": " +
              cudaGetErrorString(status) +
              ". Free memory of the machine, or raise the limit set on this job or container.");
}

}  // namespace quiltmd
