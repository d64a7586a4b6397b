// SPDX-License-Identifier: Apache-2.0
// Where a bonded term is computed: the patches of its atoms as seen from its base patch. Written
// once, for hosts and GPUs; runs when lists are built.
#pragma once

#include <cmath>

#include "computes/bonded/operations.h"

namespace quiltmd {

// The code of an offset that is nowhere negative, -1 beyond the reach. The half shell lists offsets
// in lexicographic order from (0, 0, 0) on, so the code is the distance in that order.
QMD_HD int forward_code(Int3 offset, int away) {
  const int side = 2 * away + 1;
  if (offset.x > away || offset.y > away || offset.z > away) return -1;
  return (offset.x * side + offset.y) * side + offset.z;
}

enum class Found { kHere, kElsewhere, kTooWide };

class TermPlacer {
 public:
  QMD_HD explicit TermPlacer(const PlaceTerms& op) : op_(op) {}

  // The entries of a term's atoms, if its compute is here.
  QMD_HD Found place(const TermTable& table, int32_t term, PlacedTerm& placed) const {
    const int32_t* atoms = table.atoms + static_cast<ptrdiff_t>(term) * table.size;
    int32_t slot[4] = {-1, -1, -1, -1};
    for (int k = 0; k < table.size; ++k) {
      slot[k] = op_.slot_of_atom[atoms[k]];
      if (slot[k] < 0) return Found::kElsewhere;
    }
    Int3 offset[4] = {{0, 0, 0}}, lowest{0, 0, 0};
    for (int k = 1; k < table.size; ++k) {
      offset[k] = offset_between(slot[0], slot[k]);
      for (int d = 0; d < 3; ++d) lowest[d] = offset[k][d] < lowest[d] ? offset[k][d] : lowest[d];
    }
    if (!op_.computed_here[neighbour(cell_of(slot[0]), lowest)]) return Found::kElsewhere;
    placed = {{0, 0, 0, 0}, term};
    for (int k = 0; k < table.size; ++k) {
      const int code = forward_code(
          {offset[k].x - lowest.x, offset[k].y - lowest.y, offset[k].z - lowest.z}, op_.grid.away);
      if (code < 0) return Found::kTooWide;
      placed.entry[k] = static_cast<uint32_t>(slot[k]) | static_cast<uint32_t>(code) << kSlotBits;
    }
    return Found::kHere;
  }

 private:
  QMD_HD Int3 cell_of(int32_t slot) const {
    return op_.patches[op_.slots.patch[slot / kClusterSize]].cell;
  }

  QMD_HD int neighbour(Int3 cell, Int3 offset) const {
    int index = 0;
    for (int d = 0; d < 3; ++d) {
      const int cells = op_.grid.cells[d];
      index = index * cells + ((cell[d] + offset[d]) % cells + cells) % cells;
    }
    return index;
  }

  // Fractional coordinates of the atom in its patch's image.
  QMD_HD Vec3d fraction(int32_t slot, Int3 cell) const {
    const Float4 local = op_.slots.local[slot];
    const Vec3d f = op_.box.to_fraction({local.x, local.y, local.z});
    return {(cell.x + 0.5) / op_.grid.cells.x + f.x, (cell.y + 0.5) / op_.grid.cells.y + f.y,
            (cell.z + 0.5) / op_.grid.cells.z + f.z};
  }

  // Offset in patches from the first atom's patch to the nearest image of the other's.
  QMD_HD Int3 offset_between(int32_t first, int32_t other) const {
    const Int3 from = cell_of(first), to = cell_of(other);
    const Vec3d apart = fraction(other, to) - fraction(first, from);
    Int3 offset{};
    for (int d = 0; d < 3; ++d)
      offset[d] =
          to[d] - from[d] - static_cast<int>(std::floor(apart[d] + 0.5)) * op_.grid.cells[d];
    return offset;
  }

  const PlaceTerms& op_;
};

}  // namespace quiltmd
