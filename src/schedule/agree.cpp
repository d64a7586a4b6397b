// SPDX-License-Identifier: Apache-2.0
// Agreement of all ranks on what went wrong and on the total momentum, so that all of them take
// the same decision from the same numbers.
#include <algorithm>

#include "schedule/forces.h"
#include "schedule/payload.h"

namespace quiltmd {
namespace {

// The earlier of two steps, where 0 means never.
int64_t earlier(int64_t a, int64_t b) { return a == 0 ? b : (b == 0 ? a : std::min(a, b)); }

void merge(Agreement& to, const Agreement& from) {
  Faults& f = to.faults;
  const Faults& g = from.faults;
  f.violation_step = earlier(f.violation_step, g.violation_step);
  if (g.blowup_step && (f.blowup_step == 0 || g.blowup_step < f.blowup_step)) {
    f.blowup_step = g.blowup_step;
    f.blowup_atom = g.blowup_atom;
  }
  if (g.constraint_step && (f.constraint_step == 0 || g.constraint_step < f.constraint_step)) {
    f.constraint_step = g.constraint_step;
    f.constraint_atom = g.constraint_atom;
  }
  f.list_overflow = std::max(f.list_overflow, g.list_overflow);
  to.terms += from.terms;
  for (int d = 0; d < 3; ++d) to.momentum[d] += from.momentum[d];
}

Agreement own_view(RankMemory& m) {
  Agreement own;
  own.faults = m.slots.faults.download()[0];
  own.terms = m.terms.count_placed();
  m.device.copy_out(own.momentum, m.slots.momentum.data(), sizeof own.momentum);
  return own;
}

}  // namespace

Schedule agree_schedule(RankMemory& m, const RankView& view, Agreement& agreed) {
  Schedule s;
  std::vector<Await> awaits;
  const TaskId send =
      s.add({"agree", Priority::kHalo, Stream::kMain, {}, {}, [&](Post& post) {
               m.device.fill(m.slots.momentum.data(), 0, m.slots.momentum.bytes(), Stream::kMain);
               m.device.launch(SumMomentum{m.group_work(), m.slots.momentum.data()});
               agreed = own_view(m);
               for (int peer = 0; peer < view.ranks; ++peer) {
                 if (peer == view.rank) continue;
                 PayloadWriter out;
                 out.add(&agreed, 1);
                 post.send(Edge::kAgree, peer, out.take());
               }
             }});
  for (int peer = 0; peer < view.ranks; ++peer)
    if (peer != view.rank)
      s.add({"agree",
             Priority::kHalo,
             Stream::kMain,
             {send},
             {{Edge::kAgree, peer}},
             [&agreed, peer](Post& post) {
               merge(agreed, *PayloadReader(post.received(Edge::kAgree, peer)).take<Agreement>(1));
             }});
  return s;
}

}  // namespace quiltmd
