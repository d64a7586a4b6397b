// SPDX-License-Identifier: Apache-2.0
// Operations that build pair lists: who is near whom.
#pragma once

#include "computes/lists/pair_list.h"
#include "decomposition/faults.h"
#include "decomposition/operations.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Lengths are in whole rounds of 32 entries; the last one stands for all longer lists.
inline constexpr int kListLengths = 64;

// Numbers of lists of each length, and numbers of those that already have a place in the order of length: [0]
// lists of interior computes, [1] of boundary computes.
struct ListLengths {
  int32_t count[2][kListLengths], placed[2][kListLengths];
};

// Pairs of atoms, in both directions, by internal index.
struct ExclusionTable {
  const int32_t* start;     // (atoms + 1)
  const int32_t* partners;  // of each atom, ascending

  QMD_HD bool has(int i, int j) const {
    int low = start[i], high = start[i + 1];
    const int end = high;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (partners[middle] < j)
        low = middle + 1;
      else
        high = middle;
    }
    return low < end && partners[low] == j;
  }
  // Bits of the atoms of a cluster, given by their atom indices (-1: none), that are paired with `j`.
  QMD_HD unsigned bits(const int32_t* cluster, int j) const {
    unsigned found = 0;
    for (int i = 0; i < kClusterSize; ++i)
      if (cluster[i] >= 0 && has(cluster[i], j)) found |= 1u << i;
    return found;
  }

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "start, partners", start, partners);
  }
};

// For every cluster of the listed computes (patches, as indices into `patches`), write its list.
// `neighbours[c * codes + k]` is the placed-patch index of the neighbour of compute c at the offset
// `first_code[c] + k` (own patch at code 0). A pair is listed when it is closer than the last of `reach` at this
// moment, in the first shell whose reach exceeds the distance of the j atom from the nearest of the
// cluster's; it may come into a shell before that, never into a later one. Lists are numbered by compute,
// then cluster. Where `unordered` is given, a GPU writes them there first, and then to `lists`, the
// longest first: interior lists in the places of interior lists, boundary lists in those of boundary lists.
//
// Masks: bit i set = j interacts with i-atom i, clear = excluded. Of the pairs inside the i-cluster
// itself only i < j counts; the kernel knows that from the slots, the bits of i >= j are clear and
// mean nothing. Padding is never listed as j. Some excluded pairs may be farther apart than the cutoff:
// they have a term of the form of excluded pairs instead, and the pair kernels skip them, as they skip all
// where excluded pairs feel no reaction field; `long_exclusions` lists them.
struct BuildLists {
  static constexpr const char* kName = "build_lists";
  Slots slots;
  int slot_capacity;
  const PlacedPatch* patches;
  const ClusterBounds* bounds;
  ExclusionTable exclusions;       // all of them
  ExclusionTable long_exclusions;  // null where there are none
  const int32_t* slot_of_atom;     // -1 where the atom is not on this rank
  GridView grid;
  const int32_t* computes;    // placed-patch index of each compute's patch
  const int32_t* neighbours;  // (computes, codes)
  const int32_t* first_code;  // of each compute; GPUs: 0
  int codes;                  // of a compute; GPUs: all of the half shell
  int compute_count;
  int interior;               // number of interior computes, which come first
  const int32_t* first_list;  // (computes + 1) number of each compute's first list
  float reach[kShells];       // ascending, with two cutoffs each half of them
  bool two_cutoffs;
  PairList* lists;
  int list_capacity;
  PairList* unordered;   // GPU only: as many as `lists`; null: they stay in order of number
  ListLengths* lengths;  // null where `unordered` is
  uint32_t* entries;
  uint8_t* masks;  // by entry; valid for masked entries
  // Likewise: bit i set = j and i-atom i are a long exclusion; null where there are none.
  uint8_t* long_exclusion_masks;
  int entry_capacity;
  int32_t* entry_count;  // entries spent, up to the last line; zero before
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slots.local, slots.pair_numbers, slots.atom, patches, bounds, exclusions,
             long_exclusions, slot_of_atom, grid);
    QMD_USES(kRead, computes, neighbours, first_code, first_list);
    QMD_USES(kWrite, lists, unordered, lengths, masks, long_exclusion_masks);
    QMD_USES(kReadWrite, entries);
    QMD_USES(kReadWrite, entry_count);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

// Number the lists: first_list[c] = sum over computes before c of the clusters of their patches
// (compute_count + 1 values). Boundary lists (of all but the first `interior` computes) begin behind
// the room for interior ones; where there are none, all lists end with these. The ranges of both are
// ranges = {0, interior lists, first boundary list, end}. Goes before every BuildLists, since it clears
// the count of entries, too.
struct NumberLists {
  static constexpr const char* kName = "number_lists";
  const PlacedPatch* patches;
  const int32_t* computes;
  int compute_count;
  int interior;
  int interior_room, boundary_room;  // lists
  int32_t* first_list;
  int32_t* ranges;  // (4)
  int32_t* entry_count;
  Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, patches, computes);
    QMD_USES(kWrite, first_list, ranges, entry_count);
    Faults::reports(uses, faults);
  }
};

}  // namespace quiltmd
