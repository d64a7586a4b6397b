// SPDX-License-Identifier: Apache-2.0
// Molecules as barostats move them: whole hydrogen groups, one or several.
#pragma once

#include <cstdint>
#include <vector>

#include "system/system.h"

namespace quiltmd {

struct Molecules {
  // Molecules of several groups, numbered from 0.
  std::vector<int32_t> of_group;  // by group: its molecule; -1: the group is one by itself
  std::vector<int32_t> atoms;     // by molecule: how many
  int count = 0;                  // of all, those of one group included

  int large() const { return static_cast<int>(atoms.size()); }
};

// `system` has its groups. Where it does not say what its molecules are, each group is one.
Molecules molecules_of(const System& system);

}  // namespace quiltmd
