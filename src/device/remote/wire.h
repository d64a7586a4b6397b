// SPDX-License-Identifier: Apache-2.0
// What travels between a device behind a connection and who uses it: heads of one size, each followed
// by as many bytes as it says. Both ends have the same byte order, which is made sure of before.
//
// Only questions are answered; all else is sent and forgotten. An error of a question is its answer;
// after that of another command no more is done, and the error is the answer to all later questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "math/error.h"

namespace quiltmd::remote {

enum class Verb : uint32_t {
  // Questions.
  kDescribe,
  kAllocate,  // at the address `to`, which the client chooses
  kDownload,  // of the pieces that follow
  kSynchronize,
  // Commands.
  kFree,
  kCopyIn,  // what follows
  kCopy,
  kFill,
  kSignal,
  kWait,
  kBeginRecording,
  kEndRecording,
  kRunRecording,
  kDropRecording,
  kLaunch,  // parameters follow
  // Answers.
  kAnswer,
  kError,
  kLost,
  kNoMemory
};
constexpr bool is_question(Verb verb) { return verb <= Verb::kSynchronize; }

struct Head {
  Verb verb;
  uint32_t stream;
  uint64_t
      number;  // of a question, a recording or an operation; the Placing of a recording that begins
  uint64_t to, from;
  uint64_t bytes;    // of memory
  uint64_t value;    // an event, the byte of a fill
  uint64_t payload;  // bytes that follow
};
static_assert(std::is_trivially_copyable_v<Head> && sizeof(Head) == 56);

struct Piece {
  uint64_t from, bytes;
};

// Longer payloads are sent in pieces.
inline constexpr uint64_t kLargestPayload = 4 << 20;

using Bytes = std::vector<std::byte>;

// A connected stream socket, which it owns.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  // False where the other end is gone.
  bool send(const void* data, size_t bytes) const;
  bool receive(void* data, size_t bytes);
  void shut_down() const;  // who waits in either returns

 private:
  const int descriptor_;
  Bytes received_;  // and not yet asked for
  size_t begin_ = 0;
};

}  // namespace quiltmd::remote
