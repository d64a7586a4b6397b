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

}  // namespace

Schedule force_schedule(RankMemory& memory, const RankView& view, Accumulators before, Reach reach,
                        Energies energies, Follows follows) {
  Schedule s(edges_of_step(memory, reach));
  const RankPlan& plan = view.plan();

  for (size_t e = 0; e < plan.sends.size(); ++e)
    s.add_send({"positions.send", Priority::kHalo, Stream::kHalo}, {},
               step_message(memory, Edge::kPositions, plan.sends[e]),
               [&m = memory, e](const Outlet& out) {
                 m.device.launch(m.exchange.send_positions(e, out), Stream::kHalo);
               });

  std::vector<TaskId> clear;
  if (before == Accumulators::kStale)
    clear.push_back(s.add({"forces.clear", Priority::kHalo, Stream::kMain, {}, [&memory](Post&) {
                             memory.device.launch(memory.groups.clear_forces());
                           }}));

  std::vector<TaskId> proxies = clear;
  for (size_t e = 0; e < plan.receives.size(); ++e)
    proxies.push_back(s.add_receive({"positions.receive", Priority::kHalo, Stream::kHalo}, {},
                                    step_message(memory, Edge::kPositions, plan.receives[e]),
                                    [&m = memory, e](const Inlet& in) {
                                      m.device.launch(m.exchange.receive_positions(e, in),
                                                      Stream::kHalo);
                                    }));

  // The chain of the long-range sum leads on the main stream, all else goes beside it; work that no
  // other rank awaits starts when charges are on the grid and the next kernels of the chain have been placed
  // on the GPU.
  // After a rebuild the lists are still being built on the side stream: what needs none and no other rank
  // awaits then ends the main one.
  std::optional<LongRangeTasks> sum;
  if (!memory.meshes.empty() && reach == Reach::kAll)
    sum = add_long_range(s, memory, view, energies);
  const bool rebuilt = follows == Follows::kRebuild;
  // Without that sum pairs are the longest chain, and lead; not behind lists that are being built. What
  // reads proxies has a stream of its own, but for pairs while lists are being built where others go.
  const bool pairs_lead = !sum && !rebuilt && view.ranks == 1;
  const auto stream_of = [&](const Work& work) {
    const bool listed = work.lists == Lists::kUsed;
    const bool awaited = view.ranks > 1 && work.positions == Positions::kWithProxies;
    if (awaited && !(listed && rebuilt)) return Stream::kBoundary;
    return (listed ? pairs_lead : rebuilt) ? Stream::kMain : Stream::kSide;
  };
  const auto add = [&](const Work& work, Priority priority, std::vector<TaskId> after) {
    const Stream stream = stream_of(work);
    if (sum && work.positions == Positions::kOwned) after.push_back(sum->charged);
    if (sum && rebuilt && stream == Stream::kMain) after.push_back(sum->last);
    return s.add({work.name,
                  priority,
                  stream,
                  std::move(after),
                  [launch = work.launch, stream](Post& post) { launch(stream, post.list_age()); },
                  {},
                  {},
                  work.balance});
  };

  std::vector<TaskId> added = clear;
  if (sum) added.push_back(sum->last);
  std::vector<TaskId> proxies_used = proxies;
  auto with_proxies = step_work(memory, energies, Positions::kWithProxies);
  // Kernels of many small blocks last: those of few large ones would find no room among them.
  if (view.ranks > 1) std::reverse(with_proxies.begin(), with_proxies.end());
  const std::vector<float*> values = values_for_proxies(memory);
  std::vector<TaskId> ready = proxies;
  for (int phase = 0; phase <= static_cast<int>(values.size()); ++phase) {
    std::vector<TaskId> done;
    for (const Work& work : with_proxies)
      if (work.phase == phase) done.push_back(add(work, Priority::kAwaited, ready));
    proxies_used.insert(proxies_used.end(), done.begin(), done.end());
    if (const auto k = static_cast<size_t>(phase); k < values.size())
      ready = add_values(s, memory, plan, phase, values[k], std::move(done));
  }
  for (size_t e = 0; e < plan.receives.size(); ++e)
    s.add_send({"forces.send", Priority::kHalo, Stream::kHalo}, proxies_used,
               step_message(memory, Edge::kForces, plan.receives[e]),
               [&m = memory, e](const Outlet& out) {
                 m.device.launch(m.exchange.send_forces(e, out), Stream::kHalo);
               });
  for (const Work& work : step_work(memory, energies, Positions::kOwned)) {
    if (!sum || !sum->convolved || rebuilt || !work.launch_share) {
      added.push_back(add(work, Priority::kLocal, clear));
      continue;
    }
    for (const PartOfWork& part : parts_beside(*sum)) {
      std::vector<TaskId> after = clear;
      if (part.after) after.push_back(*part.after);
      added.push_back(s.add({work.name,
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

  for (size_t e = 0; e < plan.sends.size(); ++e)
    added.push_back(s.add_receive(
        {"forces.receive", Priority::kLocal, Stream::kHalo}, clear,
        step_message(memory, Edge::kForces, plan.sends[e]), [&m = memory, e](const Inlet& in) {
          m.device.launch(m.exchange.receive_forces(e, in), Stream::kHalo);
        }));

  added.insert(added.end(), proxies_used.begin(), proxies_used.end());
  add_site_forces(s, memory, std::move(added), sum ? 1 : 0, energies);
  return s;
}

}  // namespace quiltmd
