// SPDX-License-Identifier: Apache-2.0
// A stage of an integrator as tasks of a schedule.
#include "schedule/stage.h"

#include "schedule/agree.h"

namespace quiltmd {
namespace {

// The reductions of a stage have edges of their own, as many as there are.
std::vector<Edge> edges_of(const Stage& stage) {
  std::vector<Edge> edges;
  for (const StepTask& task : stage)
    if (task.reduces > 0)
      edges.push_back(static_cast<Edge>(static_cast<size_t>(Edge::kSums) + edges.size()));
  if (edges.size() > kMaxReductions)
    throw std::logic_error("a stage of an integrator asks for too many reductions");
  return edges;
}

}  // namespace

Schedule stage_schedule(const Stage& stage, Device& device, const RankView& view,
                        const StepContext& context) {
  Schedule s(edges_of(stage));
  std::vector<TaskId> last;
  int reductions = 0;
  for (const StepTask& task : stage) {
    last = {s.add({task.name, Priority::kHalo, Stream::kMain, last,
                   [&device, &context, launch = task.launch](Post&) { launch(device, context); }})};
    if (task.reduces > 0)
      last = {add_reduction(s, last[0], reductions++, task.reduces, device, view,
                            [&context] { return context.sums; })};
  }
  return s;
}

}  // namespace quiltmd
