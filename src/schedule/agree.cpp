// SPDX-License-Identifier: Apache-2.0
// What all ranks come to know: what went wrong in the steps so far, so that all of them take the same
// decision from the same numbers; and sums over all of them. Sums are integers, so their order does not
// matter.
#include "schedule/agree.h"

#include <utility>

namespace quiltmd {
namespace {

// The tasks of one rank, one after another.
class Merging {
 public:
  Merging(Schedule& schedule, std::vector<TaskId> after, const RankTree& tree, const Merged& values)
      : s_(schedule), last_(std::move(after)), tree_(tree), values_(values) {}

  TaskId add() {
    for (const RankTree::Child& child : tree_.children)
      receive(child.rank, RankTree::round_up(child.height));
    if (tree_.is_at_top()) {
      for (const int peer : tree_.top) send(peer, tree_.round_across());
      for (const int peer : tree_.top) receive(peer, tree_.round_across());
    } else {
      send(tree_.parent, RankTree::round_up(tree_.height));
      receive_all(tree_.parent, tree_.round_down(tree_.height));
    }
    for (const RankTree::Child& child : tree_.children)
      send(child.rank, tree_.round_down(child.height));
    return last_.back();
  }

 private:
  TaskPlace place(const char* what) const {
    return {values_.name + what, Priority::kHalo, values_.stream};
  }
  MessageEnd end(int peer, int round) const {
    return {values_.edge, peer, values_.words, 0, round};
  }
  void send(int peer, int round) {
    last_ = {s_.add_send(place(".send"), last_, end(peer, round), values_.write)};
  }
  void receive(int peer, int round) {
    last_ = {s_.add_receive(place(".merge"), last_, end(peer, round), values_.merge)};
  }
  // Those of this rank are among them.
  void receive_all(int peer, int round) {
    last_ = {s_.add_receive(place(".merge"), last_, end(peer, round),
                            [clear = values_.clear, merge = values_.merge](const Inlet& in) {
                              clear();
                              merge(in);
                            })};
  }

  Schedule& s_;
  std::vector<TaskId> last_;
  const RankTree& tree_;
  const Merged& values_;
};

}  // namespace

TaskId add_merging(Schedule& schedule, std::vector<TaskId> after, const RankTree& tree,
                   const Merged& values) {
  return Merging(schedule, std::move(after), tree, values).add();
}

Merged merged_sums(std::string name, Stream stream, Edge edge, Device& device, int count,
                   std::function<int64_t*()> sums) {
  return {std::move(name),
          stream,
          edge,
          static_cast<size_t>(count),
          [=, &device](const Outlet& out) { device.launch(SendSums{sums(), count, out}, stream); },
          [=, &device](const Inlet& in) { device.launch(ReceiveSums{sums(), count, in}, stream); },
          [=, &device] {
            device.fill(sums(), 0, static_cast<size_t>(count) * sizeof(int64_t), stream);
          }};
}

Merged merged_agreement(Device& device, Agreement* agreement, Faults* faults) {
  return {"agree",
          Stream::kMain,
          Edge::kAgree,
          kAgreementWords,
          [=, &device](const Outlet& out) { device.launch(SendAgreement{agreement, out}); },
          [=, &device](const Inlet& in) { device.launch(MergeAgreement{agreement, faults, in}); },
          [=, &device] { device.fill(agreement, 0, sizeof(Agreement), Stream::kMain); }};
}

Schedule agree_schedule(RankMemory& m, const RankView& view, const Waiting* waiting) {
  Schedule s({Edge::kAgree});
  const TaskId noted =
      s.add({"agree.note", Priority::kHalo, Stream::kMain, {}, [&m, waiting](Post&) {
               const PlacedTerms placed = m.placed_terms();
               m.device.launch(NoteAgreement{m.slots.faults.data(), placed.counts, placed.kinds,
                                             waiting, m.agreement.data()});
             }});
  add_merging(s, {noted}, view.plan().tree,
              merged_agreement(m.device, m.agreement.data(), m.slots.faults.data()));
  return s;
}

TaskId add_reduction(Schedule& s, TaskId after, int reduction, int count, Device& device,
                     const RankView& view, const std::function<int64_t*()>& sums) {
  const auto edge = static_cast<Edge>(static_cast<int>(Edge::kSums) + reduction);
  return add_merging(s, {after}, view.plan().tree,
                     merged_sums("sums", Stream::kMain, edge, device, count, sums));
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
