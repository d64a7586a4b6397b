// SPDX-License-Identifier: Apache-2.0
// One step's forces on one page: read force_schedule() from top to bottom.
//
//   positions ->-- halo out ......... proxies in --> boundary pairs, bonded terms --> forces out
//        |                                                                               :
//        +--> charges --> planes --> lines --> planes back --> long-range forces     forces in
//        +--> interior pairs (fills every gap)
//
// At the end the forces on virtual sites, if there are any, go to their parents.
// Pairs and bonded terms are the work that the families of forces ask for (computes/force_family.h). Where
// a family has several phases (implicit solvent), ranks hand over what each gives for the next one.
// With one rank the messages vanish and the same tasks remain.
#include "schedule/forces.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "schedule/agree.h"
#include "schedule/external.h"
#include "schedule/grid_shares.h"
#include "schedule/long_range.h"

namespace quiltmd {
namespace {

// The work of a family in a step, and its tasks as phase after phase is added.
struct FamilyStep {
  std::vector<Work> works;
  std::vector<Handover> handovers;              // by phase
  std::vector<TaskId> owned, proxies;           // what work of this phase waits for, by Positions
  std::vector<TaskId> done, done_with_proxies;  // of this phase

  FamilyStep(ForceFamily& family, Energies energies)
      : works(family.step_work(energies)), handovers(family.handovers()) {
    for (const Work& work : works)
      if (work.phase > static_cast<int>(handovers.size()))
        throw std::logic_error(std::string(work.name) + " belongs to a phase that does not exist");
  }
  // Whether other ranks await what follows from it.
  bool is_awaited(const Work& work) const {
    return work.positions == Positions::kWithProxies ||
           work.phase < static_cast<int>(handovers.size());
  }
};

// One of its pieces.
struct Piece {
  FamilyStep* family;
  const Work* work;

  bool reads_proxies() const { return work->positions == Positions::kWithProxies; }
  const std::vector<TaskId>& waits_for() const {
    return reads_proxies() ? family->proxies : family->owned;
  }
};

// Work that can be divided, beside a long-range sum on a GPU. While pairs run, whatever ends is followed by
// more of them, and a kernel of the sum finds no room: the inverse transform would wait until the last of them
// has begun. So most of them start when the convolution has been placed, and the inverse transform with it, or,
// where kernels wait for those of other ranks, when the convolution is done. Parts are on streams in turn: on
// one stream each would wait for the last blocks of the one before.
struct PartOfWork {
  Share share;
  Stream stream;
  std::optional<TaskId> after;
};

// These fractions were the fastest of those tried on two H100s (benchmarks/notes/several-gpus.md); a little
// fills the time in which charges travel.
std::vector<PartOfWork> parts_beside_peers(const LongRangeTasks& sum) {
  return {{{0, 0.1}, Stream::kSide, {}},
          {{0.1, 0.4}, Stream::kBoundary, sum.charged},
          {{0.4, 1}, Stream::kSide, sum.convolved}};
}

std::vector<PartOfWork> parts_beside_nobody(const LongRangeTasks& sum, const PairsAlone& alone) {
  const auto [at_once, with_charges, placing] = alone;
  std::vector<PartOfWork> parts{{{0, at_once}, Stream::kBoundary, {}},
                                {{at_once, with_charges}, Stream::kSide, sum.charged},
                                {{with_charges, 1}, Stream::kBoundary, sum.convolved}};
  std::erase_if(parts, [](const PartOfWork& part) { return part.share.from == part.share.to; });
  return parts;
}

MessageEnd step_message(const RankMemory& memory, Edge edge, const Exchange& exchange) {
  return {edge, exchange.rank, memory.exchange.step_words(exchange)};
}

// The edge of the array that is handed over as this one in a step.
Edge handover_edge(size_t number) {
  if (number >= kMaxHandovers)
    throw std::logic_error("families of forces hand over more than there are kinds of messages");
  return static_cast<Edge>(static_cast<size_t>(Edge::kHandover) + number);
}

std::vector<Edge> edges_of_step(const RankMemory& memory, Reach reach) {
  std::vector<Edge> edges{Edge::kPositions, Edge::kForces};
  size_t arrays = 0;
  for (const auto& family : memory.families)
    for (const Handover& handover : family->handovers()) arrays += handover.arrays();
  for (size_t n = 0; n < arrays; ++n) edges.push_back(handover_edge(n));
  if (reach == Reach::kAll && memory.long_range) {
    const std::vector<Edge> of_sum = memory.long_range->edges();
    edges.insert(edges.end(), of_sum.begin(), of_sum.end());
  }
  if (memory.external) edges.insert(edges.end(), {Edge::kExternalPositions, Edge::kExternalForces});
  return edges;
}

void append(std::vector<TaskId>& to, const std::vector<TaskId>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The forces on virtual sites to their parents; `long_range_weight` multiplies the long-range force.
void add_site_forces(Schedule& s, RankMemory& memory, std::vector<TaskId> after, float far,
                     Energies energies) {
  if (memory.setup.system.sites.empty()) return;
  s.add({"sites.forces", Priority::kLocal, Stream::kMain, std::move(after),
         [&m = memory, far, energies](Post&) {
           m.device.launch(m.spread_site_forces(far, energies));
         }});
}

// Adds the tasks of force_schedule(), in its order.
class ForceTasks {
 public:
  ForceTasks(RankMemory& memory, const RankView& view, Reach reach, Energies energies,
             Follows follows)
      : s_(edges_of_step(memory, reach)),
        m_(memory),
        view_(view),
        plan_(view.plan()),
        energies_(energies),
        rebuilt_(follows == Follows::kRebuild) {
    for (const auto& family : memory.families) families_.emplace_back(*family, energies);
  }

  void send_positions() {
    for (size_t e = 0; e < plan_.sends.size(); ++e)
      s_.add_send({"positions.send", Priority::kHalo, Stream::kHalo}, {},
                  step_message(m_, Edge::kPositions, plan_.sends[e]),
                  [&m = m_, e](const Outlet& out) {
                    m.device.launch(m.exchange.send_positions(e, out), Stream::kHalo);
                  });
  }

  void clear_forces() {
    cleared_.push_back(
        s_.add({"forces.clear", Priority::kHalo, Stream::kMain, {}, [&m = m_](Post&) {
                  m.device.launch(m.groups.clear_forces());
                }}));
  }

  void receive_positions() {
    proxies_ = cleared_;
    for (size_t e = 0; e < plan_.receives.size(); ++e)
      proxies_.push_back(s_.add_receive(
          {"positions.receive", Priority::kHalo, Stream::kHalo}, {},
          step_message(m_, Edge::kPositions, plan_.receives[e]), [&m = m_, e](const Inlet& in) {
            m.device.launch(m.exchange.receive_positions(e, in), Stream::kHalo);
          }));
  }

  void call_outside() { added_.push_back(add_external_forces(s_, m_, view_, energies_, cleared_)); }

  // The chain of the long-range sum leads on the main stream, all else goes beside it; work that no
  // other rank awaits starts when charges are on the grid and the next kernels of the chain have been
  // placed on the GPU.
  void sum_long_range() { sum_ = m_.long_range->add(s_, view_, energies_); }

  // Work that other ranks await, phase by phase, and the forces on proxies to their owners.
  void work_for_others() {
    const std::vector<Piece> pieces = awaited_pieces();
    size_t handovers = 0;  // of the family with most
    for (FamilyStep& family : families_) {
      handovers = std::max(handovers, family.handovers.size());
      family.owned = cleared_;
      family.proxies = proxies_;
    }
    proxies_used_ = proxies_;
    for (size_t phase = 0; phase <= handovers; ++phase) {
      for (const Piece& piece : pieces)
        if (static_cast<size_t>(piece.work->phase) == phase) add_awaited(piece);
      for (FamilyStep& family : families_)
        if (phase < family.handovers.size()) hand_over(family, family.handovers[phase]);
    }
    for (size_t e = 0; e < plan_.receives.size(); ++e)
      s_.add_send({"forces.send", Priority::kHalo, Stream::kHalo}, proxies_used_,
                  step_message(m_, Edge::kForces, plan_.receives[e]),
                  [&m = m_, e](const Outlet& out) {
                    m.device.launch(m.exchange.send_forces(e, out), Stream::kHalo);
                  });
  }

  // All other work.
  void work_for_this_rank() {
    for (FamilyStep& family : families_)
      for (const Work& work : family.works) {
        const Piece piece{&family, &work};
        if (family.is_awaited(work)) continue;
        if (sum_ && sum_->convolved && !rebuilt_ && work.launch_share)
          add_in_parts(piece);
        else
          added_.push_back(add(piece, Priority::kLocal));
      }
  }

  void receive_forces() {
    for (size_t e = 0; e < plan_.sends.size(); ++e)
      added_.push_back(s_.add_receive(
          {"forces.receive", Priority::kLocal, Stream::kHalo}, cleared_,
          step_message(m_, Edge::kForces, plan_.sends[e]), [&m = m_, e](const Inlet& in) {
            m.device.launch(m.exchange.receive_forces(e, in), Stream::kHalo);
          }));
  }

  // The schedule, once what goes to virtual sites has gone to their parents.
  Schedule finish() {
    std::vector<TaskId> all = cleared_;
    if (sum_) all.push_back(sum_->last);
    append(all, added_);
    append(all, proxies_used_);
    add_site_forces(s_, m_, std::move(all), sum_ ? 1 : 0, energies_);
    return std::move(s_);
  }

 private:
  // In the order in which they start: work that uses lists before what does not. Where there are several
  // ranks the other way round, since kernels of many small blocks must come last: those of few large ones
  // would find no room among them.
  std::vector<Piece> awaited_pieces() {
    std::vector<Piece> pieces;
    for (FamilyStep& family : families_)
      for (const Work& work : family.works)
        if (family.is_awaited(work)) pieces.push_back({&family, &work});
    std::stable_partition(pieces.begin(), pieces.end(),
                          [](const Piece& piece) { return piece.work->lists == Lists::kUsed; });
    if (view_.ranks > 1) std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  void add_awaited(const Piece& piece) {
    const TaskId task = add(piece, Priority::kAwaited);
    piece.family->done.push_back(task);
    if (piece.reads_proxies()) piece.family->done_with_proxies.push_back(task);
    (piece.reads_proxies() ? proxies_used_ : added_).push_back(task);
  }

  // Handover of a family after a phase. Sums come back to owned atoms, which all work of the next phase may
  // read; values are those of proxies.
  void hand_over(FamilyStep& family, const Handover& handover) {
    family.owned = family.done;
    for (int64_t* sums : handover.sums)
      append(family.owned, return_sums(sums, family.done_with_proxies));
    for (const Handover::Total& total : handover.totals)
      family.owned.push_back(add_total(total, family.done));
    family.proxies = family.owned;
    append(family.proxies, proxies_);
    for (float* values : handover.values) append(family.proxies, send_values(values, family.done));
    family.done.clear();
    family.done_with_proxies.clear();
  }

  // Sums of proxies, once the tasks `done` have made them, to their owners; returns all tasks of this.
  std::vector<TaskId> return_sums(int64_t* sums, const std::vector<TaskId>& done) {
    const Edge edge = handover_edge(handed_over_++);
    std::vector<TaskId> tasks;
    for (size_t e = 0; e < plan_.receives.size(); ++e)
      tasks.push_back(s_.add_send(
          {"sums.return", Priority::kHalo, Stream::kHalo}, done,
          step_message(m_, edge, plan_.receives[e]), [&m = m_, e, sums](const Outlet& out) {
            m.device.launch(m.exchange.return_sums(e, sums, out), Stream::kHalo);
          }));
    for (size_t e = 0; e < plan_.sends.size(); ++e)
      tasks.push_back(s_.add_receive(
          {"sums.add", Priority::kHalo, Stream::kHalo}, {}, step_message(m_, edge, plan_.sends[e]),
          [&m = m_, e, sums](const Inlet& in) {
            m.device.launch(m.exchange.add_sums(e, sums, in), Stream::kHalo);
          }));
    return tasks;
  }

  // The sum over all ranks, once the tasks `done` have made that of this one; returns the last task.
  TaskId add_total(const Handover::Total& total, std::vector<TaskId> done) {
    const Edge edge = handover_edge(handed_over_++);
    return add_merging(s_, std::move(done), plan_.tree,
                       merged_sums("totals", Stream::kHalo, edge, m_.device, total.count,
                                   [sums = total.sums] { return sums; }));
  }

  // Values of owned atoms, once the tasks `done` have made them, to the proxies of others; returns the tasks
  // that receive those of the proxies here.
  std::vector<TaskId> send_values(float* values, const std::vector<TaskId>& done) {
    const Edge edge = handover_edge(handed_over_++);
    for (size_t e = 0; e < plan_.sends.size(); ++e)
      s_.add_send({"values.send", Priority::kHalo, Stream::kHalo}, done,
                  step_message(m_, edge, plan_.sends[e]), [&m = m_, e, values](const Outlet& out) {
                    m.device.launch(m.exchange.send_values(e, values, out), Stream::kHalo);
                  });
    std::vector<TaskId> received;
    for (size_t e = 0; e < plan_.receives.size(); ++e)
      received.push_back(s_.add_receive(
          {"values.receive", Priority::kHalo, Stream::kHalo}, {},
          step_message(m_, edge, plan_.receives[e]), [&m = m_, e, values](const Inlet& in) {
            m.device.launch(m.exchange.receive_values(e, values, in), Stream::kHalo);
          }));
    return received;
  }

  // After a rebuild the lists are still being built on the side stream: what needs none and no other rank
  // awaits then ends the main one. Without the long-range sum pairs are the longest chain, and lead; not
  // behind lists that are being built. What others await has a stream of its own, but for pairs while
  // lists are being built where others go.
  Stream stream_of(const Piece& piece) const {
    const bool pairs_lead = !sum_ && !rebuilt_ && view_.ranks == 1;
    const bool listed = piece.work->lists == Lists::kUsed;
    const bool awaited = view_.ranks > 1 && piece.family->is_awaited(*piece.work);
    if (piece.work->apart) return stream_apart(m_, view_);
    if (awaited && !(listed && rebuilt_)) return Stream::kBoundary;
    return (listed ? pairs_lead : rebuilt_) ? Stream::kMain : Stream::kSide;
  }

  TaskId add(const Piece& piece, Priority priority) {
    const Work& work = *piece.work;
    const Stream stream = stream_of(piece);
    std::vector<TaskId> after = piece.waits_for();
    if (sum_ && priority == Priority::kLocal) after.push_back(sum_->charged);
    if (sum_ && rebuilt_ && stream == Stream::kMain) after.push_back(sum_->last);
    return s_.add({work.name,
                   priority,
                   stream,
                   std::move(after),
                   [launch = work.launch, stream](Post& post) { launch(stream, post.list_age()); },
                   {},
                   {},
                   work.balance});
  }

  void add_in_parts(const Piece& piece) {
    const Work& work = *piece.work;
    for (const PartOfWork& part : view_.ranks > 1
                                      ? parts_beside_peers(*sum_)
                                      : parts_beside_nobody(*sum_, m_.long_range->pairs_alone())) {
      std::vector<TaskId> after = piece.waits_for();
      if (part.after) after.push_back(*part.after);
      added_.push_back(s_.add({work.name,
                               Priority::kLocal,
                               part.stream,
                               std::move(after),
                               [launch = work.launch_share, part](Post& post) {
                                 launch(part.stream, post.list_age(), part.share);
                               },
                               {},
                               {},
                               work.balance}));
    }
  }

  Schedule s_;
  RankMemory& m_;
  const RankView& view_;
  const RankPlan& plan_;
  const Energies energies_;
  const bool rebuilt_;  // right before this step
  std::vector<FamilyStep> families_;
  size_t handed_over_ = 0;  // arrays, so far
  std::optional<LongRangeTasks> sum_;
  std::vector<TaskId> cleared_;       // forces; none where they are clear
  std::vector<TaskId> proxies_;       // are there
  std::vector<TaskId> proxies_used_;  // by all work that reads them
  std::vector<TaskId> added_;         // other forces on owned atoms
};

}  // namespace

void set_placing(Device& device, const RankMemory& memory, const RankView& view) {
  const bool alone = view.ranks == 1 && memory.long_range;
  device.set_placing(alone ? memory.long_range->pairs_alone().placing : Placing::kInTurn);
}

Schedule force_schedule(RankMemory& memory, const RankView& view, Accumulators before, Reach reach,
                        Energies energies, Follows follows) {
  ForceTasks tasks(memory, view, reach, energies, follows);
  tasks.send_positions();
  if (before == Accumulators::kStale) tasks.clear_forces();
  tasks.receive_positions();
  if (memory.external) tasks.call_outside();
  if (memory.long_range && reach == Reach::kAll) tasks.sum_long_range();
  tasks.work_for_others();
  tasks.work_for_this_rank();
  tasks.receive_forces();
  return tasks.finish();
}

}  // namespace quiltmd
