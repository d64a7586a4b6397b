// SPDX-License-Identifier: Apache-2.0
// What happened to messages while a rank was profiled. Each rank notes what it sees of them; joined,
// the notes of both ends tell when a message was sent, arrived and was used. Messages that kernels
// write into other devices' memory are not seen by the host, and not noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quiltmd {

// What one rank noted, at one end of a message.
struct MessageEvent {
  enum class Kind { kSent, kArrived, kUsed };
  Kind kind;
  int edge;
  int peer;
  int64_t sequence;  // the run of the schedule
  size_t bytes;
  double time;  // s
};

// A message from its sending to its use: seconds of the clock of its ranks.
struct MessageTimes {
  std::string name;  // of its edge
  int from, to;
  size_t bytes;
  double sent;     // it is handed to the transport
  double arrived;  // the receiver has it
  double used;     // the task that awaits it begins
};

std::string edge_name(int edge);

// How far the clock of each rank is ahead of rank 0's, s, from the messages between the two: the fastest
// each way take equally long. 0 where that is less than a second, as clocks of one machine are the same
// and those of two count from when each was started; and where nothing is known.
std::vector<double> clock_leads(const std::vector<std::vector<MessageEvent>>& events);

// Messages of which all three events are known, in the order of their sending. `events`: by rank.
std::vector<MessageTimes> join_events(const std::vector<std::vector<MessageEvent>>& events);

}  // namespace quiltmd
