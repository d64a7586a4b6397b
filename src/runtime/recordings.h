// SPDX-License-Identifier: Apache-2.0
// Blocks of steps that a device has recorded (CUDA graphs). Recording costs as much as many steps, so
// a block is run as it is when first met, recorded when met again, and replayed from then on.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "device/device.h"
#include "schedule/mailboxes.h"
#include "schedule/rank_memory.h"

namespace quiltmd {

// Properties that make two blocks of steps the same sequence of launches.
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
  // `external`: of forces that the host is called for; null: there are none.
  Recordings(Device& device, Mailboxes& mailboxes, ExternalMemory* external)
      : device_(device), mailboxes_(mailboxes), external_(external) {}
  ~Recordings();  // to be called before the communicator ends whose exchanges are recorded
  Recordings(const Recordings&) = delete;

  // Runs `body` from a step on: directly the first time that a block like this occurs, recorded the second
  // time, replayed after that. Calls the external forces of a block that was recorded.
  void run(const Block& block, int64_t step, const std::function<void()>& body);
  // Destroys the recordings; each block is recorded again when it next occurs.
  void drop();
  // Destroys the recordings and forgets all blocks: sizes or addresses of buffers have changed.
  void forget();
  // While timing is on blocks have recordings of their own, whose kernels can note their times. Those of
  // the first block are read, and then of one of kEvery. (An odd number, as blocks have two buffers in turn.)
  static constexpr int64_t kEvery = 15;
  enum class Timing { kOff, kOn };
  void set(Timing timing);
  // The steps of each timed recording that ran, since timing was last set.
  const std::vector<int64_t>& timed_steps() const { return timed_steps_; }

 private:
  static constexpr int kNotRecorded = -1;
  struct Recording {
    int id = kNotRecorded;
    Mailboxes::Counts messages{};
    std::vector<ExternalCall> calls;  // their steps are counted from the first one
  };
  Recording record(int64_t step, const std::function<void()>& body);
  void drop(Recording& recording);
  void drop_timed();

  Device& device_;
  Mailboxes& mailboxes_;
  ExternalMemory* external_;
  Timing timing_ = Timing::kOff;
  int64_t blocks_ = 0;  // since timing was last set
  std::vector<int64_t> timed_steps_;
  struct Known {
    Recording plain, timed;
  };
  std::map<Block, Known> known_;
};

}  // namespace quiltmd
