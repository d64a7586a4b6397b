// SPDX-License-Identifier: Apache-2.0
// The messages of a step between all ranks, from their plans alone, and the assignment of patches that
// heeds them. That they are those of schedules is tested (tests/unit/test_planner.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "decomposition/assignment.h"
#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

struct PlannedMessage {
  Edge edge;
  int from, to;
  int64_t words;  // of 16 bytes
  int round = 0;  // as of MessageEnd
};

// Messages of a step, and proxies, in a system with this number of atoms.
std::vector<PlannedMessage> halo_messages(const std::vector<RankPlan>& plans, int64_t atoms);
// Migrants and agreement, in a system with these numbers of groups and atoms.
std::vector<PlannedMessage> rebuild_messages(const std::vector<RankPlan>& plans, int64_t groups,
                                             int64_t atoms);

// Share of a rank in the transforms of a long-range sum, and the first of the ranks with which it exchanges
// spectra along y: itself, for slabs.
struct TransformShare {
  double planes = 0, lines = 0;  // of pencils, as many
  int row = 0;
  double upper_points = 0;  // of the fast multipole method, as a rank on a CPU evaluates them
};

// The long-range sum of a step; empty where there is none.
struct LongRangePlan {
  std::vector<TransformShare> shares;  // by rank
  std::vector<PlannedMessage> messages;
};
LongRangePlan plan_long_range(const Setup& setup, const std::vector<RankPlan>& plans,
                              MeshSharing sharing);

// Patches by the atoms in them, in blocks or ribbons, by the messages of a step, those of the long-range
// sum included: as the rank with most of them has least; where ranks are not all as near each other, as
// all are carried least, with ranks trading places or not.
Assignment share_patches(const Setup& setup, const std::vector<double>& atoms,
                         const MachineShape& machine, MeshSharing sharing);

}  // namespace quiltmd
