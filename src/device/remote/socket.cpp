// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/remote/wire.h"

namespace quiltmd::remote {
namespace {

constexpr size_t kRoom = 64 << 10;  // bytes that are taken from the system at once

// Bytes received; 0 at the end.
size_t receive_some(int descriptor, void* data, size_t bytes) {
  for (;;) {
    const ssize_t got = ::recv(descriptor, data, bytes, 0);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return 0;
  }
}

}  // namespace

Socket::~Socket() { ::close(descriptor_); }

bool Socket::send(const void* data, size_t bytes) const {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(descriptor_, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool Socket::receive(void* data, size_t bytes) {
  auto* to = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const size_t kept = std::min(received_.size() - begin_, bytes);
    if (kept > 0) std::memcpy(to, received_.data() + begin_, kept);
    begin_ += kept;
    to += kept;
    bytes -= kept;
    if (bytes == 0) break;
    if (bytes >= kRoom) {
      const size_t got = receive_some(descriptor_, to, bytes);
      if (got == 0) return false;
      to += got;
      bytes -= got;
      continue;
    }
    received_.resize(kRoom);
    begin_ = 0;
    received_.resize(receive_some(descriptor_, received_.data(), kRoom));
    if (received_.empty()) return false;
  }
  return true;
}

void Socket::shut_down() const { ::shutdown(descriptor_, SHUT_RDWR); }

}  // namespace quiltmd::remote
