// SPDX-License-Identifier: Apache-2.0
// Where a bonded term is computed: the patches of its atoms as seen from its base patch. Written
// once, for hosts and GPUs; runs when lists are built.
#pragma once

#include "computes/bonded/operations.h"

namespace quiltmd {

// The code of an offset, -1 where one of its components is negative or beyond the reach. The half shell lists offsets
// in lexicographic order from (0, 0, 0) on, so the code is the distance in that order.
QMD_HD int forward_code(Int3 offset, Int3 patch_reach) {
  for (int d = 0; d < 3; ++d)
    if (offset[d] < 0 || offset[d] > patch_reach[d]) return -1;
  return (offset.x * (2 * patch_reach.y + 1) + offset.y) * (2 * patch_reach.z + 1) + offset.z;
}

enum class Found { kHere, kElsewhere, kTooWide };

class TermPlacer {
 public:
  QMD_HD explicit TermPlacer(const PlaceTerms& op) : op_(op) {}

  // Write the entries of the atoms of term number `term` and its row to `placed`, if its compute is
  // here. The atoms are looked up side by side: a GPU would wait for one after another.
  template <class Form>
  QMD_HD Found place(const TermTable& table, int32_t term, uint32_t* placed) const {
    constexpr int kAtoms = Form::kAtoms;
    const int32_t* atoms = table.atoms + static_cast<ptrdiff_t>(term) * kAtoms;
    int32_t slot[kAtoms];
    bool here = true;
    for (int k = 0; k < kAtoms; ++k) {
      slot[k] = op_.slot_of_atom[atoms[k]];
      here &= slot[k] >= 0;
    }
    if (!here) return Found::kElsewhere;
    Int3 cell[kAtoms], offset[kAtoms], lowest{0, 0, 0};
    Float4 local[kAtoms];
    for (int k = 0; k < kAtoms; ++k) {
      cell[k] = op_.patches[op_.slots.patch[slot[k] / kClusterSize]].cell;
      local[k] = op_.slots.local[slot[k]];
    }
    for (int k = 0; k < kAtoms; ++k) {
      offset[k] = offset_between(cell[0], local[0], cell[k], local[k]);
      if constexpr (kApart<Form>) offset[k] = within_reach(offset[k]);
      for (int d = 0; d < 3; ++d) lowest[d] = offset[k][d] < lowest[d] ? offset[k][d] : lowest[d];
    }
    if (!op_.computed_here[neighbour(cell[0], lowest)]) return Found::kElsewhere;
    placed[kAtoms] = table.row[term];
    bool reached = true;
    for (int k = 0; k < kAtoms; ++k) {
      const int code = forward_code(from_base(offset[k], lowest), op_.grid.patch_reach);
      reached &= code >= 0;
      placed[k] = static_cast<uint32_t>(slot[k]) | static_cast<uint32_t>(code) << kSlotBits;
    }
    return reached ? Found::kHere : Found::kTooWide;
  }

 private:
  QMD_HD int neighbour(Int3 cell, Int3 offset) const {
    int index = 0;
    for (int d = 0; d < 3; ++d) {
      const int cells = op_.grid.cells[d];
      int at = cell[d] + offset[d];  // offsets are small: no division
      while (at < 0) at += cells;
      index = index * cells + at;
    }
    return index;
  }

  // Offset in patches from one atom's patch to the nearest image of the other's. Atoms have just been
  // put into their patches, so the other image is at most one box away.
  QMD_HD Int3 offset_between(Int3 from, Float4 first, Int3 to, Float4 other) const {
    const Vec3d f = op_.conditions->box.to_fraction({static_cast<double>(other.x) - first.x,
                                                     static_cast<double>(other.y) - first.y,
                                                     static_cast<double>(other.z) - first.z});
    Int3 offset{};
    for (int d = 0; d < 3; ++d) {
      const int cells = op_.grid.cells[d];
      const double twice = 2 * (to[d] - from[d] + f[d] * cells);
      offset[d] = to[d] - from[d] - (twice >= cells ? cells : twice < -cells ? -cells : 0);
    }
    return offset;
  }

  // Beyond the reach, the image that is a box nearer: of a term that spans more than half the box.
  QMD_HD Int3 from_base(Int3 offset, Int3 lowest) const {
    for (int d = 0; d < 3; ++d) {
      offset[d] -= lowest[d];
      if (offset[d] > op_.grid.patch_reach[d]) offset[d] -= op_.grid.cells[d];
    }
    return offset;
  }

  // If two images are half a box away, the nearer one may be in a patch that is too far, because groups
  // extend beyond their patches; then the other image is used.
  QMD_HD Int3 within_reach(Int3 offset) const {
    for (int d = 0; d < 3; ++d) {
      if (offset[d] > op_.grid.patch_reach[d]) offset[d] -= op_.grid.cells[d];
      if (offset[d] < -op_.grid.patch_reach[d]) offset[d] += op_.grid.cells[d];
    }
    return offset;
  }

  const PlaceTerms& op_;
};

}  // namespace quiltmd
