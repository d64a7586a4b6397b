// SPDX-License-Identifier: Apache-2.0
// A device that works beside the host, and whose kernels read and write memory of the host meanwhile.
#pragma once

#include <cstddef>
#include <memory>

namespace quiltmd {

class MapsHostMemory {
 public:
  virtual ~MapsHostMemory() = default;
  // Host memory, zeros at first, that kernels use while the host does so, too.
  virtual std::shared_ptr<void> make_host_memory(size_t bytes) = 0;
  // Whether all work so far has ended, without a wait; throws Error where the device has failed.
  virtual bool is_idle() const = 0;
  // Number of the GPU among those of this process.
  virtual int ordinal() const = 0;
};

}  // namespace quiltmd
