// SPDX-License-Identifier: Apache-2.0
// The times that a kernel notes of itself.
#pragma once

namespace quiltmd {

// When the first block of a launch began, and the last one ended: nanoseconds of the GPU's clock, zero
// where it did not run.
struct LaunchTimes {
  unsigned long long begin, end;
};

#ifdef __CUDACC__
__device__ __forceinline__ unsigned long long gpu_clock() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

// While it lives, a kernel runs: where times are asked for, the first block notes that it began, and the
// first warp of each block that it ended. More notes would hold up the fences of messages, which wait for
// all that is under way to memory.
class Timed {
 public:
  __device__ __forceinline__ explicit Timed(LaunchTimes* times) : times_(times) {
    if (times_ && threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0)
      times_->begin = gpu_clock();
  }
  __device__ __forceinline__ ~Timed() {
    if (times_ && threadIdx.x == 0) atomicMax(&times_->end, gpu_clock());
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  LaunchTimes* times_;
};
#endif

}  // namespace quiltmd
