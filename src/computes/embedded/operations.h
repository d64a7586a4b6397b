// SPDX-License-Identifier: Apache-2.0
// Operations of embedded atoms, in three phases: densities of both atoms of each pair, which go back to the owners
// of proxies; embedding energies of owned atoms and their slopes, which go to proxies; forces of pairs.
#pragma once

#include <bit>

#include "computes/embedded/tables.h"
#include "computes/lists/operations.h"
#include "decomposition/energies.h"
#include "decomposition/slots.h"
#include "math/fixed.h"

namespace quiltmd {

// Of each slot the type, by the atom that is there; of padding 0.
struct PlaceTypes {
  static constexpr const char* kName = "place_embedded_types";
  const int32_t* atom;  // by slot
  const int32_t* type_of_atom;
  const int32_t* used_slots;
  int slot_capacity;
  int32_t* types;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, atom, type_of_atom, extent(used_slots, 1));
    QMD_USES(kWrite, types);
  }
};

// Lists, and the tables of pairs.
struct EmbeddedLists : ListView {
  const Vec3f* shifts;
  int codes;  // number of shifts
  const int32_t* type_of_slot;
  const float* slopes;  // dF/d rho by slot; null where they are not known yet
  const float* rows;    // pair_rows()
  int types, intervals;
  float cutoff2, per_spacing;

  // No pair is excluded.
  static constexpr const uint8_t* long_exclusion_masks = nullptr;
  // Of a slot the type, as bits, and the slope.
  struct Numbers {
    const int32_t* types;
    const float* slopes;
    Float2 operator[](uint32_t slot) const {
      return {std::bit_cast<float>(types[slot]), slopes ? slopes[slot] : 0};
    }
  };
  Numbers numbers() const { return {type_of_slot, slopes}; }

  void memory(MemoryUses& uses, Access access) const {
    note_lists(uses, access);
    uses.note(access, "slots.atom, shifts, type_of_slot, slopes, rows", slots.atom, shifts,
              type_of_slot, slopes, rows);
  }
};

struct EmbeddedDensities {
  static constexpr const char* kName = "embedded_densities";
  EmbeddedLists pairs;
  double unit;    // of the sums
  int64_t* sums;  // by slot

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs);
    QMD_USES(kAdd, sums);
    QMD_USES(kNone, pairs.slots);
  }
};

struct EmbedAtoms {
  static constexpr const char* kName = "embed_atoms";
  const int32_t* atom;  // by slot
  const int32_t* type_of_slot;
  const int32_t* owned_slots;
  int slot_capacity;
  const double* rows;  // embedding_rows()
  int intervals;
  double per_density;  // intervals by density
  double unit;
  int64_t* sums;    // of densities; zero afterwards
  float* slopes;    // by slot
  int64_t* energy;  // null: slopes only

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, atom, type_of_slot, extent(owned_slots, 1), rows);
    QMD_USES(kReadWrite, sums);
    QMD_USES(kWrite, slopes);
    QMD_USES(kAdd, energy);
  }
};

struct EmbeddedForces {
  static constexpr const char* kName = "embedded_forces";
  EmbeddedLists pairs;
  int64_t* energy;  // null: forces only

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, pairs);
    QMD_USES(kAdd, pairs.slots.force, energy);
    QMD_USES(kNone, pairs.slots);
  }
};

}  // namespace quiltmd
