// SPDX-License-Identifier: Apache-2.0
// The one way to start a CUDA kernel: it names the launch, checks it and, when asked, times it. For
// that each kernel has a last parameter, and notes the time itself: events between kernels would keep
// some of them from beginning early, and others, which wait for messages, from running beside each other.
//
//   __global__ void pair_kernel(const __grid_constant__ PairForces op, LaunchTimes* times) {
//     const Timed timed(times);
//     ...
//   launch(context, {"pair_forces", blocks, 32, 0, Start::kEarly}, pair_kernel, op);
//
// A kernel started early (programmatic dependent launch) may begin while its predecessor in the
// stream still runs; every thread of it must call wait_for_previous() before it writes anything that
// another kernel touches, or reads what its predecessor writes or another kernel that may still run.
// A kernel may call release_next() to let such a successor be placed on the machine sooner. Where it
// calls that before its own wait, even its predecessor may still run when the successor starts.
// In a recording all this holds for every kernel that it waits for, those of other streams included, not only for
// its predecessor in the stream: their edges in the graph are of the same kind.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/check.h"
#include "device/cuda/context.h"

namespace quiltmd {

enum class Start { kAfterPrevious, kEarly };
// Which blocks come first when there is room on a multiprocessor: by the stream's priority, or after all others
// that are ready.
enum class Urgency { kOfStream, kLow };

struct LaunchShape {
  const char* name;
  unsigned blocks;
  unsigned threads;   // per block
  size_t shared = 0;  // dynamic shared memory, bytes
  Start start = Start::kAfterPrevious;
  unsigned blocks_y = 1;
  unsigned blocks_z = 1;
  Urgency urgency = Urgency::kOfStream;
};

inline unsigned blocks_for(int64_t work, int64_t per_block) {
  return static_cast<unsigned>((work + per_block - 1) / per_block);
}

template <class... Parameters, class... Arguments>
void launch(const CudaContext& context, const LaunchShape& shape, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (!shape.blocks || !shape.blocks_y || !shape.blocks_z) return;
  constexpr size_t kUsualShared = 32 * 1024;  // leaves room for what a kernel declares itself
  if (shape.shared > kUsualShared) {
    // As much as there is, not what this launch needs: ranks that share a GPU launch the same kernel from
    // several threads, with sizes of their own.
    cudaFuncAttributes own{};
    cuda_check(cudaFuncGetAttributes(&own, kernel), shape.name);
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    context.shared_memory - static_cast<int>(own.sharedSizeBytes)),
               shape.name);
  }
  // A multiprocessor divides its memory between cache and shared memory anew only when it is empty.
  // So that kernels of all streams can share one, all ask for the same division.
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared),
             shape.name);
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (shape.start == Start::kEarly && context.early_start) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.urgency == Urgency::kLow) {
    attributes[count].id = cudaLaunchAttributePriority;
    attributes[count++].val.priority = 0;  // the lowest that there is
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks, shape.blocks_y, shape.blocks_z);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared;
  config.stream = context.stream;
  config.attrs = attributes;
  config.numAttrs = count;
  LaunchTimes* const times = context.timer ? context.timer->times_of(shape.name, context) : nullptr;
  const cudaError_t status =
      cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)..., times);
  if (status != cudaSuccess) cuda_check(status, (std::string("launch ") + shape.name).c_str());
}

// A kernel that was compiled while the program ran, by its number (CompilesKernels).
template <Operation Op>
auto compiled_kernel(const CudaContext& context, int number) {
  const auto& compiled = *context.compiled;
  if (number < 0 || static_cast<size_t>(number) >= compiled.size())
    throw Error(std::string("the GPU was given no kernel for the operation ") + Op::kName +
                ": custom forces run only on a GPU of the process of their simulation");
  return reinterpret_cast<void (*)(Op, LaunchTimes*)>(
      const_cast<void*>(compiled[static_cast<size_t>(number)]));
}

// One kernel per .cu file: load_kernels() (driver.h) finds the other kernels of the file through it.
inline std::vector<const void*>& kernel_of_each_file() {
  static std::vector<const void*> kernels;
  return kernels;
}

#ifdef __CUDACC__
namespace {
__global__ void kernel_of_this_file() {}
[[maybe_unused]] const void* const kNoted =
    kernel_of_each_file().emplace_back(reinterpret_cast<const void*>(&kernel_of_this_file));
}  // namespace

// Wait until the kernels before this one in the stream have ended and their writes are visible.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Let a successor that was started early be placed; its wait_for_previous() still waits for the end.
__device__ __forceinline__ void release_next() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
#endif

}  // namespace quiltmd
