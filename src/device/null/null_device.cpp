// SPDX-License-Identifier: Apache-2.0
// The `null` device. Copies are done (they set up what a later download returns); launches are only
// written down.
#include "device/null/null_device.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "math/error.h"

namespace quiltmd {

DeviceDescription NullDevice::describe() const {
  DeviceDescription description;
  description.kind = "null";
  description.name = "records launches, runs none";
  description.architecture = "none";
  return description;
}

void* NullDevice::allocate(size_t bytes) {
  void* pointer = std::calloc(bytes, 1);
  if (!pointer) throw std::bad_alloc();
  return pointer;
}

void NullDevice::free(void* pointer) { std::free(pointer); }

void NullDevice::copy_in(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

void NullDevice::copy_out(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

void NullDevice::copy(void* to, const void* from, size_t bytes, Stream) {
  if (!recording_) std::memcpy(to, from, bytes);
}

void NullDevice::fill(void* to, int byte, size_t bytes, Stream) {
  if (!recording_) std::memset(to, byte, bytes);
}

void NullDevice::begin_recording() {
  if (recording_) throw Error("a recording is already in progress on this device");
  recording_ = true;
}

int NullDevice::end_recording() {
  recording_ = false;
  recordings_.push_back(std::exchange(tape_, {}));
  return static_cast<int>(recordings_.size()) - 1;
}

void NullDevice::run_recording(int recording) {
  const auto& tape = recordings_.at(static_cast<size_t>(recording));
  launches_.insert(launches_.end(), tape.begin(), tape.end());
}

void NullDevice::drop_recording(int recording) {
  recordings_.at(static_cast<size_t>(recording)).clear();
}

void NullDevice::launch_raw(const OperationKey& key, const void* parameters, size_t bytes,
                            Stream stream) {
  NullLaunch launch;
  launch.name = key.name;
  launch.stream = stream;
  const auto* first = static_cast<const std::byte*>(parameters);
  launch.parameters.assign(first, first + bytes);
  (recording_ ? tape_ : launches_).push_back(std::move(launch));
}

}  // namespace quiltmd
