// SPDX-License-Identifier: Apache-2.0
// One step's forces on one page: read force_schedule() from top to bottom.
//
//   positions ->-- halo out ......... proxies in --> boundary pairs, bonded terms --> forces out
//        |                                                                               :
//        +--> charges --> planes --> lines --> planes back --> long-range forces     forces in
//        +--> interior pairs (fills every gap)
//
// With one rank the messages vanish and the same tasks remain.
#include "schedule/forces.h"

#include <algorithm>

#include "schedule/long_range.h"
#include "schedule/operations.h"
#include "schedule/payload.h"

namespace quiltmd {
namespace {

std::vector<PlacedPatch> placed_patches(const Workspace& w) {
  return w.patches.download(w.plan().owned.size() + w.plan().proxies.size());
}

// The placed patches of one exchange.
std::vector<PlacedPatch> select(const Workspace& w, const std::vector<int>& wanted) {
  std::vector<PlacedPatch> selected;
  for (const PlacedPatch& p : placed_patches(w))
    if (std::binary_search(wanted.begin(), wanted.end(), p.patch)) selected.push_back(p);
  return selected;
}

Payload pack_positions(Workspace& w, const std::vector<int>& wanted) {
  PayloadWriter out;
  for (const PlacedPatch& p : select(w, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    w.device.copy_out(out.space<Float4>(n), w.local.data() + p.start, n * sizeof(Float4));
    w.device.copy_out(out.space<Float4>(n), w.low.data() + p.start, n * sizeof(Float4));
  }
  return out.take();
}

void unpack_positions(Workspace& w, const std::vector<int>& wanted, const Payload& payload) {
  PayloadReader in(payload);
  for (const PlacedPatch& p : select(w, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    w.device.copy_in(w.local.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
    w.device.copy_in(w.low.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
  }
}

Payload pack_forces(Workspace& w, const std::vector<int>& wanted) {
  PayloadWriter out;
  const Slots slots = w.slots();
  for (const PlacedPatch& p : select(w, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    for (const int64_t* component : slots.force)
      w.device.copy_out(out.space<int64_t>(n), component + p.start, n * sizeof(int64_t));
  }
  return out.take();
}

void add_forces(Workspace& w, const std::vector<int>& wanted, const Payload& payload) {
  PayloadReader in(payload);
  const Slots slots = w.slots();
  for (const PlacedPatch& p : select(w, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    for (int64_t* component : slots.force)
      w.device.launch(AddIntegers{component + p.start, in.take<int64_t>(n), p.atoms},
                      Stream::kSide);
  }
}

}  // namespace

Schedule force_schedule(Workspace& w, const RankView& view, Clear clear_first, Reach reach,
                        Energies energies, Follows follows) {
  Schedule s;
  const RankPlan& plan = view.plans[static_cast<size_t>(view.rank)];

  for (const Exchange& peer : plan.sends)
    s.add({"positions.send", Priority::kHalo, Stream::kMain, {}, {}, [&w, peer](Post& post) {
             post.send(Edge::kPositions, peer.rank, pack_positions(w, peer.patches));
           }});

  std::vector<TaskId> clear;
  if (clear_first == Clear::kYes)
    clear.push_back(s.add({"forces.clear", Priority::kHalo, Stream::kMain, {}, {}, [&w](Post&) {
                             w.device.launch(w.clear_forces());
                           }}));

  std::vector<TaskId> proxies = clear;
  for (const Exchange& peer : plan.receives)
    proxies.push_back(s.add({"positions.receive",
                             Priority::kHalo,
                             Stream::kMain,
                             {},
                             {{Edge::kPositions, peer.rank}},
                             [&w, peer](Post& post) {
                               unpack_positions(w, peer.patches,
                                                post.received(Edge::kPositions, peer.rank));
                             }}));

  // The kernels of the long-range sum find room before pairs fill the machine. Terms need no lists:
  // while those are built on the side stream, the main one has time for them in the end.
  std::vector<TaskId> before_pairs = clear, before_terms = proxies;
  const Stream terms_stream = follows == Follows::kRebuild ? Stream::kMain : Stream::kSide;
  // Without that sum pairs are the longest chain, and lead. They stay behind lists that are being
  // built, and with forces from other ranks, which are added on the side stream.
  const bool pairs_lead = reach == Reach::kShort && follows == Follows::kStep && view.ranks == 1;
  const Stream pairs_stream = pairs_lead ? Stream::kMain : Stream::kSide;
  if (w.setup.nonbonded.pme && reach == Reach::kAll) {
    const LongRangeTasks tasks = add_long_range(s, w, view, energies);
    before_pairs.push_back(tasks.first);
    if (follows == Follows::kRebuild) before_terms.push_back(tasks.last);
  }

  std::vector<TaskId> proxies_used;
  if (plan.computes.size() > static_cast<size_t>(plan.interior))
    proxies_used.push_back(s.add(
        {"pairs.boundary", Priority::kAwaited, Stream::kSide, proxies, {}, [&w, energies](Post&) {
           w.device.launch(w.pair_forces(Part::kBoundary, energies), Stream::kSide);
         }}));
  const TaskId terms = s.add({"terms",
                              Priority::kAwaited,
                              terms_stream,
                              before_terms,
                              {},
                              [&w, energies, terms_stream](Post&) {
                                w.device.launch(w.term_forces(energies), terms_stream);
                              }});

  proxies_used.push_back(terms);
  for (const Exchange& peer : plan.receives)
    s.add({"forces.send", Priority::kHalo, Stream::kMain, proxies_used, {}, [&w, peer](Post& post) {
             post.send(Edge::kForces, peer.rank, pack_forces(w, peer.patches));
           }});

  s.add({"pairs.interior",
         Priority::kLocal,
         pairs_stream,
         before_pairs,
         {},
         [&w, energies, pairs_stream](Post&) {
           w.device.launch(w.pair_forces(Part::kInterior, energies), pairs_stream);
         }});

  for (const Exchange& peer : plan.sends)
    s.add({"forces.receive",
           Priority::kLocal,
           Stream::kSide,
           clear,
           {{Edge::kForces, peer.rank}},
           [&w, peer](Post& post) {
             add_forces(w, peer.patches, post.received(Edge::kForces, peer.rank));
           }});
  return s;
}

}  // namespace quiltmd
