// SPDX-License-Identifier: Apache-2.0
// Forces from outside among the tasks of a step.
#pragma once

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// Positions of their atoms go to rank 0, which calls the providers, and forces come back: `after` the forces
// of the step have been cleared. Returns the last task.
TaskId add_external_forces(Schedule& s, RankMemory& memory, const RankView& view, Energies energies,
                           std::vector<TaskId> after);

// Updates the state of providers after a step.
Schedule external_update_schedule(RankMemory& memory, const RankView& view);

}  // namespace quiltmd
