// SPDX-License-Identifier: Apache-2.0
// Blocks of steps that a device has recorded (CUDA graphs). Recording costs as much as many steps, so
// a block is run as it is when first met, recorded when met again, and replayed from then on.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>

#include "device/device.h"
#include "schedule/mailboxes.h"

namespace quiltmd {

// What makes two blocks of steps the same sequence of launches.
struct Block {
  int64_t steps;
  int64_t phase;  // of its first step in the plan's period
  int age;        // of the lists at its start
  int buffer;     // of the state at its start
  bool rebuild;   // lists are built first
  bool momentum;  // and before that, momentum is removed
  bool rescaled;  // at its start a barostat acts, or has acted
  auto operator<=>(const Block&) const = default;
};

class Recordings {
 public:
  Recordings(Device& device, Mailboxes& mailboxes) : device_(device), mailboxes_(mailboxes) {}

  // Have the launches of `body` run.
  void run(const Block& block, const std::function<void()>& body);
  // Blocks stay known, and are recorded anew when next met.
  void drop();
  // Sizes or buffers have changed.
  void forget();
  // What was recorded before is not timed, and what is recorded while timing must not run after it.
  enum class Timing { kOff, kOn };
  void set(Timing timing);

 private:
  struct Recording {
    int id;
    Mailboxes::Counts messages;
  };
  Recording record(const std::function<void()>& body);

  Device& device_;
  Mailboxes& mailboxes_;
  Timing timing_ = Timing::kOff;
  std::map<Block, Recording> known_;
};

}  // namespace quiltmd
