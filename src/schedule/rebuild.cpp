// SPDX-License-Identifier: Apache-2.0
// The schedules of a rebuild: hydrogen groups move to the owners of their patches, owned patches are
// put in canonical order, and what the epoch may have to be redone from is kept; then proxies are laid
// out, and lists and terms follow. What arrives is put in order by the layout, so it may come in any.
#include "schedule/forces.h"

namespace quiltmd {
namespace {

// Tasks one after another on the main stream.
class Chain {
 public:
  explicit Chain(Schedule& schedule) : schedule_(schedule) {}
  void add(const char* name, std::function<void(Post&)> run, std::vector<MessageEnd> awaits = {},
           std::vector<MessageEnd> sends = {}) {
    last_ = {schedule_.add({name, Priority::kHalo, Stream::kMain, last_, std::move(run),
                            std::move(awaits), std::move(sends)})};
  }
  const std::vector<TaskId>& last() const { return last_; }

 private:
  Schedule& schedule_;
  std::vector<TaskId> last_;
};

void add_migration(Chain& chain, RankMemory& m, const RankView& view) {
  const size_t words = m.exchange.migrant_words();
  for (const int peer : view.peers())
    chain.add("migrants.send",
              [&m, peer](Post& post) {
                m.device.launch(m.exchange.send_migrants(peer, post.outlet(Edge::kMigrants, peer)));
              },
              {}, {{Edge::kMigrants, peer, words}});
  int index = 0;
  for (const int peer : view.peers())
    chain.add(
        "migrants.receive",
        [&m, peer, index = index++](Post& post) {
          m.device.launch(m.exchange.receive_migrants(index, post.inlet(Edge::kMigrants, peer)));
        },
        {{Edge::kMigrants, peer, words}});
  chain.add("layout.forget", [&m](Post&) { m.device.launch(m.exchange.forget_slots()); });
}

void add_proxies(Chain& chain, RankMemory& m, const RankPlan& plan) {
  for (size_t e = 0; e < plan.sends.size(); ++e) {
    const Exchange& to = plan.sends[e];
    chain.add("proxies.send",
              [&m, e, peer = to.rank](Post& post) {
                m.device.launch(m.exchange.send_proxies(e, post.outlet(Edge::kProxies, peer)));
              },
              {}, {{Edge::kProxies, to.rank, m.exchange.proxy_words(to)}});
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
  if (view.ranks > 1) add_migration(chain, memory, view);
  chain.add("layout.place", [&m = memory](Post&) {
    m.slots.swap_state();
    m.device.launch(m.slots.place_groups(m.exchange.groups_arrived()));
  });
  return s;
}

Schedule surround_schedule(RankMemory& memory, const RankView& view) {
  Schedule s({Edge::kProxies}, Schedule::End::kOpen);  // the long-range sum need not wait for lists
  Chain chain(s);
  add_proxies(chain, memory, view.plan());
  // What makes lists goes beside the rest: the long-range sum need not wait for it.
  for (ForceFamily* family : memory.families)
    for (const Work& work : family->rebuild_work()) {
      const Stream stream = work.lists == Lists::kUsed ? Stream::kSide : Stream::kMain;
      s.add({work.name, Priority::kLocal, stream, chain.last(),
             [launch = work.launch, stream](Post&) { launch(stream); }});
    }
  return s;
}

}  // namespace quiltmd
