// SPDX-License-Identifier: Apache-2.0
// Where the messages of one rank lie on its device: an inbox for each edge and sender; for each edge
// and receiver the inbox over there, where kernels reach it, or an outbox from which the host or a
// communicator carries them. And the numbers of messages, by which kernels know what they wait for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "schedule/links.h"
#include "schedule/schedule.h"

namespace quiltmd {

class Mailboxes {
 public:
  Mailboxes(Device& device, const Links& links);
  ~Mailboxes();
  Mailboxes(const Mailboxes&) = delete;

  // Room for the messages of these schedules, and of no others. Where kernels of other processes write it lies
  // in pages that all ranks share together: of the most bytes that any of them wants, and anew where any of
  // them wants others.
  struct Pages {
    uint64_t bytes = 0;
    uint64_t are_new = 0;
  };
  Pages make_room(const std::vector<const Schedule*>& schedules);
  void share(const Pages& agreed);
  // An array into which kernels of other ranks write what messages of an edge stand for: memory of whole
  // pages, of one size on all ranks, as allocate() gave it.
  void offer(Edge edge, const MemoryPiece& array) { offered_[edge] = array; }
  // Addresses that kernels of other ranks need to write here; and the addresses of other ranks. In between,
  // every rank sends its addresses to every rank that its kernels reach.
  Payload addresses(int for_rank) const;
  void learn_addresses(int of_rank, const Payload& addresses);
  // All addresses have been learnt, so nobody writes any more to what was replaced before the last time.
  void end_learning();

  bool kernels_reach(int peer) const { return links_.kernels_reach(peer); }
  void* offered(Edge edge, int by) const { return remote_arrays_.at({edge, by}); }

  // For messages of the schedule that runs: `edges` counts those of each edge that went before.
  Outlet outlet(Edge edge, int to) const;
  Inlet inlet(Edge edge, int from) const;
  Payload collect(const MessageEnd& sent) const;  // from the outbox
  // Into the inbox. Throws std::logic_error for another length than was awaited.
  void deliver(const MessageEnd& awaited, const Payload& payload);
  // For the communicator: from the outbox, into the inbox.
  Parcel outgoing(const MessageEnd& sent) const;
  Parcel incoming(const MessageEnd& awaited) const;

  // The schedule has run: it had messages of these edges.
  void count(const std::vector<Edge>& edges);
  // Recordings count for themselves, on the device, whenever they run. Before one is made or replayed,
  // the counts on the device are set to those of the host; its end is recorded, and tells its messages.
  using Counts = std::array<uint32_t, kEdges>;
  void upload_counts();
  Counts end_recording();
  void ran(const Counts& recorded);

  const Waiting* waiting() const { return waiting_.data(); }
  // Has kernels wait no longer for messages: a rank has failed. Any thread may call this.
  void stop_waiting() noexcept {
    if (stopped_) std::atomic_ref(*stopped_).store(1);
  }
  size_t bytes() const;

 private:
  using Key = std::pair<Edge, int>;
  struct Mailbox {
    Buffer<MessageWord> own;  // empty: in shared pages
    MessageWord* words = nullptr;
    int64_t stride = 0;  // from one message to the next
    size_t room = 0;     // of one message
    MessageWord* at(uint32_t number) const { return words + (number & 1u) * stride; }
  };
  struct Remote {
    MessageWord* words;
    int64_t stride;
  };
  struct Opened {
    void* memory;
    bool is_named;  // by what was learnt last
  };
  using Boxes = std::map<Key, Mailbox>;
  using Words = std::map<Key, size_t>;          // of the longest message
  bool fit(Boxes& boxes, const Words& needed);  // whether it changes what lies in shared pages
  void renew(Mailbox& box, int peer, size_t room);
  bool is_shared(int peer) const { return links_.shared && kernels_reach(peer); }
  void* open(int of_rank, const MemoryHandle& handle);
  MessageNumber number(Edge edge) const;
  uint32_t current(Edge edge) const;  // of the message under way

  Device& device_;
  const Links& links_;
  Boxes inboxes_, outboxes_;
  // Inboxes to which kernels of other processes write; and those that other processes may have open still:
  // replaced now, and before.
  Buffer<MessageWord> pages_, replaced_, long_replaced_;
  std::map<Key, Remote> remote_;
  std::map<Edge, MemoryPiece> offered_;
  std::map<Key, void*> remote_arrays_;
  std::map<std::pair<int, MemoryHandle>, Opened> opened_;
  Buffer<uint32_t> numbers_;  // by edge; what recordings have counted
  Counts counted_{};          // the same, as the host knows it
  Counts more_{};             // since
  std::shared_ptr<uint32_t> stopped_;
  Buffer<Waiting> waiting_;
};

}  // namespace quiltmd
