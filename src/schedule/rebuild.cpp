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
Payload pack_migrants(Workspace& w, const std::vector<int>& owner, int to) {
  const auto count = static_cast<size_t>(w.group_count.download()[0]);
  const auto used = static_cast<size_t>(w.source_slots);
  const auto records = w.records.download(count);
  const auto position = w.position[w.current].download(used);
  const auto velocity = w.velocity[w.current].download(used);
  const auto& start = w.setup.system.group_start;
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
void merge_migrants(Workspace& w, const RankView& view, const std::vector<int>& owner, Post& post) {
  const auto count = static_cast<size_t>(w.group_count.download()[0]);
  std::vector<GroupRecord> records = w.records.download(count);
  std::erase_if(records, [&](const GroupRecord& r) {
    return owner[static_cast<size_t>(r.patch)] != view.rank;
  });
  std::vector<Vec3d> position, velocity;
  const auto& start = w.setup.system.group_start;
  for (int peer = 0; peer < view.ranks; ++peer) {
    if (peer == view.rank) continue;
    PayloadReader in(post.received(Edge::kMigrants, peer));
    const auto n = static_cast<size_t>(*in.take<int64_t>(1));
    const GroupRecord* arrived = in.take<GroupRecord>(n);
    for (size_t i = 0; i < n; ++i) {
      GroupRecord record = arrived[i];
      record.source = w.source_slots + static_cast<int32_t>(position.size());
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
  w.device.copy_in(w.position[w.current].data() + w.source_slots, position.data(), bytes);
  w.device.copy_in(w.velocity[w.current].data() + w.source_slots, velocity.data(), bytes);
  w.records.upload(records);
  const auto now = static_cast<int32_t>(records.size());
  w.device.copy_in(w.group_count.data(), &now, sizeof now);
}

// What a proxy of a patch needs to know once per rebuild.
Payload pack_proxies(Workspace& w, const std::vector<int>& wanted) {
  PayloadWriter out;
  for (const PlacedPatch& p : w.patches.download(w.plan().owned.size())) {
    if (!std::binary_search(wanted.begin(), wanted.end(), p.patch)) continue;
    out.add(&p, 1);
    const auto n = static_cast<size_t>(padded(p.atoms));
    w.device.copy_out(out.space<int32_t>(n), w.atom.data() + p.start, n * sizeof(int32_t));
    w.device.copy_out(out.space<Float4>(n), w.local.data() + p.start, n * sizeof(Float4));
    w.device.copy_out(out.space<Float4>(n), w.low.data() + p.start, n * sizeof(Float4));
  }
  return out.take();
}

// Slots of one proxy patch, padding included.
void place_proxy(Workspace& w, const PlacedPatch& p, int index, PayloadReader& in,
                 std::vector<int32_t>& slot_of_atom) {
  const auto n = static_cast<size_t>(padded(p.atoms));
  const int32_t* atoms = in.take<int32_t>(n);
  w.device.copy_in(w.atom.data() + p.start, atoms, n * sizeof(int32_t));
  w.device.copy_in(w.local.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
  w.device.copy_in(w.low.data() + p.start, in.take<Float4>(n), n * sizeof(Float4));
  std::vector<Float2> lj(n, Float2{0, 0});
  for (size_t i = 0; i < static_cast<size_t>(p.atoms); ++i) {
    lj[i] = w.host_lj[static_cast<size_t>(atoms[i])];
    slot_of_atom[static_cast<size_t>(atoms[i])] = p.start + static_cast<int32_t>(i);
  }
  w.device.copy_in(w.lj.data() + p.start, lj.data(), n * sizeof(Float2));
  const std::vector<int32_t> patch(n / kClusterSize, index);
  w.device.copy_in(w.cluster_patch.data() + p.start / kClusterSize, patch.data(),
                   patch.size() * sizeof(int32_t));
}

// Lay proxies out behind the owned slots, ascending by patch, whoever sent them.
void place_proxies(Workspace& w, const RankPlan& plan, Post& post) {
  std::vector<PlacedPatch> patches = w.patches.download(plan.owned.size());
  std::vector<int32_t> slot_of_atom = w.slot_of_atom.download();
  int32_t next = w.owned_slots.download()[0];
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
    place_proxy(w, placed, static_cast<int>(patches.size()), readers[from], slot_of_atom);
    next += padded(placed.atoms);
    patches.push_back(placed);
  }
  w.patches.upload(patches);
  w.slot_of_atom.upload(slot_of_atom);
  w.device.copy_in(w.all_slots.data(), &next, sizeof next);
}

std::vector<Await> from_peers(const RankView& view, Edge edge) {
  std::vector<Await> awaits;
  for (int peer = 0; peer < view.ranks; ++peer)
    if (peer != view.rank) awaits.push_back({edge, peer});
  return awaits;
}

}  // namespace

Schedule rebuild_schedule(Workspace& w, const RankView& view) {
  Schedule s(Schedule::End::kOpen);  // the long-range sum need not wait for lists
  const RankPlan& plan = view.plans[static_cast<size_t>(view.rank)];
  const std::vector<int> owner = owners(view, w.setup.grid.size());

  std::vector<TaskId> here;  // what makes sure that the rank's groups are here
  if (view.ranks > 1) {
    TaskId last = s.add({"layout.bin", Priority::kHalo, Stream::kMain, {}, {}, [&w](Post&) {
                           w.device.launch(w.bin_groups());
                         }});
    for (int peer = 0; peer < view.ranks; ++peer) {
      if (peer == view.rank) continue;
      last = s.add({"migrants.send",
                    Priority::kHalo,
                    Stream::kMain,
                    {last},
                    {},
                    [&w, owner, peer](Post& post) {
                      post.send(Edge::kMigrants, peer, pack_migrants(w, owner, peer));
                    }});
    }
    last = s.add({"migrants.receive",
                  Priority::kHalo,
                  Stream::kMain,
                  {last},
                  from_peers(view, Edge::kMigrants),
                  [&w, &view, owner](Post& post) { merge_migrants(w, view, owner, post); }});
    here.push_back(last);
  }
  TaskId last =
      s.add({"layout.place",
             Priority::kHalo,
             Stream::kMain,
             here,
             {},
             [&w, alone = view.ranks == 1](Post&) {
               using Records = Workspace::Records;
               if (!alone)  // atoms leave
                 w.device.fill(w.slot_of_atom.data(), 0xff, w.slot_of_atom.bytes(), Stream::kMain);
               w.device.launch(w.place_groups(alone ? Records::kToBeMade : Records::kBinned));
             }});
  for (const Exchange& peer : plan.sends)
    s.add({"proxies.send", Priority::kHalo, Stream::kMain, {last}, {}, [&w, peer](Post& post) {
             post.send(Edge::kProxies, peer.rank, pack_proxies(w, peer.patches));
           }});
  if (!plan.receives.empty()) {
    std::vector<Await> awaits;
    for (const Exchange& peer : plan.receives) awaits.push_back({Edge::kProxies, peer.rank});
    last = s.add({"proxies.receive",
                  Priority::kHalo,
                  Stream::kMain,
                  {last},
                  awaits,
                  [&w, &plan](Post& post) {
                    place_proxies(w, plan, post);
                    w.device.launch(w.bound_clusters());
                  }});
  }
  s.add({"lists.build", Priority::kLocal, Stream::kSide, {last}, {}, [&w](Post&) {
           w.device.launch(w.number_lists(), Stream::kSide);
           w.device.launch(w.build_lists(), Stream::kSide);
         }});
  s.add({"terms.place", Priority::kLocal, Stream::kMain, {last}, {}, [&w](Post&) {
           w.device.launch(w.place_terms());
         }});
  return s;
}

}  // namespace quiltmd
