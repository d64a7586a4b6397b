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
// a family has several phases (implicit solvent), owners send proxies the values of each for the next one.
// With one rank the messages vanish and the same tasks remain.
#include "schedule/forces.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "schedule/grid_shares.h"
#include "schedule/long_range.h"

namespace quiltmd {
namespace {

constexpr Edge kValueEdges[] = {Edge::kValues, Edge::kMoreValues};

// By phase: what owners send to proxies once its work is done. One family has such at most.
std::vector<float*> values_for_proxies(const RankMemory& memory) {
  std::vector<float*> values;
  for (ForceFamily* family : memory.families) {
    std::vector<float*> own = family->values_for_proxies();
    if (own.empty()) continue;
    if (!values.empty()) throw std::logic_error("two families of forces send values to proxies");
    values = std::move(own);
  }
  if (values.size() > std::size(kValueEdges))
    throw std::logic_error("a family of forces has more phases than there are kinds of messages");
  return values;
}

// The work of all families in a step that reads positions of these.
std::vector<Work> step_work(RankMemory& memory, Energies energies, Positions positions) {
  const int phases = static_cast<int>(values_for_proxies(memory).size());
  std::vector<Work> found;
  for (ForceFamily* family : memory.families)
    for (Work& work : family->step_work(energies)) {
      if (work.phase > (work.positions == Positions::kOwned ? 0 : phases))
        throw std::logic_error(std::string(work.name) + " belongs to a phase that does not exist");
      if (work.positions == positions) found.push_back(std::move(work));
    }
  return found;
}

// Work that can be divided, beside a long-range sum whose kernels wait for those of other ranks. While
// pairs run, whatever ends is followed by more of them, and a kernel of the sum finds no room. So a
// little fills the time in which charges travel, and most starts when the convolution is done and the
// inverse transform has been placed. Parts are on streams in turn: on one stream each would wait for the
// last blocks of the one before. These fractions were the fastest of those tried on two H100s
// (benchmarks/notes/several-gpus.md).
struct PartOfWork {
  Share share;
  Stream stream;
  std::optional<TaskId> after;
};
std::array<PartOfWork, 3> parts_beside(const LongRangeTasks& sum) {
  return {{{{0, 0.1}, Stream::kSide, {}},
           {{0.1, 0.4}, Stream::kBoundary, sum.charged},
           {{0.4, 1}, Stream::kSide, sum.convolved}}};
}

MessageEnd step_message(const RankMemory& memory, Edge edge, const Exchange& exchange) {
  return {edge, exchange.rank, memory.exchange.step_words(exchange)};
}

// Values of a phase, once the tasks `done` have made them, to the proxies of others, and those of the
// proxies here; returns what the next phase waits for.
std::vector<TaskId> add_values(Schedule& s, RankMemory& memory, const RankPlan& plan, int phase,
                               float* values, std::vector<TaskId> done) {
  const Edge edge = kValueEdges[phase];
  for (size_t e = 0; e < plan.sends.size(); ++e)
    s.add_send({"values.send", Priority::kHalo, Stream::kHalo}, done,
               step_message(memory, edge, plan.sends[e]),
               [&m = memory, e, values](const Outlet& out) {
                 m.device.launch(m.exchange.send_values(e, values, out), Stream::kHalo);
               });
  std::vector<TaskId> ready = std::move(done);
  for (size_t e = 0; e < plan.receives.size(); ++e)
    ready.push_back(s.add_receive(
        {"values.receive", Priority::kHalo, Stream::kHalo}, {},
        step_message(memory, edge, plan.receives[e]), [&m = memory, e, values](const Inlet& in) {
          m.device.launch(m.exchange.receive_values(e, values, in), Stream::kHalo);
        }));
  return ready;
}

std::vector<Edge> edges_of_step(const RankMemory& memory, Reach reach) {
  std::vector<Edge> edges{Edge::kPositions, Edge::kForces};
  edges.insert(edges.end(), kValueEdges, kValueEdges + values_for_proxies(memory).size());
  if (reach == Reach::kAll)
    for (const MeshMemory& mesh : memory.meshes) {
      const auto [charges, spectrum, spectrum_back, potential] = edges_of(mesh.of);
      edges.insert(edges.end(), {charges, spectrum, spectrum_back, potential});
    }
  return edges;
}

// The forces on virtual sites to their parents, the long-range force so many times.
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
        rebuilt_(follows == Follows::kRebuild) {}

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

  // The chain of the long-range sum leads on the main stream, all else goes beside it; work that no
  // other rank awaits starts when charges are on the grid and the next kernels of the chain have been
  // placed on the GPU.
  void sum_long_range() { sum_ = add_long_range(s_, m_, view_, energies_); }

  // Work that reads proxies, phase by phase, and the forces on them to their owners.
  void work_with_proxies() {
    auto works = step_work(m_, energies_, Positions::kWithProxies);
    // Kernels of many small blocks last: those of few large ones would find no room among them.
    if (view_.ranks > 1) std::reverse(works.begin(), works.end());
    const std::vector<float*> values = values_for_proxies(m_);
    proxies_used_ = proxies_;
    std::vector<TaskId> ready = proxies_;
    for (int phase = 0; phase <= static_cast<int>(values.size()); ++phase) {
      std::vector<TaskId> done;
      for (const Work& work : works)
        if (work.phase == phase) done.push_back(add(work, Priority::kAwaited, ready));
      proxies_used_.insert(proxies_used_.end(), done.begin(), done.end());
      if (const auto k = static_cast<size_t>(phase); k < values.size())
        ready = add_values(s_, m_, plan_, phase, values[k], std::move(done));
    }
    for (size_t e = 0; e < plan_.receives.size(); ++e)
      s_.add_send({"forces.send", Priority::kHalo, Stream::kHalo}, proxies_used_,
                  step_message(m_, Edge::kForces, plan_.receives[e]),
                  [&m = m_, e](const Outlet& out) {
                    m.device.launch(m.exchange.send_forces(e, out), Stream::kHalo);
                  });
  }

  void work_of_owned() {
    for (const Work& work : step_work(m_, energies_, Positions::kOwned))
      if (sum_ && sum_->convolved && !rebuilt_ && work.launch_share)
        add_in_parts(work);
      else
        added_.push_back(add(work, Priority::kLocal, cleared_));
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
    for (const auto* tasks : {&added_, &proxies_used_})
      all.insert(all.end(), tasks->begin(), tasks->end());
    add_site_forces(s_, m_, std::move(all), sum_ ? 1 : 0, energies_);
    return std::move(s_);
  }

 private:
  // After a rebuild the lists are still being built on the side stream: what needs none and no other rank
  // awaits then ends the main one. Without the long-range sum pairs are the longest chain, and lead; not
  // behind lists that are being built. What reads proxies has a stream of its own, but for pairs while
  // lists are being built where others go.
  Stream stream_of(const Work& work) const {
    const bool pairs_lead = !sum_ && !rebuilt_ && view_.ranks == 1;
    const bool listed = work.lists == Lists::kUsed;
    const bool awaited = view_.ranks > 1 && work.positions == Positions::kWithProxies;
    if (awaited && !(listed && rebuilt_)) return Stream::kBoundary;
    return (listed ? pairs_lead : rebuilt_) ? Stream::kMain : Stream::kSide;
  }

  TaskId add(const Work& work, Priority priority, std::vector<TaskId> after) {
    const Stream stream = stream_of(work);
    if (sum_ && work.positions == Positions::kOwned) after.push_back(sum_->charged);
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

  void add_in_parts(const Work& work) {
    for (const PartOfWork& part : parts_beside(*sum_)) {
      std::vector<TaskId> after = cleared_;
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
  std::optional<LongRangeTasks> sum_;
  std::vector<TaskId> cleared_;       // forces; none where they are clear
  std::vector<TaskId> proxies_;       // are there
  std::vector<TaskId> proxies_used_;  // by all work that reads them
  std::vector<TaskId> added_;         // other forces on owned atoms
};

}  // namespace

Schedule force_schedule(RankMemory& memory, const RankView& view, Accumulators before, Reach reach,
                        Energies energies, Follows follows) {
  ForceTasks tasks(memory, view, reach, energies, follows);
  tasks.send_positions();
  if (before == Accumulators::kStale) tasks.clear_forces();
  tasks.receive_positions();
  if (!memory.meshes.empty() && reach == Reach::kAll) tasks.sum_long_range();
  tasks.work_with_proxies();
  tasks.work_of_owned();
  tasks.receive_forces();
  return tasks.finish();
}

}  // namespace quiltmd
