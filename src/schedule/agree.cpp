// SPDX-License-Identifier: Apache-2.0
// What all ranks come to know: what went wrong in the steps so far, so that all of them take the same
// decision from the same numbers; and sums over all of them. Sums are integers, so their order does not
// matter.
#include "schedule/agree.h"

namespace quiltmd {

Schedule agree_schedule(RankMemory& m, const RankView& view, const Waiting* waiting) {
  Schedule s({Edge::kAgree});
  std::vector<TaskId> last{
      s.add({"agree.note", Priority::kHalo, Stream::kMain, {}, [&m, waiting](Post&) {
               const PlacedTerms placed = m.placed_terms();
               m.device.launch(NoteAgreement{m.slots.faults.data(), placed.counts, placed.kinds,
                                             waiting, m.agreement.data()});
             }})};
  for (const int peer : view.peers())
    last = {s.add_send(
        {"agree.send", Priority::kHalo, Stream::kMain}, last, {Edge::kAgree, peer, kAgreementWords},
        [&m](const Outlet& out) { m.device.launch(SendAgreement{m.agreement.data(), out}); })};
  for (const int peer : view.peers())
    last = {s.add_receive({"agree.merge", Priority::kHalo, Stream::kMain}, last,
                          {Edge::kAgree, peer, kAgreementWords}, [&m](const Inlet& in) {
                            m.device.launch(
                                MergeAgreement{m.agreement.data(), m.slots.faults.data(), in});
                          })};
  return s;
}

TaskId add_reduction(Schedule& s, TaskId after, int reduction, int count, Device& device,
                     const RankView& view, const std::function<int64_t*()>& sums) {
  const auto edge = static_cast<Edge>(static_cast<int>(Edge::kSums) + reduction);
  const auto words = static_cast<size_t>(count);
  TaskId last = after;
  for (const int peer : view.peers())
    last = s.add_send(
        {"sums.send", Priority::kHalo, Stream::kMain}, {last}, {edge, peer, words},
        [=, &device](const Outlet& out) { device.launch(SendSums{sums(), count, out}); });
  for (const int peer : view.peers())
    last = s.add_receive(
        {"sums.receive", Priority::kHalo, Stream::kMain}, {last}, {edge, peer, words},
        [=, &device](const Inlet& in) { device.launch(ReceiveSums{sums(), count, in}); });
  return last;
}

Schedule momentum_schedule(RankMemory& m, const RankView& view, int64_t* energy) {
  Schedule s({Edge::kSums});
  int64_t* const momentum = m.slots.momentum.data();
  const TaskId sum =
      s.add({"momentum", Priority::kHalo, Stream::kMain, {}, [&m, momentum](Post& post) {
               m.device.fill(momentum, 0, m.slots.momentum.bytes(), Stream::kMain);
               m.device.launch(SumMomentum{m.group_work(post.list_age()), momentum});
             }});
  const TaskId total = add_reduction(s, sum, 0, 3, m.device, view, [momentum] { return momentum; });
  const int resting = m.setup.plan.centre_of_mass.resting;
  s.add({"momentum", Priority::kHalo, Stream::kMain, {total}, [=, &m](Post& post) {
           m.device.launch(RemoveMomentum{m.group_work(post.list_age()), momentum,
                                          m.setup.total_mass, resting, energy});
         }});
  return s;
}

}  // namespace quiltmd
