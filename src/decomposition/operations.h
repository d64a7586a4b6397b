// SPDX-License-Identifier: Apache-2.0
// Operations that lay a rank's atoms out: which patch each hydrogen group is in, the canonical
// order, the slots, and cluster bounds. They run when pair lists are rebuilt. Two more follow a box that
// a barostat has changed.
#pragma once

#include "decomposition/conditions.h"
#include "decomposition/faults.h"
#include "decomposition/patch_grid.h"
#include "decomposition/slots.h"

namespace quiltmd {

// A hydrogen group on its way to its place.
struct GroupRecord {
  int32_t patch;  // global index of the patch that its first atom is in
  uint32_t key;   // Hilbert index inside the patch
  int32_t group;
  int32_t source;  // slot of its first atom in the source arrays
  Vec3d origin;    // centre of the patch, moved by the image that the group is in
};

// From what the records of placed groups are made: a group's patch, key and origin follow from the
// position of its first atom.
// The Hilbert index has kHilbertBits bits per dimension over the patch.
inline constexpr int kHilbertBits = 5;
struct BinGroups {
  const PlacedGroup* placed;
  const int32_t* count;  // groups on the rank
  int capacity;
  const Vec3d* position;
  const Conditions* conditions;
  GridView grid;
  GroupRecord* records;
};

// Bounding box of a cluster in its patch's coordinates.
struct ClusterBounds {
  Vec3f centre, half;
};

// Numbers that continue from step to step besides the atoms: the heat of the rank, and the variables of the
// step plan (integrators/step_plan.h), which are the same on all ranks.
struct RunNumbers {
  int64_t* heat;
  double* variables;
  int variable_count;

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "heat, variables", extent(heat, 1), extent(variables, variable_count));
  }
};

QMD_HD void copy_numbers(const RunNumbers& from, const RunNumbers& to) {
  *to.heat = *from.heat;
  for (int k = 0; k < from.variable_count; ++k) to.variables[k] = from.variables[k];
}

// Copies of what an epoch starts from, should it have to be redone: the state by slot, and the numbers.
struct EpochStart {
  Vec3d *position, *velocity;
  RunNumbers numbers;

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "position, velocity, numbers", position, velocity, numbers);
  }
};

// Lay the groups out: sort their records by (patch, key, group), lay out the owned patches (starts
// padded to whole clusters), move the state of every group to its slots and write everything else
// that slots hold. Padding gets atom -1 and local coordinates kFarAway; `slot_of_atom` is written for
// owned atoms, `bounds` for owned clusters.
//
// A rebuild may be under way before the host knows how the steps before it ended. When they must
// be redone it is refused: this operation and those that build upon it do nothing.
struct PlaceGroups {
  static constexpr const char* kName = "place_groups";
  BinGroups bin;
  AtomTable table;
  const int32_t* owned;  // global indices of the owned patches, ascending
  int owned_count;
  const int32_t* owned_index;  // by global index: position in `owned`, -1 elsewhere
  PlacedPatch* patches;
  int slot_capacity;
  int owned_slots_room, owned_groups_room;  // beyond which patches are assigned again
  int32_t* slot_count;                      // slots of the owned patches, padding included
  int32_t* group_count;                     // groups of the owned patches; null: all groups stay
  int64_t* tally;                           // (patches of the grid): zero; a GPU counts groups here
  int64_t* next_tally;         // (patches of the grid): a GPU clears it for the next time
  const Vec3d* from_position;  // by source slot
  const Vec3d* from_velocity;
  Slots slots;
  PlacedGroup* placed;
  Vec3d* origin;          // by placed group
  int32_t* slot_of_atom;  // by internal index
  ClusterBounds* bounds;
  const int64_t* step;  // steps made so far
  RunNumbers numbers;
  EpochStart start;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, bin.placed, bin.count, bin.position, bin.conditions, bin.grid);
    QMD_USES(kRead, table, owned, owned_index);
    QMD_USES(kReadWrite, bin.records, tally);
    QMD_USES(kRead, from_position, from_velocity, extent(step, 1), numbers);
    QMD_USES(kReadWrite, slots.position, slots.velocity, slots.reference, slots.local, slots.low);
    QMD_USES(kReadWrite, slots.pair_numbers, slots.atom, slots.patch, patches, placed, origin,
             bounds);
    QMD_USES(kWrite, slot_count, group_count, next_tally, slot_of_atom, start);
    QMD_USES(kReadWrite, faults);
    QMD_USES(kNone, slots);
  }
};

// Bounds of all clusters, proxies included.
struct BoundClusters {
  static constexpr const char* kName = "bound_clusters";
  Slots slots;
  const int32_t* slot_count;  // slots in use, proxies included
  int slot_capacity;
  ClusterBounds* bounds;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.atom, slot_count);
    QMD_USES(kWrite, bounds);
    QMD_USES(kNone, slots);
  }
};

// The vectors between patches follow the box of the conditions.
struct ShiftPatches {
  static constexpr const char* kName = "shift_patches";
  const Conditions* conditions;
  Int3 cells;
  const Int3* offsets;  // by code
  int codes;
  Vec3f* shifts;  // as in GridView
  Vec3d* exact_shifts;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, conditions, extent(offsets, codes));
    QMD_USES(kWrite, extent(shifts, codes), extent(exact_shifts, codes));
  }
};

// Whether the patches still suit the box of the conditions. If not, or if a barostat has changed the box
// as far as it may, that is a fault; found after the atoms are laid out, it ends the epoch at its start.
struct CheckPatches {
  static constexpr const char* kName = "check_patches";
  const Conditions* conditions;
  const Box* before;
  PatchRule rule;
  Int3 cells;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, conditions, extent(before, 1));
    uses.note_part(Access::kAdd, "faults->box", faults, offsetof(Faults, box), sizeof(int32_t));
  }
};

// Whether atoms without a periodic box, and the places where restraints hold them, are still in few enough
// layers of patches (open_box.h); if not,
// that is a fault, found as by CheckPatches. On a rank that holds all patches.
struct CheckSpread {
  static constexpr const char* kName = "check_spread";
  const PlacedPatch* patches;
  int count;
  Int3 cells;
  const int32_t* places;  // (sum of cells): layers_with_places()
  int32_t* layers;        // likewise: which of them have atoms or places
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, places, extent(patches, count));
    QMD_USES(kWrite, layers);
    uses.note_part(Access::kAdd, "faults->box", faults, offsetof(Faults, box), sizeof(int32_t));
  }
};

// Whether the patches have room for large hydrogen groups as far as they extend; if not, that is a fault, found
// as by CheckPatches.
struct CheckExtents {
  static constexpr const char* kName = "check_extents";
  const PlacedGroup* placed;
  const int32_t* count;
  int capacity;
  const int32_t* group_start;  // as in AtomTable
  const Vec3d* position;
  const Conditions* conditions;
  PatchRule rule;
  Int3 cells;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, placed, extent(count, 1), group_start, position, conditions);
    uses.note_part(Access::kAdd, "faults->box", faults, offsetof(Faults, box), sizeof(int32_t));
  }
};

}  // namespace quiltmd
