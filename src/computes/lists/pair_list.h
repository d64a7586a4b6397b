// SPDX-License-Identifier: Apache-2.0
// Pair lists as kernels read them.
#pragma once

#include <cstdint>

#include "decomposition/slots.h"
#include "math/macros.h"

namespace quiltmd {

// Each device chooses where a list starts among the entries; starts are multiples of this.
inline constexpr int kListAlign = 32;

// Lists are sorted by distance, roughly: into shells.
inline constexpr int kShells = 8;

// With a Coulomb cutoff shorter than that of the pair form, the first half of the shells are by the distance
// of the Coulomb cutoff, and contain all atoms that can come so near; the second half are by the distance of
// the pair form, and contain only atoms with it. An atom with the pair form that can come within the Coulomb
// cutoff is in the first shell of all. Atoms without the form have 0 for the second of their pair numbers.
inline constexpr int kChargeShells = kShells / 2;

// The shells of lists of some age that are evaluated.
struct EvaluatedShells {
  int last;        // up to this one, with charges
  int last_apart;  // from kChargeShells up to this one, the pair form alone; -1 with a single cutoff
};

// The pair list of one i-cluster in one compute: against its own patch (clusters at or after itself) and the half
// shell of its patch, or one patch of these. Entries with a mask come first, the others shell by shell from near to far;
// among themselves they are in order of (code, slot). While the list is young, atoms have not moved
// much, and the near shells are all that can hold pairs within the cutoff.
struct alignas(16) PairList {  // a GPU reads the first four words at once
  int32_t cluster;             // slot / kClusterSize
  int32_t begin;               // first entry, a multiple of kListAlign
  int32_t masked;              // entries with a mask, at the start
  int32_t within[kShells];     // entries up to and including each shell, those with a mask included

  QMD_HD int count() const { return within[kShells - 1]; }
  // Begin of the shells beyond the Coulomb cutoff, and number of their evaluated entries.
  QMD_HD int apart_begin() const { return within[kChargeShells - 1]; }
  QMD_HD int apart(EvaluatedShells shells) const {
    return shells.last_apart < 0 ? 0 : within[shells.last_apart] - apart_begin();
  }
};

// Lists [first, end), `capacity` of them at most, up to some shells: what operations that evaluate lists begin with.
struct ListView {
  Slots slots;
  int slot_capacity;
  const PairList* lists;
  int first;
  const int32_t* end;  // in device memory
  int capacity;
  EvaluatedShells shells;
  const uint32_t* entries;
  const uint8_t* masks;

  void note_lists(MemoryUses& uses, Access access) const {
    uses.note(access, "slots.local, lists, extent(end, 1), entries, masks", slots.local, lists,
              extent(end, 1), entries, masks);
  }
};

// Parts of each list on a GPU: of a small system the lists alone do not fill a large GPU evenly.
inline int pieces_of_lists(int atoms) {
  constexpr int kSmallSystem = 50000;
  return atoms < kSmallSystem ? 2 : 1;
}

}  // namespace quiltmd
