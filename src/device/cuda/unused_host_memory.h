// SPDX-License-Identifier: Apache-2.0
// Pinned host memory that is to be freed. Freeing it waits for the GPU, and whoever lets go of it may hold what a
// kernel waits for, as Python's lock: so it is kept until memory is made, or a device ends.
#pragma once

#include <cuda_runtime.h>

#include <mutex>
#include <vector>

namespace quiltmd {

class UnusedHostMemory {
 public:
  // Of this process: its owners may outlive devices.
  static UnusedHostMemory& all() {
    static auto* const all = new UnusedHostMemory;  // never deleted, as owners end in any order
    return *all;
  }

  void add(void* memory) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(memory);
  }
  void free() {
    const std::lock_guard lock(mutex_);
    for (void* memory : unused_) cudaFreeHost(memory);
    unused_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<void*> unused_;
};

}  // namespace quiltmd
