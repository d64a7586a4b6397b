// SPDX-License-Identifier: Apache-2.0
// The schedule of one stage of a step, on the main stream.
#pragma once

#include "integrators/step_plan.h"
#include "schedule/forces.h"
#include "schedule/schedule.h"

namespace quiltmd {

// `context` is read when the schedule runs. It, the device and the view must outlive the schedule.
Schedule stage_schedule(const Stage& stage, Device& device, const RankView& view,
                        const StepContext& context);

}  // namespace quiltmd
