// SPDX-License-Identifier: Apache-2.0
// What happened to messages while a rank was profiled. Each rank notes what it sees of them; joined,
// the notes of both ends tell when a message was sent, arrived and was used. Of messages that the host
// carries it is the host that notes. Messages that kernels write into other devices' memory, or a
// communicator takes there, it does not see: the times of the kernels at both ends tell, and of the
// exchanges, which count as kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/links.h"
#include "schedule/schedule.h"

namespace quiltmd {

// Record of one rank, at one end of a message.
struct MessageEvent {
  enum class Kind { kSent, kArrived, kUsed };
  Kind kind;
  Carrier carrier;
  Stream stream;  // of the task; meaningless where a message arrived
  int edge;
  int peer;
  int64_t sequence;  // the run of the schedule; of messages of kernels, how many went before
  size_t bytes;
  double time = 0;  // s
};

// A message from its sending to its use: seconds of the clock of its ranks.
struct MessageTimes {
  std::string name;  // of its edge
  int from, to;
  Carrier carrier;
  Stream from_stream, to_stream;  // of the tasks that send and use it
  size_t bytes;
  double sent;     // it is handed to the transport, or the kernel that writes it ends
  double arrived;  // the receiver has it
  double used;     // the task that awaits it begins, or its kernel need wait no longer
};

std::string edge_name(int edge);

// The messages that one task's kernels await and send.
struct KernelMessages {
  std::vector<MessageEnd> awaits, sends;
};

// Events of these messages from the times of launches. Launches of a task have its place in `tasks`, counted
// from 1, as label, and follow each other. A message counts as sent when the last kernel of its task ends, as
// used when the first kernel of the receiving task begins, and as arrived when that kernel ends, the latest
// possible time.
std::vector<MessageEvent> kernel_events(const std::vector<Span>& launches,
                                        const std::vector<KernelMessages>& tasks);

// Lead of the clock of each rank over that of rank 0, s, from the messages between the two.
// Hosts: it is assumed that the fastest messages in both directions take equally long. The
// lead is 0 if it is below a second, because clocks of one machine are equal and others
// differ by their starts; and 0 if nothing is known. Devices: the smallest lead with which
// no message of kernels arrives before it was sent, or the middle if there is none. The
// clocks of devices were set by one host, and events come some microseconds after their
// kernels.
std::vector<double> clock_leads(const std::vector<std::vector<MessageEvent>>& events,
                                Carrier carrier);

// Messages of which all three events are known, in the order of their sending. `events`: by rank.
std::vector<MessageTimes> join_events(const std::vector<std::vector<MessageEvent>>& events);

}  // namespace quiltmd
