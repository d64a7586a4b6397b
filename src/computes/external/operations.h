// SPDX-License-Identifier: Apache-2.0
// Operations that bring positions to forces from outside, and forces back. Both travel as integers, by place in
// the selections: sums over ranks, of which all but the owner of an atom have zero, are then exact.
#pragma once

#include "computes/energies.h"
#include "decomposition/slots.h"
#include "math/symmetric.h"

namespace quiltmd {

// The atoms of all forces from outside, one after the other, and where they are on this rank.
struct ExternalAtoms {
  const int32_t* atoms;         // internal indices
  const int32_t* slot_of_atom;  // -1 where an atom is not on this rank
  const int32_t* owned_slots;   // slots from there on are those of proxies
  int count;

  // -1 where another rank owns it.
  QMD_HD int slot(int k) const {
    const int slot = slot_of_atom[atoms[k]];
    return slot < *owned_slots ? slot : -1;
  }
  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "atoms, slot_of_atom, owned_slots", atoms, slot_of_atom, owned_slots);
  }
};

// The bits of their positions; zero where another rank owns the atom.
struct GatherExternal {
  static constexpr const char* kName = "gather_external";
  ExternalAtoms of;
  const Vec3d* position;
  int64_t* words;  // three for each

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, position);
    QMD_USES(kWrite, words);
  }
};

// Results of external forces, fixed point: three components for each atom, the virial, and an energy for each
// force. Forces go to the atoms of this rank.
struct AddExternal {
  static constexpr const char* kName = "add_external";
  ExternalAtoms of;
  const int64_t* found;
  Slots slots;
  int energies;  // number
  int64_t*
      energy;  // receives virial and energies; null on all ranks but one, and where none are asked for

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, of, found);
    QMD_USES(kReadWrite, slots.force, energy);
    QMD_USES(kNone, slots);
  }
};

}  // namespace quiltmd
