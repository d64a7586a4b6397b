// SPDX-License-Identifier: Apache-2.0
// How many devices of this process use a GPU.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

namespace quiltmd {

// One use, as long as it lives.
class GpuUse {
 public:
  explicit GpuUse(int ordinal) : devices_(count_of(ordinal)) { ++devices_; }
  GpuUse(const GpuUse&) = delete;
  ~GpuUse() { --devices_; }

  int devices() const { return devices_; }

 private:
  static std::atomic<int>& count_of(int ordinal) {
    static std::mutex mutex;
    static std::map<int, std::atomic<int>> counts;
    const std::lock_guard lock(mutex);
    return counts[ordinal];
  }

  std::atomic<int>& devices_;
};

}  // namespace quiltmd
