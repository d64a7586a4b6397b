// SPDX-License-Identifier: Apache-2.0
// The schedule of the forces of one step, from positions to force sums, and that of a rebuild.
#pragma once

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// Forces at the current positions into the force accumulators of the owned slots. In a block of
// steps the integrator has left the accumulators clear.
enum class Clear { kYes, kNo };
// What goes before the forces: other forces, or a rebuild, whose lists the side stream still builds.
enum class Follows { kStep, kRebuild };
// All forces, or all but those of the long-range sum.
enum class Reach { kAll, kShort };
Schedule force_schedule(RankMemory& memory, const RankView& view, Clear clear, Reach reach,
                        Energies energies, Follows follows = Follows::kStep);

// A rebuild. migrate: hydrogen groups move to the owners of their patches, in canonical order. surround:
// proxies are laid out, pair lists built and bonded terms placed; run by itself after lists or messages
// did not fit.
Schedule migrate_schedule(RankMemory& memory, const RankView& view);
Schedule surround_schedule(RankMemory& memory, const RankView& view);

// All ranks know the faults of all of them afterwards: memory.agreement has them and so, as far as they
// concern the next rebuild, has each rank's own array of faults. `overdue` is where kernels report
// messages that do not come.
Schedule agree_schedule(RankMemory& memory, const RankView& view, const uint32_t* overdue);

// Stop the motion of the centre of mass of the whole system; `energy`: where its energy is counted as
// heat, or null.
Schedule momentum_schedule(RankMemory& memory, const RankView& view, int64_t* energy);

// Sums over all ranks of what each has in device memory. `reduction` numbers those of a schedule from 0
// on; `sums` is asked for when the task runs. Returns the task after which every rank has the total.
TaskId add_reduction(Schedule& schedule, TaskId after, int reduction, int count, Device& device,
                     const RankView& view, const std::function<int64_t*()>& sums);

}  // namespace quiltmd
