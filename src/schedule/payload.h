// SPDX-License-Identifier: Apache-2.0
// Writing and reading message payloads: plain values one after another.
#pragma once

#include <cstring>
#include <stdexcept>
#include <vector>

#include "schedule/schedule.h"

namespace quiltmd {

class PayloadWriter {
 public:
  template <class T>
  void add(const T* values, size_t count) {
    const size_t at = bytes_.size();
    bytes_.resize(at + count * sizeof(T));
    if (count) std::memcpy(bytes_.data() + at, values, count * sizeof(T));
  }
  // Room for `count` values that the caller (a device) writes.
  template <class T>
  T* space(size_t count) {
    const size_t at = bytes_.size();
    bytes_.resize(at + count * sizeof(T));
    return reinterpret_cast<T*>(bytes_.data() + at);
  }
  Payload take() { return std::move(bytes_); }

 private:
  Payload bytes_;
};

class PayloadReader {
 public:
  explicit PayloadReader(const Payload& payload) : payload_(payload) {}
  template <class T>
  const T* take(size_t count) {
    if (at_ + count * sizeof(T) > payload_.size()) throw std::logic_error("a message is too short");
    const auto* values = reinterpret_cast<const T*>(payload_.data() + at_);
    at_ += count * sizeof(T);
    return values;
  }

 private:
  const Payload& payload_;
  size_t at_ = 0;
};

}  // namespace quiltmd
