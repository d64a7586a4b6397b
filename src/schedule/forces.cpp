// SPDX-License-Identifier: Apache-2.0
// One step's forces on one page: read force_schedule() from top to bottom.
//
//   positions ->-- halo out ......... proxies in --> boundary pairs, bonded terms --> forces out
//        |                                                                               :
//        +--> charges --> planes --> lines --> planes back --> long-range forces     forces in
//        +--> interior pairs (fills every gap)
//
// Pairs and bonded terms are the work that the families of forces ask for (computes/force_family.h).
// With one rank the messages vanish and the same tasks remain.
#include "schedule/forces.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedule/long_range.h"
#include "schedule/operations.h"
#include "schedule/payload.h"

namespace quiltmd {
namespace {

std::vector<PlacedPatch> placed_patches(const SlotMemory& slots) {
  return slots.patches.download(slots.plan().owned.size() + slots.plan().proxies.size());
}

// The placed patches of one exchange.
std::vector<PlacedPatch> select(const SlotMemory& slots, const std::vector<int>& wanted) {
  std::vector<PlacedPatch> selected;
  for (const PlacedPatch& p : placed_patches(slots))
    if (std::binary_search(wanted.begin(), wanted.end(), p.patch)) selected.push_back(p);
  return selected;
}

Payload pack_positions(SlotMemory& slots, const std::vector<int>& wanted) {
  PayloadWriter out;
  for (const PlacedPatch& p : select(slots, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    slots.device.copy_out(out.space<Float4>(n), slots.local.data() + p.start, n * sizeof(Float4));
    slots.device.copy_out(out.space<Float4>(n), slots.low.data() + p.start, n * sizeof(Float4));
  }
  return out.take();
}

void unpack_positions(SlotMemory& slots, const std::vector<int>& wanted, const Payload& payload) {
  PayloadReader in(payload);
  for (const PlacedPatch& p : select(slots, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    slots.device.copy_in(slots.local.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
    slots.device.copy_in(slots.low.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
  }
}

Payload pack_forces(SlotMemory& slots, const std::vector<int>& wanted) {
  PayloadWriter out;
  const Slots at = slots.slots();
  for (const PlacedPatch& p : select(slots, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    for (const int64_t* component : at.force)
      slots.device.copy_out(out.space<int64_t>(n), component + p.start, n * sizeof(int64_t));
  }
  return out.take();
}

void add_forces(SlotMemory& slots, const std::vector<int>& wanted, const Payload& payload) {
  PayloadReader in(payload);
  const Slots at = slots.slots();
  for (const PlacedPatch& p : select(slots, wanted)) {
    const auto n = static_cast<size_t>(p.atoms);
    for (int64_t* component : at.force)
      slots.device.launch(AddIntegers{component + p.start, in.take<int64_t>(n), p.atoms},
                          Stream::kSide);
  }
}

// The work of all families in a step that reads positions of these.
std::vector<Work> step_work(RankMemory& memory, Energies energies, Positions positions) {
  std::vector<Work> found;
  for (ForceFamily* family : memory.families)
    for (Work& work : family->step_work(energies))
      if (work.positions == positions) found.push_back(std::move(work));
  return found;
}

}  // namespace

Schedule force_schedule(RankMemory& memory, const RankView& view, Clear clear_first, Reach reach,
                        Energies energies, Follows follows) {
  Schedule s;
  SlotMemory& slots = memory.slots;
  const RankPlan& plan = view.plans[static_cast<size_t>(view.rank)];

  for (const Exchange& peer : plan.sends)
    s.add({"positions.send", Priority::kHalo, Stream::kMain, {}, {}, [&slots, peer](Post& post) {
             post.send(Edge::kPositions, peer.rank, pack_positions(slots, peer.patches));
           }});

  std::vector<TaskId> clear;
  if (clear_first == Clear::kYes)
    clear.push_back(
        s.add({"forces.clear", Priority::kHalo, Stream::kMain, {}, {}, [&memory](Post&) {
                 memory.device.launch(memory.groups.clear_forces());
               }}));

  std::vector<TaskId> proxies = clear;
  for (const Exchange& peer : plan.receives)
    proxies.push_back(s.add({"positions.receive",
                             Priority::kHalo,
                             Stream::kMain,
                             {},
                             {{Edge::kPositions, peer.rank}},
                             [&slots, peer](Post& post) {
                               unpack_positions(slots, peer.patches,
                                                post.received(Edge::kPositions, peer.rank));
                             }}));

  // The chain of the long-range sum leads on the main stream, all else goes beside it; work that no
  // other rank awaits starts when the first kernel of that chain has found room. After a rebuild the
  // lists are still being built on the side stream: what needs none then ends the main one.
  std::optional<LongRangeTasks> sum;
  if (memory.mesh && reach == Reach::kAll) sum = add_long_range(s, memory, view, energies);
  const bool rebuilt = follows == Follows::kRebuild;
  // Without that sum pairs are the longest chain, and lead; not behind lists that are being built,
  // nor with forces from other ranks, which are added on the side stream.
  const bool pairs_lead = reach == Reach::kShort && !rebuilt && view.ranks == 1;
  const auto add = [&](const Work& work, Priority priority, std::vector<TaskId> after) {
    const bool on_main = work.lists == Lists::kUsed ? pairs_lead : rebuilt;
    const Stream stream = on_main ? Stream::kMain : Stream::kSide;
    if (sum && work.positions == Positions::kOwned) after.push_back(sum->first);
    if (sum && work.lists == Lists::kNotUsed && rebuilt) after.push_back(sum->last);
    return s.add(
        {work.name, priority, stream, std::move(after), {}, [launch = work.launch, stream](Post&) {
           launch(stream);
         }});
  };

  std::vector<TaskId> proxies_used;
  for (const Work& work : step_work(memory, energies, Positions::kWithProxies))
    proxies_used.push_back(add(work, Priority::kAwaited, proxies));
  for (const Exchange& peer : plan.receives)
    s.add({"forces.send",
           Priority::kHalo,
           Stream::kMain,
           proxies_used,
           {},
           [&slots, peer](Post& post) {
             post.send(Edge::kForces, peer.rank, pack_forces(slots, peer.patches));
           }});
  for (const Work& work : step_work(memory, energies, Positions::kOwned))
    add(work, Priority::kLocal, clear);

  for (const Exchange& peer : plan.sends)
    s.add({"forces.receive",
           Priority::kLocal,
           Stream::kSide,
           clear,
           {{Edge::kForces, peer.rank}},
           [&slots, peer](Post& post) {
             add_forces(slots, peer.patches, post.received(Edge::kForces, peer.rank));
           }});
  return s;
}

}  // namespace quiltmd
