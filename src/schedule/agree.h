// SPDX-License-Identifier: Apache-2.0
// What all ranks come to know: faults, and sums over all of them.
#pragma once

#include <functional>

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// All ranks know the faults of all of them afterwards: memory.agreement has them and so, as far as they
// concern the next rebuild, has each rank's own array of faults. `waiting` is where kernels report
// messages that do not come.
Schedule agree_schedule(RankMemory& memory, const RankView& view, const Waiting* waiting);

// Stop the motion of the centre of mass along the axes on which it is to rest; `energy`: where its energy is counted as
// heat, or null.
Schedule momentum_schedule(RankMemory& memory, const RankView& view, int64_t* energy);

// Sums over all ranks of what each has in device memory. `reduction` numbers those of a schedule from 0
// on; `sums` is asked for when the task runs. Returns the task after which every rank has the total.
TaskId add_reduction(Schedule& schedule, TaskId after, int reduction, int count, Device& device,
                     const RankView& view, const std::function<int64_t*()>& sums);

}  // namespace quiltmd
