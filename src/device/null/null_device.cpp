// SPDX-License-Identifier: Apache-2.0
// The `null` device. Copies and fills are made, outside recordings: they set up what a later download
// returns.
#include "device/null/null_device.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace quiltmd {

DeviceDescription NullDevice::describe() const {
  DeviceDescription description;
  description.kind = "null";
  description.name = "writes commands down, runs no operation";
  description.architecture = "none";
  return description;
}

void* NullDevice::allocate(size_t bytes) {
  void* pointer = std::calloc(bytes, 1);
  if (!pointer) throw std::bad_alloc();
  log_.allocate(pointer, bytes);
  return pointer;
}

void NullDevice::free(void* pointer) {
  log_.free(pointer);
  std::free(pointer);
}

void NullDevice::copy_in(void* to, const void* from, size_t bytes) {
  log_.barrier("copy_in");
  if (bytes) std::memcpy(to, from, bytes);
}

void NullDevice::copy_out(void* to, const void* from, size_t bytes) {
  log_.barrier("copy_out");
  if (bytes) std::memcpy(to, from, bytes);
}

void NullDevice::copy(void* to, const void* from, size_t bytes, Stream stream) {
  log_.copy(to, from, bytes, stream);
  if (!log_.recording()) std::memcpy(to, from, bytes);
}

void NullDevice::fill(void* to, int byte, size_t bytes, Stream stream) {
  log_.fill(to, bytes, stream);
  if (!log_.recording()) std::memset(to, byte, bytes);
}

}  // namespace quiltmd
