// SPDX-License-Identifier: Apache-2.0
// What one rank needs to exchange atoms with others: which of its patches each of them holds as
// proxies, which atoms of messages are in which slots, and the operations that write and read the
// messages.
#pragma once

#include <vector>

#include "decomposition/exchange_operations.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

// Multiplies the expected size of messages; doubled when a message overflowed.
using MessageRoom = int;
// Between a rank with this plan and another, in a system of these numbers of hydrogen groups and atoms.
MigrantRoom migrant_room(const RankPlan& plan, int peer, int64_t groups, int64_t atoms,
                         MessageRoom room);
int atom_room(const Exchange& exchange, int64_t atoms, MessageRoom room);
// Room for messages to a rank with this plan from other ranks.
RemoteRoom remote_room(const System& system, const RankPlan& plan, MessageRoom room);

class ExchangeMemory {
 public:
  // `in_terms`: by internal index, whether a bonded term, or another force, reads its exact position.
  ExchangeMemory(SlotMemory& slots, const std::vector<char>& in_terms);

  // Sets a plan, which the slots already have. `owner`: the rank of each patch.
  void set_plan(const RankPlan& plan, std::vector<int32_t> owner, MessageRoom room);

  // Words of messages. Exchanges and peers of migrants are numbered as in the plan.
  size_t migrant_words(size_t peer) const {
    return static_cast<size_t>(migrant_rooms_[peer].words());
  }
  size_t proxy_words(const Exchange& exchange) const;
  size_t step_words(const Exchange& exchange) const;

  // A rebuild, in order.
  FindFarMigrants find_far_migrants() const;
  SendMigrants send_migrants(size_t peer, Outlet out) const;
  ReceiveMigrants receive_migrants(size_t peer, Inlet in) const;
  ClearSlotOfAtom clear_slot_of_atom() const;
  const int32_t* groups_arrived() const;  // number after all have been received
  SendProxies send_proxies(size_t exchange, Outlet out) const;
  ReceiveCounts receive_counts(size_t exchange, Inlet in) const;
  LayOutProxies lay_out_proxies() const;
  ReceiveProxies receive_proxies(size_t exchange, Inlet in) const;

  // A step.
  SendPositions send_positions(size_t exchange, Outlet out) const;
  ReceivePositions receive_positions(size_t exchange, Inlet in) const;
  SendValues send_values(size_t exchange, const float* values, Outlet out) const;
  ReceiveValues receive_values(size_t exchange, float* values, Inlet in) const;
  ReturnSums return_sums(size_t exchange, int64_t* sums, Outlet out) const;
  AddSums add_sums(size_t exchange, int64_t* sums, Inlet in) const;
  SendForces send_forces(size_t exchange, Outlet out) const;
  ReceiveForces receive_forces(size_t exchange, Inlet in) const;

  size_t bytes() const { return make_.bytes(); }

 private:
  // The patches of one exchange: as placed patches, and in the grid.
  struct Side {
    Buffer<int32_t> patches, numbers;
    Buffer<uint32_t> slot_of;
    Buffer<int32_t> atom_count;
    PatchExchange view() const;
  };
  Side side(const Exchange& exchange, const std::vector<int32_t>& placed_index);
  void drop(Side& side);
  int room_for(const Exchange& exchange) const;

  SlotMemory& slots_;
  BufferMaker make_;
  Buffer<int8_t> in_terms_;
  Buffer<int32_t> tally_;            // of migrants
  Buffer<int32_t> owner_;            // by patch: a peer of migrants, kOwnPatch or kFarPatch
  Buffer<int32_t> groups_, places_;  // by peer: there once its migrants have been received
  std::vector<int> peers_;
  std::vector<MigrantRoom> migrant_rooms_;  // by peer
  MessageRoom room_ = 1;
  std::vector<Side> sends_, receives_;
};

}  // namespace quiltmd
