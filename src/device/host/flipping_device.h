// SPDX-License-Identifier: Apache-2.0
// A `cpu` device whose memory fails once, to see what becomes of it: right before a launch, one bit
// flips in the memory that a field of the operation points to. What travels between ranks is such
// memory, too: the `in.words` of those that read messages.
#pragma once

#include <map>
#include <string>

#include "device/host/host_device.h"

namespace quiltmd {

struct Flip {
  std::string operation, field;  // by the names of kName and QMD_USES
  int64_t launch = 0;            // of this operation on this device, counted from 0
  uint64_t bit = 0;              // modulo those that there are from where the field points to
};

class FlippingDevice final : public HostDevice {
 public:
  // Throws Error where there is no such operation; launch_raw does where it does not read such a field.
  FlippingDevice(int threads, const HostKernels& kernels, Flip flip);

  void* allocate(size_t bytes) override;
  void free(void* pointer) override;
  void launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                  Stream stream) override;

 private:
  std::span<std::byte> memory_of(const MemoryUse& use) const;
  void flip_bit(const std::vector<MemoryUse>& uses) const;

  Flip flip_;
  int64_t launches_ = 0;
  std::map<const std::byte*, size_t> allocations_;  // bytes
};

}  // namespace quiltmd
