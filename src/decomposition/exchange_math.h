// SPDX-License-Identifier: Apache-2.0
// What goes into the words of the messages of exchange_operations.h and comes out of them, one atom or
// group at a time. `Words` is how a kind of device writes and reads words (HostWords, DeviceWords).
#pragma once

#include "decomposition/exchange_operations.h"
#include "decomposition/layout_math.h"

namespace quiltmd {

// Whether a word came as it was sent; a fault where not.
QMD_HD bool is_whole(const MessageWord& word, const Inlet& in, Faults& faults) {
  if (is_damaged(word)) faults.damaged = in.name;
  return !is_damaged(word);
}

// ---- Migrants ------------------------------------------------------------------------------

QMD_HD int64_t migrant_group_word(int index) { return 1 + index; }
QMD_HD int64_t migrant_atom_word(const MigrantRoom& room, int index) {
  return 1 + room.groups + int64_t{4} * index;
}

// 1 + the first atom of a group that is far away; 0 of others.
QMD_HD int32_t far_migrant(const FindFarMigrants& op, const PlacedGroup& group) {
  const bool is_far = op.owner[make_record(op.bin, group).patch] == kFarPatch;
  return is_far ? op.group_start[group.group] + 1 : 0;
}

template <class Words>
QMD_HD void write_migrant_atom(MessageWord* to, uint32_t number, const Vec3d& x, const Vec3d& v) {
  const double values[6] = {x.x, x.y, x.z, v.x, v.y, v.z};
  uint32_t half[12];
  for (int k = 0; k < 6; ++k) {
    const uint64_t bits = long_bits_of(values[k]);
    half[2 * k] = static_cast<uint32_t>(bits);
    half[2 * k + 1] = static_cast<uint32_t>(bits >> 32);
  }
  for (int w = 0; w < 4; ++w)
    Words::put(to + w, number, half[3 * w], half[3 * w + 1], half[3 * w + 2]);
}

template <class Words>
QMD_HD void read_migrant_atom(const Inlet& in, const MessageWord* from, uint32_t number, Vec3d& x,
                              Vec3d& v) {
  uint32_t half[12];
  for (int w = 0; w < 4; ++w) {
    const MessageWord word = Words::take(in, from + w, number);
    for (int k = 0; k < 3; ++k) half[3 * w + k] = word.value[k];
  }
  x = {double_of(half[0], half[1]), double_of(half[2], half[3]), double_of(half[4], half[5])};
  v = {double_of(half[6], half[7]), double_of(half[8], half[9]), double_of(half[10], half[11])};
}

// A group, its first atom `first_atom` of the message.
template <class Words>
QMD_HD void write_migrant(const SendMigrants& op, MessageWord* out, uint32_t number,
                          PlacedGroup group, int index, int first_atom) {
  const int atoms = op.group_start[group.group + 1] - op.group_start[group.group];
  const auto which = static_cast<uint32_t>(group.group), first = static_cast<uint32_t>(first_atom);
  Words::put(out + migrant_group_word(index), number, which, first, check_of(which, first));
  for (int a = 0; a < atoms; ++a)
    write_migrant_atom<Words>(out + migrant_atom_word(op.room, first_atom + a), number,
                              op.bin.position[group.slot + a], op.velocity[group.slot + a]);
}

struct Migrants {
  int groups, atoms;
};

template <class Words>
QMD_HD void write_migrant_count(MessageWord* out, uint32_t number, const Migrants& sent) {
  const auto groups = static_cast<uint32_t>(sent.groups), atoms = static_cast<uint32_t>(sent.atoms);
  Words::put(out, number, groups, atoms, check_of(groups, atoms));
}

// Number of values in a message; 0 if unknown.
template <class Words>
QMD_HD Migrants read_migrant_count(const ReceiveMigrants& op, const MessageWord* in,
                                   uint32_t number) {
  const MessageWord word = Words::take(op.in, in, number);
  if (!is_whole(word, op.in, *op.faults)) return {0, 0};
  return {static_cast<int>(word.value[0]), static_cast<int>(word.value[1])};
}

// The places of group `index` of the message; those for which there is no room are left out.
template <class Words>
QMD_HD void read_migrant(const ReceiveMigrants& op, const MessageWord* in, uint32_t number,
                         int index) {
  const MessageWord word = Words::take(op.in, in + migrant_group_word(index), number);
  if (!is_whole(word, op.in, *op.faults)) return;
  const int group = static_cast<int>(word.value[0]), first = static_cast<int>(word.value[1]);
  const int atoms = op.group_start[group + 1] - op.group_start[group];
  const int slot = *op.slots_before + first, place = *op.groups_before + index;
  if (place >= op.group_capacity || slot + atoms > op.slot_capacity) return;
  op.placed[place] = {slot, group};
  for (int a = 0; a < atoms; ++a)
    read_migrant_atom<Words>(op.in, in + migrant_atom_word(op.room, first + a), number,
                             op.position[slot + a], op.velocity[slot + a]);
}

// Counts after all migrants have been appended.
QMD_HD void count_migrants(const ReceiveMigrants& op, const Migrants& arrived) {
  const int groups = *op.groups_before + arrived.groups;
  const int slots = *op.slots_before + arrived.atoms;
  const bool fits = groups <= op.group_capacity && slots <= op.slot_capacity;
  if (!fits) op.faults->message_overflow |= kMigrantMessage;
  *op.groups_after = fits ? groups : *op.groups_before;
  *op.slots_after = fits ? slots : *op.slots_before;
}

// ---- Proxies -------------------------------------------------------------------------------

template <class Words>
QMD_HD void write_proxy_count(MessageWord* out, uint32_t number, int k, int atoms) {
  const auto count = static_cast<uint32_t>(atoms);
  Words::put(out + k, number, count, 0, check_of(count, 0));
}

// Patch `k` of an exchange, of which `word` tells the atoms; it has no slots yet.
QMD_HD PlacedPatch proxy_patch(const ReceiveCounts& op, int k, const MessageWord& word) {
  const bool known = is_whole(word, op.in, *op.faults);
  const int atoms = known ? static_cast<int>(word.value[0]) : 0;
  return {op.numbers[k], 0, atoms, 0, 0, cell_of(op.numbers[k], op.cells)};
}

// Contents of a padding slot of a proxy, as place_padding() for owned patches.
QMD_HD void place_proxy_padding(const Slots& s, int patch, int slot) {
  const float far_off = kFarAway * static_cast<float>(patch + 1);
  s.local[slot] = {far_off, far_off, far_off, 0};
  s.low[slot] = {0, 0, 0, 0};
  s.pair_numbers[slot] = {0, 0};
  s.atom[slot] = -1;
}

QMD_HD uint32_t message_slot(int slot, bool sends_low) {
  return static_cast<uint32_t>(slot) | (sends_low ? kSendsLow : 0u);
}
QMD_HD int slot_in(uint32_t message_slot) { return static_cast<int>(message_slot & ~kSendsLow); }

// Atom `index` of the message, in `slot`.
template <class Words>
QMD_HD void write_proxy(const SendProxies& op, MessageWord* out, uint32_t number, int index,
                        int slot) {
  const Float4 site = op.slots.local[slot], low = op.slots.low[slot];
  const int32_t atom = op.slots.atom[slot];
  const auto which = static_cast<uint32_t>(atom);
  MessageWord* const to = out + op.exchange.count + int64_t{3} * index;
  Words::put(to, number, bits_of(site.x), bits_of(site.y), bits_of(site.z));
  Words::put(to + 1, number, bits_of(low.x), bits_of(low.y), bits_of(low.z));
  Words::put(to + 2, number, which, 0, check_of(which, 0));
  op.exchange.slot_of[index] = message_slot(slot, op.in_terms[atom]);
}

template <class Words>
QMD_HD void read_proxy(const ReceiveProxies& op, const MessageWord* in, uint32_t number, int index,
                       int slot, int patch) {
  const MessageWord* const from = in + op.exchange.count + int64_t{3} * index;
  const MessageWord site = Words::take(op.in, from, number);
  const MessageWord low = Words::take(op.in, from + 1, number);
  const MessageWord which = Words::take(op.in, from + 2, number);
  op.exchange.slot_of[index] = message_slot(slot, false);
  if (!is_whole(which, op.in, *op.faults)) return place_proxy_padding(op.slots, patch, slot);
  const auto atom = static_cast<int32_t>(which.value[0]);
  const Slots& s = op.slots;
  s.local[slot] = {float_of(site.value[0]), float_of(site.value[1]), float_of(site.value[2]),
                   op.table.charge[atom]};
  s.low[slot] = {float_of(low.value[0]), float_of(low.value[1]), float_of(low.value[2]), 0};
  s.pair_numbers[slot] = op.table.pair_numbers[atom];
  s.atom[slot] = atom;
  op.slot_of_atom[atom] = slot;
  op.exchange.slot_of[index] = message_slot(slot, op.in_terms[atom]);
}

// ---- Steps ---------------------------------------------------------------------------------

template <class Words>
QMD_HD void write_position(const SendPositions& op, MessageWord* out, uint32_t number, int index) {
  const uint32_t code = op.exchange.slot_of[index];
  const Float4 site = op.slots.local[slot_in(code)];
  Words::put(out + index, number, bits_of(site.x), bits_of(site.y), bits_of(site.z));
  if (!(code & kSendsLow)) return;
  const Float4 low = op.slots.low[slot_in(code)];
  Words::put(out + op.exchange.atom_room + index, number, bits_of(low.x), bits_of(low.y),
             bits_of(low.z));
}

template <class Words>
QMD_HD void read_position(const ReceivePositions& op, const MessageWord* in, uint32_t number,
                          int index) {
  const uint32_t code = op.exchange.slot_of[index];
  const MessageWord site = Words::take(op.in, in + index, number);
  Float4& local = op.slots.local[slot_in(code)];
  local = {float_of(site.value[0]), float_of(site.value[1]), float_of(site.value[2]), local.w};
  if (!(code & kSendsLow)) return;
  const MessageWord low = Words::take(op.in, in + op.exchange.atom_room + index, number);
  op.slots.low[slot_in(code)] = {float_of(low.value[0]), float_of(low.value[1]),
                                 float_of(low.value[2]), 0};
}

template <class Words>
QMD_HD void write_value(const SendValues& op, MessageWord* out, uint32_t number, int index) {
  const int slot = slot_in(op.exchange.slot_of[index]);
  Words::put(out + index, number, bits_of(op.values[slot]), 0, 0);
}

template <class Words>
QMD_HD void read_value(const ReceiveValues& op, const MessageWord* in, uint32_t number, int index) {
  const MessageWord word = Words::take(op.in, in + index, number);
  op.values[slot_in(op.exchange.slot_of[index])] = float_of(word.value[0]);
}

// A 64-bit integer from its halves.
QMD_HD int64_t whole_of(uint32_t low, uint32_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(high) << 32 | low);
}

template <class Words>
QMD_HD void write_returned(const ReturnSums& op, MessageWord* out, uint32_t number, int index) {
  int64_t& sum = op.sums[slot_in(op.exchange.slot_of[index])];
  const auto bits = static_cast<uint64_t>(sum);
  Words::put(out + index, number, static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32),
             0);
  sum = 0;
}

template <class Words>
QMD_HD int64_t read_returned(const AddSums& op, const MessageWord* in, uint32_t number, int index) {
  const MessageWord word = Words::take(op.in, in + index, number);
  return whole_of(word.value[0], word.value[1]);
}

template <class Words>
QMD_HD void write_force(const SendForces& op, MessageWord* out, uint32_t number, int index) {
  const int slot = slot_in(op.exchange.slot_of[index]);
  uint32_t half[6];
  for (int d = 0; d < 3; ++d) {
    const uint64_t bits = long_bits_of(op.slots.force[d][slot]);
    half[2 * d] = static_cast<uint32_t>(bits);
    half[2 * d + 1] = static_cast<uint32_t>(bits >> 32);
    op.slots.force[d][slot] = 0;
  }
  Words::put(out + index, number, half[0], half[1], half[2]);
  Words::put(out + op.exchange.atom_room + index, number, half[3], half[4], half[5]);
}

// The force on an atom of the message, fixed point.
struct ForceParts {
  int64_t along[3];
};
template <class Words>
QMD_HD ForceParts read_force(const ReceiveForces& op, const MessageWord* in, uint32_t number,
                             int index) {
  const MessageWord a = Words::take(op.in, in + index, number);
  const MessageWord b = Words::take(op.in, in + op.exchange.atom_room + index, number);
  return {{whole_of(a.value[0], a.value[1]), whole_of(a.value[2], b.value[0]),
           whole_of(b.value[1], b.value[2])}};
}

}  // namespace quiltmd
