// SPDX-License-Identifier: Apache-2.0
// Where a hydrogen group belongs (its patch, its place on the Hilbert curve inside the patch, the
// centre from which its atoms are measured) and what its slots hold. The same on every kind of device.
#pragma once

#include "decomposition/hilbert.h"
#include "decomposition/open_box.h"
#include "decomposition/operations.h"
#include "math/split.h"
#include "system/system.h"

namespace quiltmd {

// Place of a coordinate along one dimension: image of the cell, patch, and offset in the patch.
struct Place {
  double image;
  int cell;
  uint32_t key;  // 0 .. 2^kHilbertBits - 1 across the patch
};

QMD_HD Place find_place(double fraction, int cells) {
  Place p;
  p.image = std::floor(fraction);
  double wrapped = fraction - p.image;
  // A tiny negative fraction rounds up to 1, which is the next image's 0.
  if (!(wrapped < 1.0)) {
    wrapped = 0;
    p.image += 1;
  }
  const double scaled = wrapped * cells;
  p.cell = static_cast<int>(scaled);
  if (p.cell > cells - 1) p.cell = cells - 1;
  constexpr int kSteps = 1 << kHilbertBits;
  int key = static_cast<int>((scaled - p.cell) * kSteps);
  key = key < 0 ? 0 : key;
  p.key = static_cast<uint32_t>(key < kSteps ? key : kSteps - 1);
  return p;
}

// Whether owned groups and slots are more than a rank has room for.
QMD_HD bool outgrows_share(const PlaceGroups& op, int groups, int slots) {
  return slots > op.owned_slots_room || groups > op.owned_groups_room;
}

QMD_HD GroupRecord make_record(const BinGroups& op, PlacedGroup placed) {
  const Box box = op.conditions->box;
  const Vec3d fraction = box.to_fraction(op.position[placed.slot]);
  const Int3 n = op.grid.cells;
  const Place x = find_place(fraction.x, n.x);
  const Place y = find_place(fraction.y, n.y);
  const Place z = find_place(fraction.z, n.z);
  GroupRecord record;
  record.patch = (x.cell * n.y + y.cell) * n.z + z.cell;
  record.key = hilbert_index(x.key, y.key, z.key, kHilbertBits);
  record.group = placed.group;
  record.source = placed.slot;
  record.origin = box.to_cartesian({x.image + (x.cell + 0.5) / n.x, y.image + (y.cell + 0.5) / n.y,
                                    z.image + (z.cell + 0.5) / n.z});
  return record;
}

// Groups are ordered by this inside a patch.
QMD_HD uint64_t order_key(uint32_t key, int32_t group) {
  return static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(group);
}

QMD_HD Int3 cell_of(int patch, Int3 cells) {
  return {patch / (cells.y * cells.z), patch / cells.z % cells.y, patch % cells.z};
}

QMD_HD int atoms_of(const AtomTable& table, int group) {
  return table.group_start[group + 1] - table.group_start[group];
}

// Returns the site.
QMD_HD Float4 place_atom(const PlaceGroups& op, const GroupRecord& record, int index_in_group,
                         int slot) {
  const Slots& s = op.slots;
  const int source = record.source + index_in_group;
  const int atom = op.table.group_start[record.group] + index_in_group;
  const Vec3d position = op.from_position[source];
  const Vec3d velocity = op.from_velocity[source];
  Float4 site, rest;
  split(position - record.origin, op.table.charge[atom], site, rest);
  s.position[slot] = position;
  s.reference[slot] = position;
  s.velocity[slot] = velocity;
  s.local[slot] = site;
  s.low[slot] = rest;
  s.pair_numbers[slot] = op.table.pair_numbers[atom];
  s.atom[slot] = atom;
  op.start.position[slot] = position;
  op.start.velocity[slot] = velocity;
  op.slot_of_atom[atom] = slot;
  return site;
}

// Empty slots interact with nothing: no charge, no Lennard-Jones, and far from every atom and from
// the empty slots of other patches.
QMD_HD void place_padding(const PlaceGroups& op, int patch, int slot) {
  const Slots& s = op.slots;
  const float far_off = kFarAway * static_cast<float>(patch + 1);
  s.position[slot] = s.reference[slot] = s.velocity[slot] = {0, 0, 0};
  s.local[slot] = {far_off, far_off, far_off, 0};
  s.low[slot] = {0, 0, 0, 0};
  s.pair_numbers[slot] = {0, 0};
  s.atom[slot] = -1;
  op.start.position[slot] = op.start.velocity[slot] = {0, 0, 0};
}

QMD_HD void shift_patch(const ShiftPatches& op, int code) {
  const Vec3d shift = patch_shift(op.conditions->box, op.cells, op.offsets[code]);
  op.exact_shifts[code] = shift;
  op.shifts[code] = {static_cast<float>(shift.x), static_cast<float>(shift.y),
                     static_cast<float>(shift.z)};
}

QMD_HD void check_patches(const CheckPatches& op) {
  const Box box = op.conditions->box;
  const double change[3] = {box.ax / op.before->ax, box.by / op.before->by, box.cz / op.before->cz};
  for (const double along : change)
    if (!(along < 1 + 0.99 * kLargestStrain && along > 1 - 0.99 * kLargestStrain))
      op.faults->box |= kStrainLimit;
  if (!op.rule.serves(box) || op.rule.cells(box, op.cells) != op.cells)
    op.faults->box |= kPatchGridChange;
}

// Whether atoms of a placed group are farther from its first one than `room` (nm).
QMD_HD bool extends_beyond(const CheckExtents& op, int index, double room) {
  const PlacedGroup group = op.placed[index];
  const int atoms = op.group_start[group.group + 1] - op.group_start[group.group];
  if (atoms <= kSmallGroupSize) return false;
  bool beyond = false;
  for (int i = 1; i < atoms; ++i) {
    const Vec3d apart = op.position[group.slot + i] - op.position[group.slot];
    beyond = beyond || dot(apart, apart) > room * room;
  }
  return beyond;
}

// Largest number of consecutive layers, around the boundary, that contain all atoms.
QMD_HD int layers_in_use(const int32_t* used, int cells) {
  int longest = 0, empty = 0;
  for (int k = 0; k < 2 * cells; ++k) {
    empty = used[k % cells] ? 0 : empty + 1;
    if (empty > longest) longest = empty;
  }
  return longest < cells ? cells - longest : 0;
}

QMD_HD void note_spread(const CheckSpread& op) {
  const int32_t* used = op.layers;
  for (int d = 0; d < 3; ++d) {
    if (layers_in_use(used, op.cells[d]) > most_layers(op.cells[d]))
      op.faults->box |= kPatchGridChange;
    used += op.cells[d];
  }
}

}  // namespace quiltmd
