// SPDX-License-Identifier: Apache-2.0
// Makes the buffers of one owner on a device and counts their bytes.
#pragma once

#include <utility>
#include <vector>

#include "device/device.h"

namespace quiltmd {

class BufferMaker {
 public:
  explicit BufferMaker(Device& device) : device_(device) {}

  // Contents are undefined.
  template <class T>
  Buffer<T> room(size_t count) {
    bytes_ += count * sizeof(T);
    return Buffer<T>(device_, count);
  }
  template <class T>
  Buffer<T> zeros(size_t count) {
    Buffer<T> buffer = room<T>(count);
    device_.fill(buffer.data(), 0, buffer.bytes(), Stream::kMain);
    return buffer;
  }
  template <class T>
  Buffer<T> filled(const std::vector<T>& values) {
    bytes_ += values.size() * sizeof(T);
    return Buffer<T>(device_, values);
  }
  // Another size; the contents are lost.
  template <class T>
  void renew(Buffer<T>& buffer, size_t count) {
    drop(buffer);
    buffer = room<T>(count);
  }
  template <class T>
  void renew(Buffer<T>& buffer, const std::vector<T>& values) {
    drop(buffer);
    buffer = filled(values);
  }
  // At least so large; what it holds stays.
  template <class T>
  void grow(Buffer<T>& buffer, size_t count) {
    if (count <= buffer.size()) return;
    Buffer<T> larger = room<T>(count);
    if (buffer.size()) device_.copy(larger.data(), buffer.data(), buffer.bytes(), Stream::kMain);
    device_.synchronize();
    drop(buffer);
    buffer = std::move(larger);
  }
  template <class T>
  void drop(Buffer<T>& buffer) {
    bytes_ -= buffer.bytes();
    buffer = Buffer<T>();
  }

  size_t bytes() const { return bytes_; }

 private:
  Device& device_;
  size_t bytes_ = 0;
};

}  // namespace quiltmd
