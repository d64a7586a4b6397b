// SPDX-License-Identifier: Apache-2.0
// Blocks of steps that a device has recorded (CUDA graphs). Recording costs as much as many steps, so
// a block is run as it is when first met, recorded when met again, and replayed from then on.
#pragma once

#include <array>
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
  bool stage;     // at its start the rebuild stage of the plan acts, or has acted
  auto operator<=>(const Block&) const = default;
};

class Recordings {
 public:
  Recordings(Device& device, Mailboxes& mailboxes) : device_(device), mailboxes_(mailboxes) {}
  ~Recordings();  // before a communicator ends whose messages are in them
  Recordings(const Recordings&) = delete;

  // Runs `body`: directly the first time that a block like this occurs, recorded the second time,
  // replayed after that.
  void run(const Block& block, const std::function<void()>& body);
  // Destroys the recordings; each block is recorded again when it next occurs.
  void drop();
  // Destroys the recordings and forgets all blocks: sizes or addresses of buffers have changed.
  void forget();
  // What was recorded before is not timed, and what is recorded while timing must not run after it. Of a
  // timed block there are so many recordings, which take turns, and begin anew when timing is set on again:
  // the host reads the times of one before it runs again, which takes longer than a block of a small system
  // runs.
  static constexpr size_t kTimed = 12;
  enum class Timing { kOff, kOn };
  void set(Timing timing);

 private:
  static constexpr int kNotRecorded = -1;
  struct Recording {
    int id = kNotRecorded;
    Mailboxes::Counts messages{};
  };
  Recording record(const std::function<void()>& body);

  Device& device_;
  Mailboxes& mailboxes_;
  Timing timing_ = Timing::kOff;
  struct Known {
    std::array<Recording, kTimed> recordings;  // the first of them while nothing is timed
    size_t turn = 0;
  };
  std::map<Block, Known> known_;
};

}  // namespace quiltmd
