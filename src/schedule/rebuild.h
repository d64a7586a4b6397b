// SPDX-License-Identifier: Apache-2.0
// The schedules of a rebuild.
#pragma once

#include "schedule/rank_memory.h"
#include "schedule/schedule.h"

namespace quiltmd {

// A rebuild. migrate: hydrogen groups move to the owners of their patches, in canonical order.
// proxies_and_lists: proxies are laid out, pair lists built and bonded terms placed; run by itself after
// lists or messages did not fit.
Schedule migrate_schedule(RankMemory& memory, const RankView& view);
Schedule proxies_and_lists_schedule(RankMemory& memory, const RankView& view);

}  // namespace quiltmd
