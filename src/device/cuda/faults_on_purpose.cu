// SPDX-License-Identifier: Apache-2.0
// What a broken GPU does, to see what becomes of it.
#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_probe.h"

namespace quiltmd {
namespace {

constexpr int kBlock = 1024;

__global__ void write_kernel(int* where) { *where = 1; }

__global__ void wait_kernel(const volatile int* end) {
  while (*end == 0) {
  }
}

}  // namespace

void poison_gpu(int ordinal) {
  enter_gpu(ordinal);
  write_kernel<<<1, 1>>>(nullptr);
  cuda_check(cudaGetLastError(), "start a kernel");
}

void occupy_gpu(int ordinal) {
  enter_gpu(ordinal);
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, ordinal), "read the GPU's properties");
  auto* const end = static_cast<int*>(allocate_on_gpu(sizeof(int)));
  cuda_check(cudaMemset(end, 0, sizeof *end), "fill memory");
  const int blocks =
      properties.multiProcessorCount * (properties.maxThreadsPerMultiProcessor / kBlock + 1);
  wait_kernel<<<blocks, kBlock>>>(end);
  cuda_check(cudaGetLastError(), "start a kernel");
}

}  // namespace quiltmd
