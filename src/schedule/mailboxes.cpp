// SPDX-License-Identifier: Apache-2.0
#include "schedule/mailboxes.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace quiltmd {
namespace {

constexpr size_t kLongestHandle = 64;

// An inbox, or an array that is offered, as another rank is told of it.
struct Address {
  int32_t edge;
  int32_t is_inbox;
  uint64_t memory;  // the pointer as a number; in another process it counts from the handle's
  int64_t stride;   // of an inbox
  uint64_t handle_bytes;
  std::byte handle[kLongestHandle];
};

void put_handle(const MemoryHandle& handle, Address& address) {
  if (handle.size() > kLongestHandle) throw std::logic_error("a handle of memory is too long");
  address.handle_bytes = handle.size();
  std::copy(handle.begin(), handle.end(), address.handle);
}

}  // namespace

Mailboxes::Mailboxes(Device& device, const Links& links)
    : device_(device),
      links_(links),
      numbers_(device, std::vector<uint32_t>(kEdges, 0)),
      stopped_(device.make_host_number()),
      waiting_(device, std::vector<Waiting>{{0, stopped_.get()}}) {}

Mailboxes::~Mailboxes() {
  for (const auto& [handle, opened] : opened_) links_.shared->close(opened.memory);
}

Mailboxes::Pages Mailboxes::make_room(const std::vector<const Schedule*>& schedules) {
  Words sent, awaited;
  const auto note = [](Words& longest, const MessageEnd& m) {
    size_t& words = longest[{m.edge, m.peer}];
    words = std::max(words, m.words);
  };
  for (const Schedule* schedule : schedules)
    for (const Task& task : schedule->tasks()) {
      for (const MessageEnd& m : task.sends)
        if (!kernels_reach(m.peer)) note(sent, m);
      for (const MessageEnd& m : task.awaits) note(awaited, m);
    }
  fit(outboxes_, sent);
  const bool are_new = fit(inboxes_, awaited);
  size_t words = 0;
  for (const auto& [key, box] : inboxes_)
    if (is_shared(key.second)) words += 2 * box.room;
  return {filling_pages<MessageWord>(words) * sizeof(MessageWord), are_new};
}

void Mailboxes::share(const Pages& agreed) {
  if (agreed.are_new) {
    replaced_ =
        std::exchange(pages_, Buffer<MessageWord>(device_, agreed.bytes / sizeof(MessageWord)));
    device_.fill(pages_.data(), 0, pages_.bytes(), Stream::kMain);
    MessageWord* next = pages_.data();
    for (auto& [key, box] : inboxes_)
      if (is_shared(key.second)) box.words = std::exchange(next, next + 2 * box.room);
  }
  std::vector<MemoryPiece> pieces;
  if (pages_.bytes() > 0) pieces.push_back({pages_.data(), pages_.bytes()});
  for (const auto& [edge, array] : offered_) pieces.push_back(array);
  links_.shared->agree_on(pieces);
}

// Boxes that are a little too large stay: processes open those of others anew when they are replaced.
bool Mailboxes::fit(Boxes& boxes, const Words& needed) {
  bool changes = false;
  std::erase_if(boxes, [&](const auto& box) {
    const bool is_needed = needed.contains(box.first);
    changes = changes || (!is_needed && is_shared(box.first.second));
    return !is_needed;
  });
  for (const auto& [key, words] : needed) {
    Mailbox& box = boxes[key];
    if (words <= box.room && words >= box.room / 2) continue;
    renew(box, key.second, words);
    changes = changes || is_shared(key.second);
  }
  return changes;
}

// Kernels and the host find every other message in a second buffer. A communicator has the same one for
// all: what it is told is recorded, and the order of its stream keeps messages apart.
void Mailboxes::renew(Mailbox& box, int peer, size_t room) {
  box = {};
  box.room = room;
  const bool has_two = links_.to(peer) != Carrier::kCommunicator;
  box.stride = has_two ? static_cast<int64_t>(box.room) : 0;
  if (is_shared(peer)) return;  // share() places it
  box.own = Buffer<MessageWord>(device_, has_two ? 2 * box.room : box.room);
  box.words = box.own.data();
  device_.fill(box.words, 0, box.own.bytes(), Stream::kMain);
}

Payload Mailboxes::addresses(int for_rank) const {
  std::vector<Address> all;
  const auto add = [&](Edge edge, bool is_inbox, const void* memory, int64_t stride,
                       const void* piece) {
    Address address{
        static_cast<int32_t>(edge), is_inbox, reinterpret_cast<uint64_t>(memory), stride, 0, {}};
    if (links_.shared) {
      address.memory -= reinterpret_cast<uint64_t>(piece);
      put_handle(links_.shared->share(piece), address);
    }
    all.push_back(address);
  };
  for (const auto& [key, box] : inboxes_)
    if (key.second == for_rank) add(key.first, true, box.words, box.stride, pages_.data());
  for (const auto& [edge, array] : offered_) add(edge, false, array.from, 0, array.from);
  Payload payload(all.size() * sizeof(Address));
  if (!all.empty()) std::memcpy(payload.data(), all.data(), payload.size());
  return payload;
}

void Mailboxes::learn_addresses(int of_rank, const Payload& addresses) {
  for (size_t at = 0; at < addresses.size(); at += sizeof(Address)) {
    Address a;
    std::memcpy(&a, addresses.data() + at, sizeof a);
    if (a.handle_bytes > 0)
      a.memory += reinterpret_cast<uint64_t>(
          open(of_rank, MemoryHandle(a.handle, a.handle + a.handle_bytes)));
    const Key key{static_cast<Edge>(a.edge), of_rank};
    if (a.is_inbox)
      remote_[key] = {reinterpret_cast<MessageWord*>(a.memory), a.stride};
    else
      remote_arrays_[key] = reinterpret_cast<void*>(a.memory);
  }
}

void* Mailboxes::open(int of_rank, const MemoryHandle& handle) {
  const auto [found, is_new] = opened_.try_emplace({of_rank, handle}, Opened{nullptr, true});
  if (is_new) found->second.memory = links_.shared->open(of_rank, handle);
  found->second.is_named = true;
  return found->second.memory;
}

void Mailboxes::end_learning() {
  for (auto opened = opened_.begin(); opened != opened_.end();) {
    if (std::exchange(opened->second.is_named, false)) {
      ++opened;
      continue;
    }
    links_.shared->close(opened->second.memory);
    opened = opened_.erase(opened);
  }
  // Who has told addresses has closed what was replaced before they were last told.
  long_replaced_ = std::exchange(replaced_, {});
}

uint32_t Mailboxes::current(Edge edge) const {
  const auto e = static_cast<size_t>(edge);
  return counted_[e] + more_[e] + 1;
}

MessageNumber Mailboxes::number(Edge edge) const {
  const auto e = static_cast<size_t>(edge);
  return {numbers_.data() + e, more_[e] + 1};
}

Outlet Mailboxes::outlet(Edge edge, int to) const {
  if (kernels_reach(to)) {
    const Remote& box = remote_.at({edge, to});
    return {box.words, box.stride, number(edge)};
  }
  const Mailbox& box = outboxes_.at({edge, to});
  return {box.words, box.stride, number(edge)};
}

Inlet Mailboxes::inlet(Edge edge, int from) const {
  const Mailbox& box = inboxes_.at({edge, from});
  const auto name = static_cast<uint32_t>(from * kEdges + static_cast<int>(edge) + 1);
  return {box.words, box.stride, number(edge), waiting_.data(), name};
}

Payload Mailboxes::collect(const MessageEnd& sent) const {
  Payload payload(sent.words * sizeof(MessageWord));
  device_.copy_out(payload.data(), outboxes_.at({sent.edge, sent.peer}).at(current(sent.edge)),
                   payload.size());
  return payload;
}

void Mailboxes::deliver(const MessageEnd& awaited, const Payload& payload) {
  if (payload.size() != awaited.words * sizeof(MessageWord))
    throw std::logic_error("a message is longer or shorter than the receiver expects");
  device_.copy_in(inboxes_.at({awaited.edge, awaited.peer}).at(current(awaited.edge)),
                  payload.data(), payload.size());
}

Parcel Mailboxes::outgoing(const MessageEnd& sent) const {
  const Mailbox& box = outboxes_.at({sent.edge, sent.peer});
  return {sent.peer, box.words, sent.words * sizeof(MessageWord)};
}

Parcel Mailboxes::incoming(const MessageEnd& awaited) const {
  const Mailbox& box = inboxes_.at({awaited.edge, awaited.peer});
  return {awaited.peer, box.words, awaited.words * sizeof(MessageWord)};
}

void Mailboxes::count(const std::vector<Edge>& edges) {
  for (const Edge edge : edges) ++more_[static_cast<size_t>(edge)];
}

void Mailboxes::upload_counts() {
  if (more_ == Counts{}) return;
  ran(std::exchange(more_, {}));
  numbers_.upload(std::vector<uint32_t>(counted_.begin(), counted_.end()));
}

Mailboxes::Counts Mailboxes::end_recording() {
  if (more_ == Counts{}) return more_;
  CountMessages count{numbers_.data(), {}};
  std::copy(more_.begin(), more_.end(), count.more);
  device_.launch(count);
  return std::exchange(more_, {});
}

void Mailboxes::ran(const Counts& recorded) {
  for (size_t e = 0; e < kEdges; ++e) counted_[e] += recorded[e];
}

size_t Mailboxes::bytes() const {
  size_t total = numbers_.bytes() + waiting_.bytes() + pages_.bytes();
  for (const auto* boxes : {&inboxes_, &outboxes_})
    for (const auto& [key, box] : *boxes) total += box.own.bytes();
  return total;
}

}  // namespace quiltmd
