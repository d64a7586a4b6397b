// SPDX-License-Identifier: Apache-2.0
// Heat baths of groups of atoms, each with a temperature and a friction or a time constant of its own. A
// hydrogen group is in one bath as a whole: its constraints share out what each of its atoms is given. Baths
// change when conditions do (decomposition/conditions.h); they lie beside the tables of hydrogen groups, since
// only kernels of thermostats of groups read them.
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

// Arguments for the table; empty if one bath has all groups.
struct GroupBaths {
  std::vector<HeatBath> baths;
  std::vector<uint8_t> of_group;
};

// Freedom of some atoms: three for each atom with mass minus one for each constraint; and their fraction of
// the total mass, which is their share of the centre of mass.
struct Freedom {
  double degrees = 0;
  double mass_part = 1;

  double shared_by(int axes_at_rest) const { return degrees - axes_at_rest * mass_part; }
};
// Degrees of freedom of all atoms, and of those in each heat bath if groups have baths.
struct DegreesOfFreedom {
  Freedom all;
  std::vector<Freedom> of_baths;
};
// `bath_of_group`: empty where one bath has all groups.
DegreesOfFreedom degrees_of_freedom(const System& system, const std::vector<uint8_t>& bath_of_group,
                                    size_t baths);

// The bath of each hydrogen group, from the baths of atoms in the order of the input. Throws Error, which
// names an atom, if a group has atoms of several baths or the bath of an atom is not below `baths`.
std::vector<uint8_t> baths_of_groups(const System& system, const std::vector<uint8_t>& of_atom,
                                     size_t baths);

}  // namespace quiltmd
