// SPDX-License-Identifier: Apache-2.0
// Operations of three-body potentials. Every rank has all neighbours of the atoms of its computes, since it holds the
// full shell of their patches, and calculates all terms of which these atoms are the centre. So no sums go from rank
// to rank but forces.
#pragma once

#include "computes/three_body/forms.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "decomposition/operations.h"
#include "decomposition/slots.h"

namespace quiltmd {

// For every atom of a compute a row of its neighbours, by slot: list entries, whose codes are those of the full
// shell, in order of (code, slot).
struct NeighbourRows {
  int width;          // of a row
  int32_t* counts;    // by slot
  uint32_t* entries;  // (slots, width)

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "counts, entries", counts, entries);
  }
};

// From a patch's centre to that of a neighbour of the full shell.
QMD_HD Vec3d full_shift(const GridView& grid, int code) {
  return code < grid.codes ? grid.exact_shifts[code] : -grid.exact_shifts[code - grid.codes + 1];
}

struct FindNeighbours {
  static constexpr const char* kName = "find_neighbours";
  Slots slots;
  const PlacedPatch* patches;
  const ClusterBounds* bounds;
  GridView grid;
  const int32_t* computes;    // placed-patch index of each compute's patch
  const int32_t* neighbours;  // (computes, full codes): of the patches around it
  int count;
  float reach;
  NeighbourRows rows;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.atom, patches, bounds, grid, computes, neighbours);
    QMD_USES(kWrite, rows);
    QMD_USES(kNone, slots);
    Faults::reports(uses, faults);
  }
};

// Of the atoms of computes [first, first + count).
template <class Form>
struct ThreeBodyForces {
  static constexpr const char* kName = Form::kKernel;
  Slots slots;
  int slot_capacity;
  const PlacedPatch* patches;
  GridView grid;
  const int32_t* computes;
  int first, count;
  NeighbourRows rows;
  const int32_t* type_of_atom;
  const typename Form::Row* triplets;  // (types, types, types)
  int types;
  double cutoff;    // the longest
  int64_t* energy;  // null: forces only

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.low, slots.atom, patches, grid, computes, rows);
    QMD_USES(kRead, type_of_atom, triplets);
    QMD_USES(kAdd, slots.force, energy);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
