// SPDX-License-Identifier: Apache-2.0
// The tasks of the long-range sum (PME), spread over all ranks: each owns a slab of (y, z) planes
// and a slab of x lines.
#pragma once

#include "schedule/forces.h"

namespace quiltmd {

struct LongRangeTasks {
  TaskId charged;  // what else is large may start
  TaskId last;
};
LongRangeTasks add_long_range(Schedule& schedule, RankMemory& memory, const RankView& view,
                              Energies energies);

}  // namespace quiltmd
