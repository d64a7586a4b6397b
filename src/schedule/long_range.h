// SPDX-License-Identifier: Apache-2.0
// The tasks of the long-range sum (PME), spread over all ranks: each owns a slab of (y, z) planes
// and a slab of x lines. Ranks whose kernels reach each other write into each other's grids; between
// others, parts of grids are messages.
#pragma once

#include <optional>

#include "schedule/forces.h"
#include "schedule/mailboxes.h"

namespace quiltmd {

struct LongRangeTasks {
  TaskId charged;  // what else is large may start
  TaskId last;
  // Set where other large work should start in parts: the last of them may start after this task.
  std::optional<TaskId> convolved = {};
};
LongRangeTasks add_long_range(Schedule& schedule, RankMemory& memory, const RankView& view,
                              Energies energies);

// What ranks whose kernels reach each other do before and after they tell each other where things are.
void offer_grids(RankMemory& memory, const RankView& view, Mailboxes& mailboxes);
void join_grids(RankMemory& memory, const RankView& view, const Mailboxes& mailboxes);

}  // namespace quiltmd
