// SPDX-License-Identifier: Apache-2.0
// The virtual sites of a system, hydrogen group by hydrogen group, each set of them once.
#pragma once

#include <cstdint>
#include <vector>

#include "system/system.h"

namespace quiltmd {

// Sites as in SiteTable.
struct GroupSites {
  std::vector<int32_t> set_of_group, set_start;
  std::vector<Site> sites;
};

// `system` has its groups.
GroupSites sites_by_group(const System& system);

// Sites go where their parents put them; `positions`: internal order, nm.
void place_sites(const System& system, std::vector<Vec3d>& positions);
// The forces on sites go to their parents, and leave none.
void spread_forces(const System& system, const std::vector<Vec3d>& positions,
                   std::vector<Vec3d>& forces);

}  // namespace quiltmd
