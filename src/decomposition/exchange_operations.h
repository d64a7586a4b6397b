// SPDX-License-Identifier: Apache-2.0
// Operations by which ranks exchange atoms. When lists are rebuilt: hydrogen groups that have moved to
// a patch of another rank (migrants), and what a rank must know of another's patches to hold proxies
// of them. In every step: positions of proxies, and the forces on them. Each operation is one rank's
// part of one message to or from one other rank; device/message.h says what a message is.
#pragma once

#include "decomposition/operations.h"
#include "device/message.h"

namespace quiltmd {

// ---- Migrants ------------------------------------------------------------------------------

// A message of migrants: a word with the numbers of groups and atoms; from word 1 on a word for each
// group (group, its first atom in the message); from word 1 + groups on four words for each atom
// (position and velocity). Room for this number:
struct MigrantRoom {
  int groups, atoms;
  QMD_HD int64_t words() const { return 1 + groups + int64_t{4} * atoms; }
};

// In place of the ranks of patches: this one, and those that get no migrants from it.
inline constexpr int32_t kOwnPatch = -1, kFarPatch = -2;

// Groups whose patch is owned by a rank that gets no migrants from this one are a fault.
struct FindFarMigrants {
  static constexpr const char* kName = "find_far_migrants";
  BinGroups bin;  // as in SendMigrants
  const int32_t* group_start;
  const int32_t* owner;  // rank of each patch
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, bin.placed, bin.count, bin.position, bin.conditions, bin.grid);
    QMD_USES(kRead, group_start, owner);
    QMD_USES(kNone, bin.records);
    Faults::reports(uses, faults);
  }
};

// Write the groups whose patch another rank owns. They stay where they are; PlaceGroups leaves them
// out. What does not fit is a fault, and lost.
struct SendMigrants {
  static constexpr const char* kName = "send_migrants";
  BinGroups bin;  // of the groups where they lie; makes no records
  const Vec3d* velocity;
  const int32_t* group_start;
  const int32_t* owner;  // rank of each patch
  int to;
  MigrantRoom room;
  Outlet out;
  int32_t* tally;  // {groups, atoms}: zero before and after
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, bin.placed, bin.count, bin.position, bin.conditions, bin.grid);
    QMD_USES(kRead, velocity, group_start, owner);
    QMD_USES(kNone, bin.records);
    QMD_USES(kWrite, out);
    QMD_USES(kReadWrite, extent(tally, 2));
    Faults::reports(uses, faults);
  }
};

// Append the groups that arrive to those that are there: their numbers before and after. Numbers that
// are not as they were sent are a fault.
struct ReceiveMigrants {
  static constexpr const char* kName = "receive_migrants";
  Inlet in;
  MigrantRoom room;
  const int32_t* group_start;
  const int32_t *groups_before, *slots_before;
  int32_t *groups_after, *slots_after;
  int group_capacity, slot_capacity;
  PlacedGroup* placed;
  Vec3d *position, *velocity;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, in, group_start, extent(groups_before, 1), extent(slots_before, 1));
    QMD_USES(kWrite, extent(groups_after, 1), extent(slots_after, 1));
    QMD_USES(kReadWrite, placed, position, velocity);
    Faults::reports(uses, faults);
  }
};

// Before groups are placed: forget the slots of all atoms. Does nothing where the layout is refused.
struct ClearSlotOfAtom {
  static constexpr const char* kName = "clear_slot_of_atom";
  const int32_t* atom;  // by slot
  const int32_t* slot_count;
  int slot_capacity;
  int32_t* slot_of_atom;
  const int64_t* step;
  const Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, atom, slot_count, extent(step, 1), faults);
    QMD_USES(kWrite, slot_of_atom);
  }
};

// ---- Proxies -------------------------------------------------------------------------------

// The patches of an exchange, as placed patches of the rank, and what becomes known of them in a
// rebuild: which slot is which atom of the messages of each step.
struct PatchExchange {
  const int32_t* patches;  // indices of placed patches, in the order of both ranks' lists
  int count;
  uint32_t* slot_of;    // by atom of the message: its slot, and kSendsLow where it sends `low`, too
  int32_t* atom_count;  // atoms of a message
  int atom_room;

  // A word for each patch (its atoms), then three for each atom (number, local, low).
  QMD_HD int64_t proxy_words() const { return count + int64_t{3} * atom_room; }
  // Positions: a word for each atom, then one where `low` is sent. Forces: two for each atom.
  QMD_HD int64_t step_words() const { return int64_t{2} * atom_room; }

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "patches, slot_of, atom_count", patches, slot_of, atom_count);
  }
};
inline constexpr uint32_t kSendsLow = 0x80000000u;

struct SendProxies {
  static constexpr const char* kName = "send_proxies";
  PatchExchange exchange;
  Slots slots;
  const PlacedPatch* patches;
  const int8_t* in_terms;  // by atom: a bonded term reads its position
  Outlet out;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.patches, slots.local, slots.low, slots.atom, patches, in_terms);
    QMD_USES(kWrite, exchange.slot_of, exchange.atom_count, out);
    QMD_USES(kNone, slots);
    Faults::reports(uses, faults);
  }
};

// The numbers of atoms of the proxies from one rank.
struct ReceiveCounts {
  static constexpr const char* kName = "receive_counts";
  PatchExchange exchange;
  const int32_t* numbers;  // of the exchange's patches in the grid
  Int3 cells;
  Inlet in;
  PlacedPatch* patches;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.patches, numbers, in);
    QMD_USES(kNone, exchange.slot_of, exchange.atom_count);
    QMD_USES(kReadWrite, patches);
    Faults::reports(uses, faults);
  }
};

// Once all numbers are known: slots of the proxies, behind those of the owned patches.
struct LayOutProxies {
  static constexpr const char* kName = "lay_out_proxies";
  PlacedPatch* patches;
  int owned_count, proxy_count;
  const int32_t* owned_slots;
  int32_t* all_slots;
  int slot_capacity;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, owned_slots);
    QMD_USES(kReadWrite, patches);
    QMD_USES(kWrite, all_slots);
    Faults::reports(uses, faults);
  }
};

struct ReceiveProxies {
  static constexpr const char* kName = "receive_proxies";
  PatchExchange exchange;
  Inlet in;
  const PlacedPatch* patches;
  AtomTable table;
  const int8_t* in_terms;
  Slots slots;
  int32_t* slot_of_atom;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.patches, in, patches, table, in_terms);
    QMD_USES(kWrite, exchange.slot_of, exchange.atom_count, slot_of_atom);
    QMD_USES(kWrite, slots.local, slots.low, slots.pair_numbers, slots.atom, slots.patch);
    QMD_USES(kNone, slots);
    Faults::reports(uses, faults);
  }
};

// ---- Steps ---------------------------------------------------------------------------------

struct SendPositions {
  static constexpr const char* kName = "send_positions";
  PatchExchange exchange;
  Slots slots;
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count, slots.local, slots.low);
    QMD_USES(kNone, exchange.patches, slots);
    QMD_USES(kWrite, out);
  }
};

// Positions of proxies. What reads owned patches alone need not wait for them; a test of the schedule
// sees to it that all else does.
struct ReceivePositions {
  static constexpr const char* kName = "receive_positions";
  PatchExchange exchange;
  Slots slots;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count, in);
    QMD_USES(kDisjoint, slots.local, slots.low);
    QMD_USES(kNone, exchange.patches, slots);
  }
};

// A number for each atom, which the owner has found.
struct SendValues {
  static constexpr const char* kName = "send_values";
  PatchExchange exchange;
  const float* values;  // by slot
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count, values);
    QMD_USES(kNone, exchange.patches);
    QMD_USES(kWrite, out);
  }
};

struct ReceiveValues {
  static constexpr const char* kName = "receive_values";
  PatchExchange exchange;
  float* values;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count, in);
    QMD_USES(kNone, exchange.patches);
    QMD_USES(kDisjoint, values);
  }
};

// Sends the sums that this rank has added for each proxy, and sets them to zero.
struct ReturnSums {
  static constexpr const char* kName = "return_sums";
  PatchExchange exchange;
  int64_t* sums;  // by slot
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count);
    QMD_USES(kNone, exchange.patches);
    QMD_USES(kAdd, sums);  // of proxies, which no other work touches then
    QMD_USES(kWrite, out);
  }
};

// Adds the sums of another rank to those of owned atoms.
struct AddSums {
  static constexpr const char* kName = "add_sums";
  PatchExchange exchange;
  int64_t* sums;  // by slot
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count, in);
    QMD_USES(kNone, exchange.patches);
    QMD_USES(kAdd, sums);
  }
};

// The forces on proxies, whose accumulators are left clear.
struct SendForces {
  static constexpr const char* kName = "send_forces";
  PatchExchange exchange;
  Slots slots;
  Outlet out;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count);
    QMD_USES(kNone, exchange.patches, slots);
    QMD_USES(kAdd, slots.force);  // of proxies, which no other work touches then
    QMD_USES(kWrite, out);
  }
};

// The forces on owned atoms that another rank has computed, added to the accumulators.
struct ReceiveForces {
  static constexpr const char* kName = "receive_forces";
  PatchExchange exchange;
  Slots slots;
  Inlet in;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, exchange.slot_of, exchange.atom_count, in);
    QMD_USES(kNone, exchange.patches, slots);
    QMD_USES(kAdd, slots.force);
  }
};

}  // namespace quiltmd
