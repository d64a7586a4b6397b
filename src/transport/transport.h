// SPDX-License-Identifier: Apache-2.0
// How messages get from rank to rank. A transport moves bytes and knows nothing of what they mean. It
// also knows between which ranks kernels move them, by writing to the memory of the other's device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// One rank's end of a transport. Messages between two ranks arrive once each, in any order.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void send(int to, Message message) = 0;
  // The next message that has arrived, if any; never blocks.
  virtual std::optional<Message> poll() = 0;
  // Block until a message has arrived or the transport was closed (then nothing).
  virtual std::optional<Message> wait() = 0;
  // Wake all ranks that wait: this one has failed.
  virtual void close() = 0;
  // After wait() without a message: which rank failed, as far as is known.
  virtual std::string failure() const { return "another rank failed"; }
  // Whether kernels of this rank write to memory of that one's device, and the other way round.
  virtual bool kernels_reach(int peer) const = 0;
};

}  // namespace quiltmd
