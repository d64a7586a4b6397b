// SPDX-License-Identifier: Apache-2.0
#include "schedule/mailboxes.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace quiltmd {
namespace {

// An inbox, or an array that is offered, as another rank is told of it.
struct Address {
  int32_t edge;
  int32_t is_inbox;
  uint64_t memory;  // the pointer as a number
  int64_t stride;   // of an inbox
};

}  // namespace

Mailboxes::Mailboxes(Device& device, Transport& transport)
    : device_(device),
      transport_(transport),
      numbers_(device, std::vector<uint32_t>(kEdges, 0)),
      overdue_(device, std::vector<uint32_t>{0}) {}

void Mailboxes::make_room(const Schedule& schedule) {
  for (const Task& task : schedule.tasks()) {
    for (const MessageEnd& m : task.sends)
      if (!kernels_reach(m.peer)) grow(outboxes_[{m.edge, m.peer}], m.words);
    for (const MessageEnd& m : task.awaits) grow(inboxes_[{m.edge, m.peer}], m.words);
  }
}

void Mailboxes::grow(Mailbox& box, size_t words) {
  if (box.words.size() >= 2 * words) return;
  box.words = Buffer<MessageWord>(device_, 2 * words);
  device_.fill(box.words.data(), 0, box.words.bytes(), Stream::kMain);
}

Payload Mailboxes::addresses(int for_rank) const {
  std::vector<Address> all;
  for (const auto& [key, box] : inboxes_)
    if (key.second == for_rank)
      all.push_back({static_cast<int32_t>(key.first), 1,
                     reinterpret_cast<uint64_t>(box.words.data()), box.stride()});
  for (const auto& [edge, array] : offered_)
    all.push_back({static_cast<int32_t>(edge), 0, reinterpret_cast<uint64_t>(array), 0});
  Payload payload(all.size() * sizeof(Address));
  if (!all.empty()) std::memcpy(payload.data(), all.data(), payload.size());
  return payload;
}

void Mailboxes::learn_addresses(int of_rank, const Payload& addresses) {
  for (size_t at = 0; at < addresses.size(); at += sizeof(Address)) {
    Address a;
    std::memcpy(&a, addresses.data() + at, sizeof a);
    const Key key{static_cast<Edge>(a.edge), of_rank};
    if (a.is_inbox)
      remote_[key] = {reinterpret_cast<MessageWord*>(a.memory), a.stride};
    else
      remote_arrays_[key] = reinterpret_cast<void*>(a.memory);
  }
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
  return {box.words.data(), box.stride(), number(edge)};
}

Inlet Mailboxes::inlet(Edge edge, int from) const {
  const Mailbox& box = inboxes_.at({edge, from});
  const auto name = static_cast<uint32_t>(from * kEdges + static_cast<int>(edge) + 1);
  return {box.words.data(), box.stride(), number(edge), overdue_.data(), name};
}

Payload Mailboxes::collect(const MessageEnd& sent) const {
  const Mailbox& box = outboxes_.at({sent.edge, sent.peer});
  Payload payload(sent.words * sizeof(MessageWord));
  device_.copy_out(payload.data(),
                   box.words.data() + (current(sent.edge) & 1u) * static_cast<size_t>(box.stride()),
                   payload.size());
  return payload;
}

void Mailboxes::deliver(const MessageEnd& awaited, const Payload& payload) {
  if (payload.size() != awaited.words * sizeof(MessageWord))
    throw std::logic_error("a message is longer or shorter than the receiver expects");
  const Mailbox& box = inboxes_.at({awaited.edge, awaited.peer});
  const size_t at = (current(awaited.edge) & 1u) * static_cast<size_t>(box.stride());
  device_.copy_in(box.words.data() + at, payload.data(), payload.size());
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
  size_t total = numbers_.bytes() + overdue_.bytes();
  for (const auto* boxes : {&inboxes_, &outboxes_})
    for (const auto& [key, box] : *boxes) total += box.words.bytes();
  return total;
}

}  // namespace quiltmd
