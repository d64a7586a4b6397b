// SPDX-License-Identifier: Apache-2.0
// What can go wrong in a step. Operations note it in device memory and go on; the host looks when an
// epoch has ended, so that no step waits for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/memory_use.h"
#include "math/macros.h"

namespace quiltmd {

// Messages whose size depends on where atoms are.
enum MessageKind : int32_t { kProxyMessage = 1, kMigrantMessage = 2 };

// The box after a barostat's step, the spread of atoms without a box, or a large hydrogen group needs another
// patch grid; or the box was scaled by the largest strain allowed.
enum BoxFault : int32_t { kPatchGridChange = 1, kStrainLimit = 2 };

// Rooms that may turn out too small and are then enlarged: ForceFamily::make_room.
enum Room { kListEntries, kInteriorLists, kBoundaryLists, kNeighboursOfAtom, kRooms };

// Faults found in steps; checked at the end of a block of steps. All zero: no faults.
struct Faults {
  int64_t violation_step;   // first step (plus 1) at which an atom moved beyond the Verlet buffer
  int64_t blowup_step;      // first step (plus 1) with a coordinate that is not a number or a
                            // displacement beyond half a patch
  int64_t constraint_step;  // first step (plus 1) at which constraints did not converge
  int32_t blowup_atom;      // internal indices
  int32_t constraint_atom;
  int32_t room_needed[kRooms];  // for what did not fit: the largest need of any rank
  int32_t share_overflow;       // 1: a rank owns many more atoms than it was assigned
  int32_t message_overflow;     // bits of MessageKind: a message had no room for all atoms
  int32_t box;                  // bits of BoxFault
  uint32_t damaged;             // the inlet of a message that is not as it was sent
  int32_t far_migrant;  // 1 + an atom whose group is in a patch of a rank that gets no migrants
  int32_t refused;      // a rebuild met one of these and left layout, lists and start alone

  // Memory use of an operation that reports faults unless the layout was refused: reports may come in any
  // order, and only a layout writes `refused`.
  static void reports(MemoryUses& uses, Faults* const& faults) {
    uses.note_part(Access::kAdd, "faults", faults, 0, offsetof(Faults, refused));
    uses.note_part(Access::kRead, "faults->refused", faults, offsetof(Faults, refused),
                   sizeof(int32_t));
  }
};

QMD_HD bool lacks_room(const Faults& faults) {
  for (const int32_t need : faults.room_needed)
    if (need) return true;
  return false;
}

// Whether the steps up to this one must be redone. An atom that moved beyond the Verlet buffer in the
// last of them did no harm: the next lists are built from where it is then.
QMD_HD bool must_be_redone(const Faults& faults, int64_t step) {
  return faults.blowup_step || faults.constraint_step || lacks_room(faults) ||
         faults.share_overflow || faults.message_overflow || faults.box || faults.damaged ||
         faults.far_migrant || (faults.violation_step && faults.violation_step < step);
}

// The earlier of two steps, where 0 means never.
QMD_HD int64_t earlier_step(int64_t a, int64_t b) { return a == 0 ? b : (b == 0 || a < b ? a : b); }

// The earlier of two events; of one step the lower atom.
QMD_HD void merge_event(int64_t& step, int32_t& atom, int64_t other_step, int32_t other_atom) {
  const bool earlier = other_step && (step == 0 || other_step < step);
  if (earlier || (other_step && other_step == step && other_atom < atom)) {
    step = other_step;
    atom = other_atom;
  }
}

// Add what another rank found; `refused` stays each rank's own.
QMD_HD void merge_faults(Faults& to, const Faults& from) {
  to.violation_step = earlier_step(to.violation_step, from.violation_step);
  merge_event(to.blowup_step, to.blowup_atom, from.blowup_step, from.blowup_atom);
  merge_event(to.constraint_step, to.constraint_atom, from.constraint_step, from.constraint_atom);
  for (int k = 0; k < kRooms; ++k)
    if (to.room_needed[k] < from.room_needed[k]) to.room_needed[k] = from.room_needed[k];
  to.share_overflow |= from.share_overflow;
  to.message_overflow |= from.message_overflow;
  to.box |= from.box;
  if (to.damaged < from.damaged) to.damaged = from.damaged;
  if (to.far_migrant < from.far_migrant) to.far_migrant = from.far_migrant;
}

}  // namespace quiltmd
