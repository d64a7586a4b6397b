// SPDX-License-Identifier: Apache-2.0
// A stage of an integrator as tasks of a schedule. The sums that a task asks for are added up over all
// ranks as messages like any other; they are integers, so their order does not matter. A rank by itself
// has them in the memory of its device already, and the host is not involved.
#include "schedule/stage.h"

#include "schedule/payload.h"

namespace quiltmd {
namespace {

void send_sums(Device& device, const int64_t* sums, int count, const RankView& view, Edge edge,
               Post& post) {
  const auto n = static_cast<size_t>(count);
  for (int peer = 0; peer < view.ranks; ++peer) {
    if (peer == view.rank) continue;
    PayloadWriter out;
    device.copy_out(out.space<int64_t>(n), sums, n * sizeof(int64_t));
    post.send(edge, peer, out.take());
  }
}

void add_sums(Device& device, int64_t* sums, int count, const RankView& view, Edge edge,
              Post& post) {
  const auto n = static_cast<size_t>(count);
  std::vector<int64_t> total(n);
  device.copy_out(total.data(), sums, n * sizeof(int64_t));
  for (int peer = 0; peer < view.ranks; ++peer) {
    if (peer == view.rank) continue;
    PayloadReader in(post.received(edge, peer));
    const int64_t* theirs = in.take<int64_t>(n);
    for (size_t k = 0; k < n; ++k) total[k] += theirs[k];
  }
  device.copy_in(sums, total.data(), n * sizeof(int64_t));
}

// The total of `count` sums on every rank, after `last`.
TaskId add_reduction(Schedule& s, TaskId last, Edge edge, int count, Device& device,
                     const RankView& view, const StepContext& context) {
  const TaskId sent = s.add({"sums.send",
                             Priority::kHalo,
                             Stream::kMain,
                             {last},
                             {},
                             [=, &device, &view, &context](Post& post) {
                               send_sums(device, context.sums, count, view, edge, post);
                             }});
  std::vector<Await> awaits;
  for (int peer = 0; peer < view.ranks; ++peer)
    if (peer != view.rank) awaits.push_back({edge, peer});
  return s.add({"sums.receive",
                Priority::kHalo,
                Stream::kMain,
                {sent},
                awaits,
                [=, &device, &view, &context](Post& post) {
                  add_sums(device, context.sums, count, view, edge, post);
                }});
}

}  // namespace

Schedule stage_schedule(const Stage& stage, Device& device, const RankView& view,
                        const StepContext& context) {
  Schedule s;
  std::vector<TaskId> last;
  int reductions = 0;
  for (const StepTask& task : stage) {
    last = {s.add({task.name,
                   Priority::kHalo,
                   Stream::kMain,
                   last,
                   {},
                   [&device, &context, launch = task.launch](Post&) { launch(device, context); }})};
    if (task.reduces > 0 && view.ranks > 1) {
      const auto edge = static_cast<Edge>(static_cast<int>(Edge::kSums) + reductions++);
      last = {add_reduction(s, last[0], edge, task.reduces, device, view, context)};
    }
  }
  return s;
}

}  // namespace quiltmd
