// SPDX-License-Identifier: Apache-2.0
// The schedule of the forces of one step, from positions to force sums.
#pragma once

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// Forces at the current positions into the force accumulators of the owned slots. In a block of
// steps the integrator has left the accumulators clear.
enum class Accumulators { kStale, kClear };
// Work before the forces: other forces, or a rebuild, whose lists the side stream still builds.
enum class Follows { kStep, kRebuild };
// All forces, or all but those of the long-range sum.
enum class Reach { kAll, kShort };
Schedule force_schedule(RankMemory& memory, const RankView& view, Accumulators before, Reach reach,
                        Energies energies, Follows follows = Follows::kStep);

// Has the device record steps of this rank as its long-range sum has kernels placed.
void set_placing(Device& device, const RankMemory& memory, const RankView& view);

}  // namespace quiltmd
