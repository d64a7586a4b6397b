// SPDX-License-Identifier: Apache-2.0
#include "schedule/long_range.h"

#include "schedule/fmm.h"
#include "schedule/pme.h"
#include "schedule/setup.h"

namespace quiltmd {

std::unique_ptr<LongRangeSum> make_long_range(const Setup& setup, const SlotMemory& slots) {
  if (setup.nonbonded.has_pme()) return std::make_unique<PmeSum>(setup, slots);
  if (setup.nonbonded.has_fmm()) return std::make_unique<FmmSum>(setup, slots);
  return nullptr;
}

}  // namespace quiltmd
