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

// On one GPU interior pairs of many atoms are evaluated in two parts, the second when the inverse transform of the
// mesh has found room. The fraction of lists in the first, for this number of atoms; 1 where those have all begun
// by then (benchmarks/notes/step.md).
double first_part_alone(int atoms);

}  // namespace quiltmd
