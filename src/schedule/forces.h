// SPDX-License-Identifier: Apache-2.0
// The schedule of the forces of one step, from positions to force sums, and that of a rebuild.
#pragma once

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// What a rank knows about all ranks.
struct RankView {
  int rank = 0;
  int ranks = 1;
  std::vector<RankPlan> plans;  // by rank
};

// What ranks agree on before lists are rebuilt or a run ends: the worst fault of any of them, how
// many bonded terms they have placed, and the momentum of the whole system (fixed point,
// kForceScale).
struct Agreement {
  Faults faults{};
  int64_t terms = 0;
  int64_t momentum[3] = {0, 0, 0};
};

// Forces at the current positions into the force accumulators of the owned slots. In a block of
// steps the integrator has left the accumulators clear.
enum class Clear { kYes, kNo };
// What goes before the forces: other forces, or a rebuild, whose lists the side stream still builds.
enum class Follows { kStep, kRebuild };
// All forces, or all but those of the long-range sum.
enum class Reach { kAll, kShort };
Schedule force_schedule(RankMemory& memory, const RankView& view, Clear clear, Reach reach,
                        Energies energies, Follows follows = Follows::kStep);

// Groups to their patches' owners, canonical order, proxies, pair lists, placed terms.
Schedule rebuild_schedule(RankMemory& memory, const RankView& view);

// Exchange faults and momenta; `agreed` holds those of the whole system afterwards. It and the
// view must outlive the schedule.
Schedule agree_schedule(RankMemory& memory, const RankView& view, Agreement& agreed);

}  // namespace quiltmd
