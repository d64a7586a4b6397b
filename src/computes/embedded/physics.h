// SPDX-License-Identifier: Apache-2.0
// What each slot needs of embedded atoms, the same on all devices: its type, and the energy of embedding.
#pragma once

#include "computes/embedded/operations.h"

namespace quiltmd {

QMD_HD void place_type(const PlaceTypes& op, int slot) {
  const int32_t atom = op.atom[slot];
  op.types[slot] = atom < 0 ? 0 : op.type_of_atom[atom];
}

// The embedding energy of the atom in a slot, in fixed point; its slope is stored and its density cleared.
QMD_HD int64_t embed_atom(const EmbedAtoms& op, int slot) {
  if (op.atom[slot] < 0) return 0;
  const double* const rows = op.rows + ptrdiff_t{4} * op.type_of_slot[slot] * op.intervals;
  const CubicValue found =
      cubic_at(rows, op.intervals, from_fixed(op.sums[slot], op.unit) * op.per_density);
  op.sums[slot] = 0;
  op.slopes[slot] = static_cast<float>(found.slope * op.per_density);
  return to_fixed(found.value, kEnergyScale);
}

}  // namespace quiltmd
