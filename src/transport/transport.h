// SPDX-License-Identifier: Apache-2.0
// How messages get from rank to rank. A transport moves bytes of the host and knows nothing of what they
// mean; a communicator moves what lies in the memory of devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quiltmd {

using Payload = std::vector<std::byte>;

// Data that one task produces and another waits for. `edge` names the pair of tasks and `sequence`
// the run of the schedule, so a message that arrives early waits for its turn.
struct Message {
  int from = 0;
  int edge = 0;
  int64_t sequence = 0;
  Payload payload;
};

// Whether the caller needs a message of a rank.
using Awaits = std::function<bool(int rank)>;

// One rank's end of a transport. Messages between two ranks arrive once each, in any order. Its destructor
// leaves in order, unless a rank has failed: others receive all that was sent, and go on without this rank.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(int to, Message message) = 0;
  // The next message that has arrived, if any; never blocks.
  virtual std::optional<Message> poll() = 0;
  // Block until a message has arrived; nothing if a rank has failed, or if one that is awaited has left.
  virtual std::optional<Message> wait(const Awaits& awaits) = 0;
  // Wake all ranks that wait: this one has failed.
  virtual void close() = 0;
  // Which rank failed, as far as is known; empty: none has.
  virtual std::string failure() const = 0;
  // Sets the action to take, by any thread, as soon as a failure of a rank is known; at once if a rank has
  // already failed. The previous action is then never taken.
  virtual void on_failure(std::function<void()> act) = 0;
};

// What is told of a rank that has left too early.
inline std::string left_too_early(int rank) {
  return "rank " + std::to_string(rank) +
         " has ended its part of the run, but others need more of it";
}

// Failure of a transport, and its action. Only the first failure is kept.
class FailureWatch {
 public:
  void set(std::function<void()> act, bool has_failed) {
    const std::lock_guard lock(mutex_);
    act_ = std::move(act);
    if (has_failed) tell_locked();
  }
  void tell() {
    const std::lock_guard lock(mutex_);
    tell_locked();
  }

 private:
  void tell_locked() {
    if (const auto act = std::exchange(act_, {})) act();
  }
  std::mutex mutex_;
  std::function<void()> act_;
};

// A piece of the memory of a device, to or from another rank's.
struct Parcel {
  int peer;
  void* memory;
  size_t bytes;
};

// Moves messages between the memory of devices in the order of a stream, without the host.
class Communicator {
 public:
  virtual ~Communicator() = default;
  // Puts sends and receives on a stream of the device (a cudaStream_t), none of which waits for another;
  // where there is none, has them done. Ranks that exchange something all call this, in the same order.
  // Throws Error.
  virtual void exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives,
                        void* stream) = 0;
  // Ends what is under way and all that follows. Any thread may call this.
  virtual void abort() noexcept = 0;
  // Failure of messages under way; empty: none. And the action to take then, as for a
  // transport.
  virtual std::string failure() const = 0;
  virtual void on_failure(std::function<void()> act) = 0;
};

}  // namespace quiltmd
