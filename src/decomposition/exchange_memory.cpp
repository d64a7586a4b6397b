// SPDX-License-Identifier: Apache-2.0
#include "decomposition/exchange_memory.h"

#include <algorithm>
#include <set>

namespace quiltmd {
namespace {

// Part of the groups in touching patches of two ranks that may move from one rank to the other between two
// rebuilds. Pair lists last until an atom has moved by a tenth of the width of a patch or less, and atoms
// move in different directions: one in a hundred crosses over.
constexpr int kLeavingPart = 16;
constexpr int kFewestLeaving = 256;
constexpr int kFewestOfMany = 64;   // of ranks that have few groups each
constexpr int kAtomsOfLeaving = 4;  // on average, at most, or the mean of all groups

// Atoms of patches, beyond a quarter more than expected when the plan was made: on many ranks messages are of
// single patches, so room that stays empty would be most of them.
constexpr int kMoreAtoms = 64;

}  // namespace

MigrantRoom migrant_room(const RankPlan& plan, int peer, int64_t groups, int64_t atoms,
                         MessageRoom room) {
  const auto border = plan.border_atoms.find(peer);
  const int64_t border_atoms = border == plan.border_atoms.end() ? 0 : border->second;
  const int64_t part = border_atoms * groups / (kLeavingPart * atoms);
  const int64_t fewest = plan.tree.has_all_at_top() ? kFewestLeaving : kFewestOfMany;
  const int64_t leaving = std::min(room * std::max(part, fewest), groups);
  const int64_t each = std::max<int64_t>(kAtomsOfLeaving, (atoms - 1) / groups + 1);
  return {static_cast<int>(leaving), static_cast<int>(std::min(each * leaving, atoms))};
}

int atom_room(const Exchange& exchange, int64_t atoms, MessageRoom room) {
  const int expected = exchange.atoms + exchange.atoms / 4 + kMoreAtoms;
  return static_cast<int>(std::min<int64_t>(int64_t{room} * expected, atoms));
}

RemoteRoom remote_room(const System& system, const RankPlan& plan, MessageRoom room) {
  RemoteRoom all;
  for (const int peer : plan.migrant_peers) {
    const MigrantRoom arriving =
        migrant_room(plan, peer, system.group_count(), system.atom_count(), room);
    all.arriving_groups += static_cast<size_t>(arriving.groups);
    all.arriving_atoms += static_cast<size_t>(arriving.atoms);
  }
  for (const Exchange& e : plan.receives)
    all.proxy_atoms += static_cast<size_t>(atom_room(e, system.atom_count(), room));
  return all;
}

ExchangeMemory::ExchangeMemory(SlotMemory& slots, const std::vector<char>& in_terms)
    : slots_(slots), make_(slots.device) {
  in_terms_ = make_.filled(std::vector<int8_t>(in_terms.begin(), in_terms.end()));
  tally_ = make_.zeros<int32_t>(2);
}

void ExchangeMemory::set_plan(const RankPlan& plan, std::vector<int32_t> owner, MessageRoom room) {
  room_ = room;
  peers_ = plan.migrant_peers;
  migrant_rooms_.clear();
  const System& system = slots_.system;
  for (const int peer : peers_)
    migrant_rooms_.push_back(
        migrant_room(plan, peer, system.group_count(), system.atom_count(), room));
  const std::set<int32_t> near(peers_.begin(), peers_.end());
  for (const int patch : plan.owned) owner[static_cast<size_t>(patch)] = kOwnPatch;
  for (int32_t& rank : owner)
    if (rank != kOwnPatch && !near.contains(rank)) rank = kFarPatch;
  make_.renew(owner_, owner);
  make_.renew(groups_, peers_.size());
  make_.renew(places_, peers_.size());
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

FindFarMigrants ExchangeMemory::find_far_migrants() const {
  return {slots_.bin_groups(), slots_.group_start(), owner_.data(), slots_.faults.data()};
}

SendMigrants ExchangeMemory::send_migrants(size_t peer, Outlet out) const {
  return {slots_.bin_groups(),
          slots_.velocity().data(),
          slots_.group_start(),
          owner_.data(),
          peers_[peer],
          migrant_rooms_[peer],
          out,
          tally_.data(),
          slots_.faults.data()};
}

ReceiveMigrants ExchangeMemory::receive_migrants(size_t peer, Inlet in) const {
  return {in,
          migrant_rooms_[peer],
          slots_.group_start(),
          peer ? groups_.data() + (peer - 1) : slots_.group_count.data(),
          peer ? places_.data() + (peer - 1) : slots_.owned_slots.data(),
          groups_.data() + peer,
          places_.data() + peer,
          static_cast<int>(slots_.room.groups),
          static_cast<int>(slots_.room.state_slots),
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
ReturnSums ExchangeMemory::return_sums(size_t exchange, int64_t* sums, Outlet out) const {
  return {receives_[exchange].view(), sums, out};
}
AddSums ExchangeMemory::add_sums(size_t exchange, int64_t* sums, Inlet in) const {
  return {sends_[exchange].view(), sums, in};
}
SendForces ExchangeMemory::send_forces(size_t exchange, Outlet out) const {
  return {receives_[exchange].view(), slots_.slots(), out};
}
ReceiveForces ExchangeMemory::receive_forces(size_t exchange, Inlet in) const {
  return {sends_[exchange].view(), slots_.slots(), in};
}

}  // namespace quiltmd
