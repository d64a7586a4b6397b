// SPDX-License-Identifier: Apache-2.0
// The messages of a step between all ranks, from their plans alone, and the assignment of patches that
// heeds them. That they are those of schedules is tested (tests/unit/test_planner.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "decomposition/assignment.h"
#include "schedule/grid_shares.h"
#include "schedule/schedule.h"

namespace quiltmd {

struct PlannedMessage {
  Edge edge;
  int from, to;
  int64_t words;  // of 16 bytes
};

// Of a step, and those of a rebuild that have few receivers, in a system of so many atoms.
std::vector<PlannedMessage> halo_messages(const std::vector<RankPlan>& plans, int64_t atoms);
std::vector<PlannedMessage> mesh_messages(const GridShares& shares, int ranks,
                                          MeshOf of = MeshOf::kCharges);

// Patches by the atoms in them, in blocks or ribbons, by the messages of a step, those of the long-range
// sum included: as the rank with most of them has least; where ranks are not all as near each other, as
// all are carried least, with ranks trading places or not.
Assignment share_patches(const Setup& setup, const std::vector<double>& atoms,
                         const MachineShape& machine, MeshSharing mesh);

}  // namespace quiltmd
