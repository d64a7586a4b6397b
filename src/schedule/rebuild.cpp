// SPDX-License-Identifier: Apache-2.0
// The schedule of a rebuild: hydrogen groups move to the owners of their patches, owned patches are
// put in canonical order, proxies are announced, lists and terms follow, and what the epoch may have to
// be redone from is kept.
#include <algorithm>

#include "schedule/forces.h"
#include "schedule/payload.h"

namespace quiltmd {
namespace {

int padded(int atoms) { return (atoms + kClusterSize - 1) / kClusterSize * kClusterSize; }

// Which rank owns each patch, from all plans.
std::vector<int> owners(const RankView& view, int patches) {
  std::vector<int> owner(static_cast<size_t>(patches), -1);
  for (int r = 0; r < view.ranks; ++r)
    for (const int p : view.plans[static_cast<size_t>(r)].owned) owner[static_cast<size_t>(p)] = r;
  return owner;
}

// The groups that leave for one rank: records, then positions and velocities of their atoms.
Payload pack_migrants(SlotMemory& slots, const std::vector<int>& owner, int to) {
  const auto count = static_cast<size_t>(slots.group_count.download()[0]);
  const auto used = static_cast<size_t>(slots.source_slots);
  const auto records = slots.records.download(count);
  const auto position = slots.position().download(used);
  const auto velocity = slots.velocity().download(used);
  const auto& start = slots.system.group_start;
  std::vector<GroupRecord> leaving;
  std::vector<Vec3d> atoms;
  for (const GroupRecord& r : records) {
    if (owner[static_cast<size_t>(r.patch)] != to) continue;
    leaving.push_back(r);
    const auto g = static_cast<size_t>(r.group), first = static_cast<size_t>(r.source);
    for (size_t a = 0; a < static_cast<size_t>(start[g + 1] - start[g]); ++a) {
      atoms.push_back(position[first + a]);
      atoms.push_back(velocity[first + a]);
    }
  }
  PayloadWriter out;
  const auto n = static_cast<int64_t>(leaving.size());
  out.add(&n, 1);
  out.add(leaving.data(), leaving.size());
  out.add(atoms.data(), atoms.size());
  return out.take();
}

// Forget the groups that left and append those that arrived, their state behind the slots in use.
void merge_migrants(SlotMemory& slots, const RankView& view, const std::vector<int>& owner,
                    Post& post) {
  const auto count = static_cast<size_t>(slots.group_count.download()[0]);
  std::vector<GroupRecord> records = slots.records.download(count);
  std::erase_if(records, [&](const GroupRecord& r) {
    return owner[static_cast<size_t>(r.patch)] != view.rank;
  });
  std::vector<Vec3d> position, velocity;
  const auto& start = slots.system.group_start;
  for (int peer = 0; peer < view.ranks; ++peer) {
    if (peer == view.rank) continue;
    PayloadReader in(post.received(Edge::kMigrants, peer));
    const auto n = static_cast<size_t>(*in.take<int64_t>(1));
    const GroupRecord* arrived = in.take<GroupRecord>(n);
    for (size_t i = 0; i < n; ++i) {
      GroupRecord record = arrived[i];
      record.source = slots.source_slots + static_cast<int32_t>(position.size());
      const auto g = static_cast<size_t>(record.group);
      for (int32_t a = start[g]; a < start[g + 1]; ++a) {
        const Vec3d* state = in.take<Vec3d>(2);
        position.push_back(state[0]);
        velocity.push_back(state[1]);
      }
      records.push_back(record);
    }
  }
  const size_t bytes = position.size() * sizeof(Vec3d);
  slots.device.copy_in(slots.position().data() + slots.source_slots, position.data(), bytes);
  slots.device.copy_in(slots.velocity().data() + slots.source_slots, velocity.data(), bytes);
  slots.records.upload(records);
  const auto now = static_cast<int32_t>(records.size());
  slots.device.copy_in(slots.group_count.data(), &now, sizeof now);
}

// What a proxy of a patch needs to know once per rebuild.
Payload pack_proxies(SlotMemory& slots, const std::vector<int>& wanted) {
  PayloadWriter out;
  for (const PlacedPatch& p : slots.patches.download(slots.plan().owned.size())) {
    if (!std::binary_search(wanted.begin(), wanted.end(), p.patch)) continue;
    out.add(&p, 1);
    const auto n = static_cast<size_t>(padded(p.atoms));
    slots.device.copy_out(out.space<int32_t>(n), slots.atom.data() + p.start, n * sizeof(int32_t));
    slots.device.copy_out(out.space<Float4>(n), slots.local.data() + p.start, n * sizeof(Float4));
    slots.device.copy_out(out.space<Float4>(n), slots.low.data() + p.start, n * sizeof(Float4));
  }
  return out.take();
}

// Slots of one proxy patch, padding included.
void place_proxy(SlotMemory& slots, const PlacedPatch& p, int index, PayloadReader& in,
                 std::vector<int32_t>& slot_of_atom) {
  const auto n = static_cast<size_t>(padded(p.atoms));
  const int32_t* atoms = in.take<int32_t>(n);
  slots.device.copy_in(slots.atom.data() + p.start, atoms, n * sizeof(int32_t));
  slots.device.copy_in(slots.local.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
  slots.device.copy_in(slots.low.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
  std::vector<Float2> lj(n, Float2{0, 0});
  for (size_t i = 0; i < static_cast<size_t>(p.atoms); ++i) {
    lj[i] = slots.lj_of(atoms[i]);
    slot_of_atom[static_cast<size_t>(atoms[i])] = p.start + static_cast<int32_t>(i);
  }
  slots.device.copy_in(slots.lj.data() + p.start, lj.data(), n * sizeof(Float2));
  const std::vector<int32_t> patch(n / kClusterSize, index);
  slots.device.copy_in(slots.cluster_patch.data() + p.start / kClusterSize, patch.data(),
                       patch.size() * sizeof(int32_t));
}

// Lay proxies out behind the owned slots, ascending by patch, whoever sent them.
void place_proxies(SlotMemory& slots, const RankPlan& plan, Post& post) {
  std::vector<PlacedPatch> patches = slots.patches.download(plan.owned.size());
  std::vector<int32_t> slot_of_atom = slots.slot_of_atom.download();
  int32_t next = slots.owned_slots.download()[0];
  std::vector<PayloadReader> readers;
  for (const Exchange& peer : plan.receives)
    readers.emplace_back(post.received(Edge::kProxies, peer.rank));
  for (const int patch : plan.proxies) {
    size_t from = 0;
    while (!std::binary_search(plan.receives[from].patches.begin(),
                               plan.receives[from].patches.end(), patch))
      ++from;
    PlacedPatch placed = *readers[from].take<PlacedPatch>(1);
    placed.start = next;
    place_proxy(slots, placed, static_cast<int>(patches.size()), readers[from], slot_of_atom);
    next += padded(placed.atoms);
    patches.push_back(placed);
  }
  slots.patches.upload(patches);
  slots.slot_of_atom.upload(slot_of_atom);
  slots.device.copy_in(slots.all_slots.data(), &next, sizeof next);
}

std::vector<Await> from_peers(const RankView& view, Edge edge) {
  std::vector<Await> awaits;
  for (int peer = 0; peer < view.ranks; ++peer)
    if (peer != view.rank) awaits.push_back({edge, peer});
  return awaits;
}

}  // namespace

Schedule rebuild_schedule(RankMemory& memory, const RankView& view) {
  Schedule s(Schedule::End::kOpen);  // the long-range sum need not wait for lists
  SlotMemory& slots = memory.slots;
  const RankPlan& plan = view.plans[static_cast<size_t>(view.rank)];
  const std::vector<int> owner = owners(view, slots.patch_grid.size());

  std::vector<TaskId> here;  // what makes sure that the rank's groups are here
  if (view.ranks > 1) {
    TaskId last = s.add({"layout.bin", Priority::kHalo, Stream::kMain, {}, {}, [&slots](Post&) {
                           slots.device.launch(slots.bin_groups());
                         }});
    for (int peer = 0; peer < view.ranks; ++peer) {
      if (peer == view.rank) continue;
      last = s.add({"migrants.send",
                    Priority::kHalo,
                    Stream::kMain,
                    {last},
                    {},
                    [&slots, owner, peer](Post& post) {
                      post.send(Edge::kMigrants, peer, pack_migrants(slots, owner, peer));
                    }});
    }
    last =
        s.add({"migrants.receive",
               Priority::kHalo,
               Stream::kMain,
               {last},
               from_peers(view, Edge::kMigrants),
               [&slots, &view, owner](Post& post) { merge_migrants(slots, view, owner, post); }});
    here.push_back(last);
  }
  TaskId last = s.add({"layout.place",
                       Priority::kHalo,
                       Stream::kMain,
                       here,
                       {},
                       [&slots, alone = view.ranks == 1](Post&) {
                         using Records = SlotMemory::Records;
                         if (!alone)  // atoms leave
                           slots.device.fill(slots.slot_of_atom.data(), 0xff,
                                             slots.slot_of_atom.bytes(), Stream::kMain);
                         slots.swap_state();
                         slots.device.launch(
                             slots.place_groups(alone ? Records::kToBeMade : Records::kBinned));
                       }});
  for (const Exchange& peer : plan.sends)
    s.add({"proxies.send", Priority::kHalo, Stream::kMain, {last}, {}, [&slots, peer](Post& post) {
             post.send(Edge::kProxies, peer.rank, pack_proxies(slots, peer.patches));
           }});
  if (!plan.receives.empty()) {
    std::vector<Await> awaits;
    for (const Exchange& peer : plan.receives) awaits.push_back({Edge::kProxies, peer.rank});
    last = s.add({"proxies.receive",
                  Priority::kHalo,
                  Stream::kMain,
                  {last},
                  awaits,
                  [&slots, &plan](Post& post) {
                    place_proxies(slots, plan, post);
                    slots.device.launch(slots.bound_clusters());
                  }});
  }
  // What makes lists goes beside the rest: the long-range sum need not wait for it.
  for (ForceFamily* family : memory.families)
    for (const Work& work : family->rebuild_work()) {
      const Stream stream = work.lists == Lists::kUsed ? Stream::kSide : Stream::kMain;
      s.add(
          {work.name, Priority::kLocal, stream, {last}, {}, [launch = work.launch, stream](Post&) {
             launch(stream);
           }});
    }
  return s;
}

}  // namespace quiltmd
