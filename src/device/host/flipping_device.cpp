// SPDX-License-Identifier: Apache-2.0
#include "device/host/flipping_device.h"

#include <algorithm>
#include <utility>

#include "math/error.h"

namespace quiltmd {
namespace {

// Memory that is only written has no values that a flip could change.
bool is_read(const MemoryUse& use) {
  return use.access != Access::kNone && use.access != Access::kWrite;
}

}  // namespace

FlippingDevice::FlippingDevice(int threads, const HostKernels& kernels, Flip flip)
    : HostDevice(threads, kernels), flip_(std::move(flip)) {
  if (find_operation(operation_id(flip_.operation))) return;
  std::string names;
  for (const char* name : kernels.names()) names += std::string(names.empty() ? "" : ", ") + name;
  throw Error("the fault names the operation '" + flip_.operation +
              "', which this simulation does not run: choose from " + names);
}

void* FlippingDevice::allocate(size_t bytes) {
  void* const pointer = HostDevice::allocate(bytes);
  allocations_[static_cast<const std::byte*>(pointer)] = bytes;
  return pointer;
}

void FlippingDevice::free(void* pointer) {
  allocations_.erase(static_cast<const std::byte*>(pointer));
  HostDevice::free(pointer);
}

void FlippingDevice::launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                                Stream stream) {
  if (key.name == flip_.operation && launches_++ == flip_.launch)
    flip_bit(key.memory(parameters).all());
  HostDevice::launch_raw(key, parameters, bytes, stream);
}

// Empty where there is none.
std::span<std::byte> FlippingDevice::memory_of(const MemoryUse& use) const {
  const auto* const begin = static_cast<const std::byte*>(use.pointer);
  const auto after = allocations_.upper_bound(begin);
  if (!begin || after == allocations_.begin()) return {};
  const auto& [start, size] = *std::prev(after);
  const auto before = static_cast<size_t>(begin - start);
  if (before >= size) return {};
  return {const_cast<std::byte*>(begin), std::min(use.bytes, size - before)};
}

void FlippingDevice::flip_bit(const std::vector<MemoryUse>& uses) const {
  std::string names;
  for (const MemoryUse& use : uses) {
    const std::span<std::byte> memory = memory_of(use);
    if (!is_read(use) || memory.empty()) continue;
    if (use.name == flip_.field) {
      const uint64_t bit = flip_.bit % (8 * memory.size());
      memory[bit / 8] ^= std::byte{1} << bit % 8;
      return;
    }
    names += (names.empty() ? "" : ", ") + use.name;
  }
  throw Error("the fault names the field '" + flip_.field + "', which the operation '" +
              flip_.operation + "' does not read: choose from " + names);
}

}  // namespace quiltmd
