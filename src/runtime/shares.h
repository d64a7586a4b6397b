// SPDX-License-Identifier: Apache-2.0
// What ranks in other processes have, as bytes.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "device/device.h"
#include "transport/transport.h"

namespace quiltmd {

template <class T>
Payload to_bytes(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  Payload bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> from_bytes(const Payload& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// A download, once it is there, and the same in another process.
Payload pack(const Download& download);
std::unique_ptr<Download> unpack(const Payload& packed);

}  // namespace quiltmd
