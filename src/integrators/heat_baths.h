// SPDX-License-Identifier: Apache-2.0
// Heat baths of groups of atoms, each with a temperature and a friction of its own. A hydrogen group is
// in one bath as a whole: its constraints share out what each of its atoms is given. The baths stay as they
// are for a whole simulation, so they lie beside the tables of hydrogen groups and not in the conditions.
#pragma once

#include <cstdint>
#include <vector>

#include "decomposition/conditions.h"
#include "device/memory_use.h"
#include "math/vec3.h"
#include "system/system.h"

namespace quiltmd {

inline constexpr int kMaxHeatBaths = 16;

// In device memory; null where one bath has all groups.
struct BathTable {
  const uint8_t* of_group;
  const HeatBath* baths;

  QMD_HD HeatBath of(int32_t group) const { return baths[of_group[group]]; }
  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "of_group, baths", of_group, baths);
  }
};

// What the table is made of; empty where one bath has all groups.
struct GroupBaths {
  std::vector<HeatBath> baths;
  std::vector<uint8_t> of_group;
};

// By hydrogen group, from the bath of each atom in the order of the input. Throws Error, which names an
// atom, where a group has atoms of several baths or an atom has one beyond `baths`.
std::vector<uint8_t> baths_of_groups(const System& system, const std::vector<uint8_t>& of_atom,
                                     size_t baths);

}  // namespace quiltmd
