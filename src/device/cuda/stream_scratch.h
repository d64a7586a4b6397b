// SPDX-License-Identifier: Apache-2.0
// The scratch memory that the device puts into the context of a stream.
#pragma once

#include <vector>

#include "device/cuda/check.h"
#include "device/cuda/context.h"

namespace quiltmd {

// Scratch memory of one stream. Blocks that were outgrown stay until the device goes, because
// recordings may hold their addresses.
class StreamScratch final : public Scratch {
 public:
  explicit StreamScratch(cudaStream_t stream) : stream_(stream) {}
  ~StreamScratch() override {
    for (void* block : blocks_) cudaFree(block);
  }
  void* take(size_t bytes) override {
    if (bytes > size_) grow(bytes);
    return blocks_.back();
  }

 private:
  void grow(size_t bytes) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cuda_check(cudaStreamIsCapturing(stream_, &status), "look at a stream");
    if (status != cudaStreamCaptureStatusNone)
      throw Error("A recorded operation needs more scratch memory than it did before recording.");
    const size_t wanted = bytes + bytes / 4;
    blocks_.push_back(allocate_on_gpu(wanted));
    size_ = wanted;
  }
  cudaStream_t stream_;
  std::vector<void*> blocks_;
  size_t size_ = 0;
};

}  // namespace quiltmd
