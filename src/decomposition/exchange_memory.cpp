// SPDX-License-Identifier: Apache-2.0
#include "decomposition/exchange_memory.h"

#include <algorithm>

namespace quiltmd {
namespace {

// Of the groups of a rank, the part that may move to one other between two rebuilds. A few in a
// hundred do where patches are few; hardly any elsewhere.
constexpr int kLeavingPart = 8;
constexpr int kFewestLeaving = 256;
constexpr int kAtomsOfLeaving = 4;  // on average, at most

// Atoms of patches, beyond what was expected when the plan was made.
constexpr int kMoreAtoms = 512;

}  // namespace

MigrantRoom migrant_room(int64_t groups, int64_t atoms, int ranks, MessageRoom room) {
  const int64_t part = room * std::max<int64_t>(groups / (kLeavingPart * ranks), kFewestLeaving);
  const int64_t leaving = std::min(part, groups);
  return {static_cast<int>(leaving), static_cast<int>(std::min(kAtomsOfLeaving * leaving, atoms))};
}

int atom_room(const Exchange& exchange, int64_t atoms, MessageRoom room) {
  const int expected = exchange.atoms + exchange.atoms / 4 + kMoreAtoms;
  return static_cast<int>(std::min<int64_t>(int64_t{room} * expected, atoms));
}

RemoteRoom remote_room(const System& system, const RankPlan& plan, int ranks, MessageRoom room) {
  const auto peers = static_cast<size_t>(ranks - 1);
  const MigrantRoom of_peer = migrant_room(system.group_count(), system.atom_count(), ranks, room);
  RemoteRoom all{peers * static_cast<size_t>(of_peer.groups),
                 peers * static_cast<size_t>(of_peer.atoms), 0};
  for (const Exchange& e : plan.receives)
    all.proxy_atoms += static_cast<size_t>(atom_room(e, system.atom_count(), room));
  return all;
}

ExchangeMemory::ExchangeMemory(SlotMemory& slots, const std::vector<char>& in_terms)
    : slots_(slots), make_(slots.device) {
  in_terms_ = make_.filled(std::vector<int8_t>(in_terms.begin(), in_terms.end()));
  tally_ = make_.zeros<int32_t>(2);
}

void ExchangeMemory::set_plan(const RankPlan& plan, int ranks, const std::vector<int32_t>& owner,
                              MessageRoom room) {
  room_ = room;
  migrant_room_ =
      migrant_room(slots_.system.group_count(), slots_.system.atom_count(), ranks, room);
  make_.renew(owner_, owner);
  make_.renew(groups_, static_cast<size_t>(ranks - 1));
  make_.renew(places_, static_cast<size_t>(ranks - 1));
  const std::vector<int32_t> placed_index = slots_.placed_index();
  for (std::vector<Side>* sides : {&sends_, &receives_}) {
    for (Side& side : *sides) drop(side);
    sides->clear();
  }
  for (const Exchange& e : plan.sends) sends_.push_back(side(e, placed_index));
  for (const Exchange& e : plan.receives) receives_.push_back(side(e, placed_index));
}

ExchangeMemory::Side ExchangeMemory::side(const Exchange& exchange,
                                          const std::vector<int32_t>& placed_index) {
  std::vector<int32_t> patches;
  for (const int p : exchange.patches) patches.push_back(placed_index[static_cast<size_t>(p)]);
  return {make_.filled(patches), make_.filled(exchange.patches),
          make_.room<uint32_t>(static_cast<size_t>(room_for(exchange))), make_.zeros<int32_t>(1)};
}

void ExchangeMemory::drop(Side& side) {
  make_.drop(side.patches);
  make_.drop(side.numbers);
  make_.drop(side.slot_of);
  make_.drop(side.atom_count);
}

PatchExchange ExchangeMemory::Side::view() const {
  return {patches.data(), static_cast<int>(patches.size()), slot_of.data(), atom_count.data(),
          static_cast<int>(slot_of.size())};
}

int ExchangeMemory::room_for(const Exchange& exchange) const {
  return atom_room(exchange, slots_.system.atom_count(), room_);
}

size_t ExchangeMemory::proxy_words(const Exchange& exchange) const {
  PatchExchange view{};
  view.count = static_cast<int>(exchange.patches.size());
  view.atom_room = room_for(exchange);
  return static_cast<size_t>(view.proxy_words());
}

size_t ExchangeMemory::step_words(const Exchange& exchange) const {
  PatchExchange view{};
  view.atom_room = room_for(exchange);
  return static_cast<size_t>(view.step_words());
}

SendMigrants ExchangeMemory::send_migrants(int to, Outlet out) const {
  return {slots_.bin_groups(),
          slots_.velocity().data(),
          slots_.group_start(),
          owner_.data(),
          to,
          migrant_room_,
          out,
          tally_.data(),
          slots_.faults.data()};
}

ReceiveMigrants ExchangeMemory::receive_migrants(int peer, Inlet in) const {
  const auto before = static_cast<size_t>(peer) - 1, after = static_cast<size_t>(peer);
  return {in,
          migrant_room_,
          slots_.group_start(),
          peer ? groups_.data() + before : slots_.group_count.data(),
          peer ? places_.data() + before : slots_.owned_slots.data(),
          groups_.data() + after,
          places_.data() + after,
          static_cast<int>(slots_.room.groups),
          slots_.capacity(),
          slots_.placed.data(),
          slots_.position().data(),
          slots_.velocity().data(),
          slots_.faults.data()};
}

const int32_t* ExchangeMemory::groups_arrived() const {
  return groups_.size() ? groups_.data() + groups_.size() - 1 : nullptr;
}

ClearSlotOfAtom ExchangeMemory::clear_slot_of_atom() const {
  return {slots_.atom.data(),         slots_.used_slots(), slots_.capacity(),
          slots_.slot_of_atom.data(), slots_.step.data(),  slots_.faults.data()};
}

SendProxies ExchangeMemory::send_proxies(size_t exchange, Outlet out) const {
  return {sends_[exchange].view(), slots_.slots(), slots_.patches.data(), in_terms_.data(), out,
          slots_.faults.data()};
}

ReceiveCounts ExchangeMemory::receive_counts(size_t exchange, Inlet in) const {
  const Side& side = receives_[exchange];
  return {side.view(), side.numbers.data(),   slots_.patch_grid.cells,
          in,          slots_.patches.data(), slots_.faults.data()};
}

LayOutProxies ExchangeMemory::lay_out_proxies() const {
  return {slots_.patches.data(),
          slots_.owned_patches(),
          static_cast<int>(slots_.plan().proxies.size()),
          slots_.owned_slots.data(),
          slots_.all_slots.data(),
          slots_.capacity(),
          slots_.faults.data()};
}

ReceiveProxies ExchangeMemory::receive_proxies(size_t exchange, Inlet in) const {
  return {receives_[exchange].view(), in,
          slots_.patches.data(),      slots_.atom_table(),
          in_terms_.data(),           slots_.slots(),
          slots_.slot_of_atom.data(), slots_.faults.data()};
}

SendPositions ExchangeMemory::send_positions(size_t exchange, Outlet out) const {
  return {sends_[exchange].view(), slots_.slots(), out};
}
ReceivePositions ExchangeMemory::receive_positions(size_t exchange, Inlet in) const {
  return {receives_[exchange].view(), slots_.slots(), in};
}
SendValues ExchangeMemory::send_values(size_t exchange, const float* values, Outlet out) const {
  return {sends_[exchange].view(), values, out};
}
ReceiveValues ExchangeMemory::receive_values(size_t exchange, float* values, Inlet in) const {
  return {receives_[exchange].view(), values, in};
}
SendForces ExchangeMemory::send_forces(size_t exchange, Outlet out) const {
  return {receives_[exchange].view(), slots_.slots(), out};
}
ReceiveForces ExchangeMemory::receive_forces(size_t exchange, Inlet in) const {
  return {sends_[exchange].view(), slots_.slots(), in};
}

}  // namespace quiltmd
