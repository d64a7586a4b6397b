// SPDX-License-Identifier: Apache-2.0
// Memory of whole pages to which kernels of other processes write, and how each process finds that of the
// others.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"

namespace quiltmd {

class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  // These are shared from here on, and no others. All ranks call this together, with pieces of the same
  // sizes in the same order. Throws Error.
  virtual void agree_on(const std::vector<MemoryPiece>& pieces) = 0;
  // Of the first byte of such a piece. Throws Error, which says why, where this is impossible.
  virtual MemoryHandle share(const void* pointer) const = 0;
  // That byte of another rank; null: no link reaches it. Throws Error.
  virtual void* open(int of_rank, const MemoryHandle& handle) = 0;
  virtual void close(void* pointer) = 0;
  virtual std::string route() const = 0;  // its name, for the user
};

// By the handles of a device, which serve the processes of one machine.
class SharedByHandles final : public SharedMemory {
 public:
  explicit SharedByHandles(Device& device) : device_(device) {}
  void agree_on(const std::vector<MemoryPiece>&) override {}
  MemoryHandle share(const void* pointer) const override { return device_.share(pointer); }
  void* open(int, const MemoryHandle& handle) override { return device_.open(handle); }
  void close(void* pointer) override { device_.close(pointer); }
  std::string route() const override { return "peer"; }

 private:
  Device& device_;
};

}  // namespace quiltmd
