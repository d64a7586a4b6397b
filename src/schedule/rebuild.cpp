// SPDX-License-Identifier: Apache-2.0
// The schedules of a rebuild: hydrogen groups move to the owners of their patches, owned patches are
// put in canonical order, and what the epoch may have to be redone from is kept; then proxies are laid
// out, and lists and terms follow. What arrives is put in order by the layout, so it may come in any.
#include "schedule/rebuild.h"

namespace quiltmd {
namespace {

// Tasks one after another on the main stream.
class Chain {
 public:
  explicit Chain(Schedule& schedule) : schedule_(schedule) {}
  void add(const char* name, std::function<void(Post&)> run, std::vector<MessageEnd> awaits = {}) {
    last_ = {schedule_.add(
        {name, Priority::kHalo, Stream::kMain, last_, std::move(run), std::move(awaits)})};
  }
  void add_send(const char* name, const MessageEnd& to, std::function<void(const Outlet&)> write) {
    last_ = {
        schedule_.add_send({name, Priority::kHalo, Stream::kMain}, last_, to, std::move(write))};
  }
  void add_receive(const char* name, const MessageEnd& from,
                   std::function<void(const Inlet&)> read) {
    last_ = {schedule_.add_receive({name, Priority::kHalo, Stream::kMain}, last_, from,
                                   std::move(read))};
  }
  const std::vector<TaskId>& last() const { return last_; }

 private:
  Schedule& schedule_;
  std::vector<TaskId> last_;
};

void add_migration(Chain& chain, RankMemory& m, const RankPlan& plan) {
  const std::vector<int>& peers = plan.migrant_peers;
  if (!plan.tree.has_all_at_top())
    chain.add("migrants.check", [&m](Post&) { m.device.launch(m.exchange.find_far_migrants()); });
  const auto end = [&](size_t peer) {
    return MessageEnd{Edge::kMigrants, peers[peer], m.exchange.migrant_words(peer)};
  };
  for (size_t peer = 0; peer < peers.size(); ++peer)
    chain.add_send("migrants.send", end(peer), [&m, peer](const Outlet& out) {
      m.device.launch(m.exchange.send_migrants(peer, out));
    });
  for (size_t peer = 0; peer < peers.size(); ++peer)
    chain.add_receive("migrants.receive", end(peer), [&m, peer](const Inlet& in) {
      m.device.launch(m.exchange.receive_migrants(peer, in));
    });
  chain.add("layout.forget", [&m](Post&) { m.device.launch(m.exchange.clear_slot_of_atom()); });
}

void add_proxies(Chain& chain, RankMemory& m, const RankPlan& plan) {
  for (size_t e = 0; e < plan.sends.size(); ++e) {
    const Exchange& to = plan.sends[e];
    chain.add_send(
        "proxies.send", {Edge::kProxies, to.rank, m.exchange.proxy_words(to)},
        [&m, e](const Outlet& out) { m.device.launch(m.exchange.send_proxies(e, out)); });
  }
  if (plan.receives.empty()) return;
  std::vector<MessageEnd> awaits;
  for (const Exchange& from : plan.receives)
    awaits.push_back({Edge::kProxies, from.rank, m.exchange.proxy_words(from)});
  chain.add(
      "proxies.receive",
      [&m, &plan](Post& post) {
        const auto inlet = [&](size_t e) {
          return post.inlet(Edge::kProxies, plan.receives[e].rank);
        };
        for (size_t e = 0; e < plan.receives.size(); ++e)
          m.device.launch(m.exchange.receive_counts(e, inlet(e)));
        m.device.launch(m.exchange.lay_out_proxies());
        for (size_t e = 0; e < plan.receives.size(); ++e)
          m.device.launch(m.exchange.receive_proxies(e, inlet(e)));
        m.device.launch(m.slots.bound_clusters());
      },
      awaits);
}

}  // namespace

Schedule migrate_schedule(RankMemory& memory, const RankView& view) {
  Schedule s({Edge::kMigrants});
  Chain chain(s);
  if (view.ranks > 1) add_migration(chain, memory, view.plan());
  chain.add("layout.place", [&m = memory](Post&) {
    m.slots.swap_state();
    m.device.launch(m.slots.place_groups(m.exchange.groups_arrived()));
  });
  return s;
}

Schedule proxies_and_lists_schedule(RankMemory& memory, const RankView& view) {
  Schedule s({Edge::kProxies}, Schedule::End::kOpen);  // the long-range sum need not wait for lists
  Chain chain(s);
  add_proxies(chain, memory, view.plan());
  if (memory.setup.grid.is_open())
    chain.add("spread", [&m = memory](Post&) { m.device.launch(m.slots.check_spread()); });
  if (memory.setup.grid.rule.has_large_groups())
    chain.add("extents", [&m = memory](Post&) { m.device.launch(m.slots.check_extents()); });
  // List builds run beside other work, and so does work with its own stream in steps: the long-range sum need
  // not wait for them.
  for (Rebuilt* part : memory.rebuilt)
    for (const Work& work : part->rebuild_work()) {
      const bool lists = work.lists == Lists::kUsed;
      const Stream stream = work.apart ? stream_apart(memory, view)
                            : lists    ? Stream::kSide
                                       : Stream::kMain;
      s.add({work.name, Priority::kLocal, stream, chain.last(),
             [launch = work.launch, stream](Post&) { launch(stream, 0); }});
    }
  return s;
}

}  // namespace quiltmd
