// SPDX-License-Identifier: Apache-2.0
// Operations of the short-range nonbonded forces: building pair lists and evaluating them.
#pragma once

#include "computes/nonbonded/pair_physics.h"
#include "decomposition/operations.h"
#include "decomposition/slots.h"

namespace quiltmd {

// Where lists lie in the entries is up to the device, but they begin at whole lines.
inline constexpr int kListAlign = 32;

// The pair list of one i-cluster: against its own patch (clusters at or after itself) and the half
// shell of its patch. Entries in order of (code, slot); those with a mask come first.
struct PairList {
  int32_t cluster;  // slot / kClusterSize
  int32_t begin;    // first entry, a multiple of kListAlign
  int32_t masked;   // entries with a mask, at the start
  int32_t count;    // all entries
};

// For every cluster of the listed computes (patches, as indices into `patches`), write its list.
// `neighbours[c * codes + code]` is the placed-patch index of the neighbour of compute c at that
// offset (own patch at code 0). A pair is listed when it is closer than `reach` at this moment, or
// excluded and in reach. Lists of `computes` stay in order: list numbers ascend with compute, then
// cluster.
//
// Masks: bit i set = j interacts with i-atom i, clear = excluded. Of the pairs inside the i-cluster
// itself only i < j counts; the kernel knows that from the slots, the bits of i >= j are clear and
// mean nothing. Padding is never listed as j.
struct BuildLists {
  static constexpr const char* kName = "build_lists";
  Slots slots;
  int slot_capacity;
  const PlacedPatch* patches;
  const ClusterBounds* bounds;
  Constants constants;
  const int32_t* slot_of_atom;  // -1 where the atom is not on this rank
  GridView grid;
  const int32_t* computes;    // placed-patch index of each compute's patch
  const int32_t* neighbours;  // (computes, codes)
  int compute_count;
  const int32_t* first_list;  // (computes + 1) number of each compute's first list
  float reach;
  PairList* lists;
  int list_capacity;
  uint32_t* entries;
  uint8_t* masks;  // by entry; valid for masked entries
  int entry_capacity;
  int32_t* entry_count;  // entries spent, up to the last line
  Faults* faults;
};

// Write the inner lists: of every list in `range` the entries that are closer than `reach` to an
// i atom at this moment, in the same order and at the same place (an inner list begins where its
// list does). Lists with a wide buffer are then built rarely, and pair forces evaluated with the
// few pairs of a narrow one.
struct PruneLists {
  static constexpr const char* kName = "prune_lists";
  Slots slots;
  const PairList* lists;
  const int32_t* range;  // (2), in device memory
  int capacity;          // at most this many lists
  const uint32_t* entries;
  const uint8_t* masks;
  const Vec3f* shifts;
  int codes;
  float reach;
  PairList* inner;  // by number of the list
  uint32_t* inner_entries;
  uint8_t* inner_masks;
};

// Inner lists are about to be written: from here on displacements count from the present positions.
// An atom that has moved by more than `outrun2` (a square) since the lists were built calls for new
// ones: a violation at this step.
struct RenewReference {
  static constexpr const char* kName = "renew_reference";
  Slots slots;
  const int32_t* slot_count;  // owned
  int slot_capacity;
  const Vec3d* listed;  // positions at which the lists were built
  double outrun2;
  const int64_t* step;  // number of this step; device memory
  Faults* faults;
};

// Number the lists: first_list[c] = sum over computes before c of the clusters of their patches
// (compute_count + 1 values), and the ranges of interior lists (of the first `interior` computes)
// and boundary lists: ranges = {0, interior lists, interior lists, all lists}.
struct NumberLists {
  static constexpr const char* kName = "number_lists";
  const PlacedPatch* patches;
  const int32_t* computes;
  int compute_count;
  int interior;
  int32_t* first_list;
  int32_t* ranges;  // (4)
};

// Evaluate lists [range[0], range[1]): forces into slots.force, and energies (kLj,
// kCoulombDirect) where `energy` is not null.
struct PairForces {
  static constexpr const char* kName = "pair_forces";
  Slots slots;
  int slot_capacity;
  const PairList* lists;
  const int32_t* range;  // (2), in device memory
  int capacity;          // at most this many lists
  const uint32_t* entries;
  const uint8_t* masks;
  const Vec3f* shifts;
  int codes;   // number of shifts
  int pieces;  // a GPU cuts every list into so many parts, each summed by itself: more and shorter
               // pieces of work for small systems. Fixed by the size of the system alone.
  PairParameters parameters;
  const Float2* lj_table;  // (types, types) of (12 a, 6 b), only without Lorentz-Berthelot
  int64_t* energy;         // null: forces only
};

}  // namespace quiltmd
