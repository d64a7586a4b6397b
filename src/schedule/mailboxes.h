// SPDX-License-Identifier: Apache-2.0
// Where the messages of one rank lie on its device: an inbox for each edge and sender; for each edge
// and receiver the inbox over there, where kernels reach it, or an outbox from which the host carries
// them. And the numbers of messages, by which kernels know what they wait for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "device/device.h"
#include "schedule/schedule.h"
#include "transport/transport.h"

namespace quiltmd {

class Mailboxes {
 public:
  Mailboxes(Device& device, Transport& transport);

  // Room for the messages of a schedule.
  void make_room(const Schedule& schedule);
  // An array into which kernels of other ranks write what messages of an edge stand for.
  void offer(Edge edge, void* array) { offered_[edge] = array; }
  // What kernels of other ranks need to know to write here; and what is known of theirs. Between the
  // two, every rank tells every other that its kernels reach.
  Payload addresses(int for_rank) const;
  void learn_addresses(int of_rank, const Payload& addresses);

  bool kernels_reach(int peer) const { return transport_.kernels_reach(peer); }
  void* offered(Edge edge, int by) const { return remote_arrays_.at({edge, by}); }

  // For messages of the schedule that runs: `edges` counts those of each edge that went before.
  Outlet outlet(Edge edge, int to) const;
  Inlet inlet(Edge edge, int from) const;
  Payload collect(const MessageEnd& sent) const;  // from the outbox
  // Into the inbox. Throws std::logic_error for another length than was awaited.
  void deliver(const MessageEnd& awaited, const Payload& payload);

  // The schedule has run: it had messages of these edges.
  void count(const std::vector<Edge>& edges);
  // Recordings count for themselves, on the device, whenever they run. Before one is made or replayed,
  // the counts on the device are set to those of the host; its end is recorded, and tells its messages.
  using Counts = std::array<uint32_t, kEdges>;
  void upload_counts();
  Counts end_recording();
  void ran(const Counts& recorded);

  const uint32_t* overdue() const { return overdue_.data(); }
  size_t bytes() const;

 private:
  struct Mailbox {
    Buffer<MessageWord> words;  // two messages
    int64_t stride() const { return static_cast<int64_t>(words.size() / 2); }
  };
  struct Remote {
    MessageWord* words;
    int64_t stride;
  };
  using Key = std::pair<Edge, int>;
  void grow(Mailbox& box, size_t words);
  MessageNumber number(Edge edge) const;
  uint32_t current(Edge edge) const;  // of the message under way

  Device& device_;
  Transport& transport_;
  std::map<Key, Mailbox> inboxes_, outboxes_;
  std::map<Key, Remote> remote_;
  std::map<Edge, void*> offered_;
  std::map<Key, void*> remote_arrays_;
  Buffer<uint32_t> numbers_;  // by edge; what recordings have counted
  Counts counted_{};          // the same, as the host knows it
  Counts more_{};             // since
  Buffer<uint32_t> overdue_;
};

}  // namespace quiltmd
