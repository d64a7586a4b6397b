// SPDX-License-Identifier: Apache-2.0
// What a CUDA kernel launcher gets besides the parameters of its operation.
#pragma once

#include <cuda_runtime.h>

#include "device/cuda/timed.cuh"
#include "device/device.h"

namespace quiltmd {

// Memory that a launcher needs between its own kernels. It belongs to the stream: the next operation
// on it overwrites it. It never moves while a recording may still use it.
class Scratch {
 public:
  virtual ~Scratch() = default;
  // At least `bytes`, aligned to 256. Throws Error when memory is short, or when it would have to
  // grow inside a recording: run the operation once outside first.
  virtual void* take(size_t bytes) = 0;
};

struct CudaContext;

// Measures launches by name.
class LaunchTimer {
 public:
  virtual ~LaunchTimer() = default;
  // Times for the next launch on this stream.
  virtual LaunchTimes* times_of(const char* name, const CudaContext& context) = 0;
};

struct CudaContext {
  cudaStream_t stream = nullptr;
  Stream which = Stream::kMain;
  int sm_count = 1;
  int shared_memory = 48 * 1024;  // largest that a block may ask for, bytes
  bool early_start = false;       // the GPU knows programmatic dependent launch
  bool fast_doubles = false;  // arithmetic in double precision at a good part of the rate of single
  Scratch* scratch = nullptr;
  LaunchTimer* timer = nullptr;                        // null: launches are not timed
  const std::vector<const void*>* compiled = nullptr;  // kernels, by number (CompilesKernels)
};

using CudaKernels = KernelTable<CudaContext>;

}  // namespace quiltmd
