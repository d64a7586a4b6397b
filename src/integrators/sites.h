// SPDX-License-Identifier: Apache-2.0
// Operations on virtual sites, over the hydrogen groups of a rank. Sites follow the other atoms of their
// group, and stages that move atoms know nothing of them: after such a stage sites are placed, and before
// the next one the forces on them are spread over their parents. Systems without sites launch neither.
//
// A site is alone on the way from its parents and back to them, in the order of the group, so nothing
// depends on ranks. Short-range forces are spread as integers whose sum is kept.
#pragma once

#include "integrators/operations.h"
#include "system/site.h"

namespace quiltmd {

// The sites of groups; many groups have the same.
struct SiteTable {
  const int32_t* set_of_group;  // by group; -1: none
  const int32_t* set_start;     // (sets + 1)
  const Site* sites;            // atoms and parents as places in the group

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "set_of_group, set_start, sites", set_of_group, set_start, sites);
  }
};

// Sites go where their parents put them, once the step has been counted.
struct PlaceSites {
  static constexpr const char* kName = "place_sites";
  GroupWork work;
  SiteTable sites;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.position, work.slots.local);
    QMD_USES(kWrite, work.slots.low);
    QMD_USES(kRead, work.slots.reference, sites);
  }
};

// The forces on sites go to their parents, and what is left on sites is zero. The virial, of which force
// kernels have added what acts on a site where it is, becomes that of the forces where they are now.
// `work.long_range_weight`: 0 where the long-range force is not that of these positions.
struct SpreadSiteForces {
  static constexpr const char* kName = "spread_site_forces";
  GroupWork work;
  SiteTable sites;
  int64_t* energy;  // null: the virial is not asked for

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, work.slots.position, sites);
    QMD_USES(kReadWrite, work.slots.force);
    if (work.long_range_weight != 0) QMD_USES(kReadWrite, work.slots.long_range);
    QMD_USES(kAdd, energy);
  }
};

}  // namespace quiltmd
