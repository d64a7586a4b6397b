// SPDX-License-Identifier: Apache-2.0
// A force from outside is a peer: positions go to it as messages, forces come from it as messages. Each is an
// integer by place in the selections, and a sum over ranks.
#include "schedule/external.h"

namespace quiltmd {
namespace {

constexpr int kHome = 0;  // the rank that calls providers

MessageEnd end_of(const RankMemory& m, Edge edge, int peer, int round) {
  return {edge, peer, static_cast<size_t>(m.external->words()), 0, round};
}

// To whom positions go and from whom forces come, on a rank that does not call.
int above(const RankTree& tree) { return tree.is_at_top() ? kHome : tree.parent; }

TaskId add_positions_from(Schedule& s, RankMemory& m, TaskId after, int peer, int round) {
  return s.add_receive({"external.collect", Priority::kHalo, Stream::kHalo}, {after},
                       end_of(m, Edge::kExternalPositions, peer, round), [&m](const Inlet& in) {
                         m.device.launch(
                             ReceiveSums{m.external->positions(), m.external->words(), in},
                             Stream::kHalo);
                       });
}

// Up the tree of ranks, each of which adds its own. Returns the task, if there is one, after which on the rank that
// calls the positions of all atoms are there.
std::vector<TaskId> add_positions(Schedule& s, RankMemory& m, const RankView& view) {
  if (view.rank == kHome) m.external->prepare_calls(view.ranks > 1);
  if (!m.external->gathers()) return {};
  const RankTree& tree = view.plan().tree;
  TaskId last = s.add({"external.gather", Priority::kHalo, Stream::kHalo, {}, [&m](Post&) {
                         m.device.launch(m.external->gather(), Stream::kHalo);
                       }});
  for (const RankTree::Child& child : tree.children)
    last = add_positions_from(s, m, last, child.rank, RankTree::round_up(child.height));
  if (view.rank == kHome) {
    for (const int peer : tree.top)
      last = add_positions_from(s, m, last, peer, tree.round_across());
    return {last};
  }
  const int round = tree.is_at_top() ? tree.round_across() : RankTree::round_up(tree.height);
  return {s.add_send(
      {"external.send", Priority::kHalo, Stream::kHalo}, {last},
      end_of(m, Edge::kExternalPositions, above(tree), round), [&m](const Outlet& out) {
        m.device.launch(SendSums{m.external->positions(), m.external->words(), out}, Stream::kHalo);
      })};
}

TaskId add_forces_to(Schedule& s, RankMemory& m, TaskId after, int peer, int round) {
  return s.add_send({"external.return", Priority::kHalo, Stream::kHalo}, {after},
                    end_of(m, Edge::kExternalForces, peer, round), [&m](const Outlet& out) {
                      m.device.launch(SendSums{m.external->found(), m.external->words(), out},
                                      Stream::kHalo);
                    });
}

TaskId add_call(Schedule& s, RankMemory& m, const RankTree& tree, std::vector<TaskId> collected,
                Energies energies) {
  TaskId last = s.add({"external.call",
                       Priority::kAwaited,
                       Stream::kHalo,
                       std::move(collected),
                       [&m, energies](Post& post) { m.external->call({post.step(), energies}); },
                       {},
                       {},
                       Balance::kStays});
  for (const int peer : tree.top) last = add_forces_to(s, m, last, peer, tree.round_across());
  return last;
}

TaskId add_answer(Schedule& s, RankMemory& m, const RankTree& tree, std::vector<TaskId> sent) {
  const TaskId cleared = s.add({"external.clear", Priority::kHalo, Stream::kHalo, std::move(sent),
                                [&m](Post&) { m.external->clear_found(); }});
  const int round = tree.is_at_top() ? tree.round_across() : tree.round_down(tree.height);
  return s.add_receive({"external.receive", Priority::kHalo, Stream::kHalo}, {cleared},
                       end_of(m, Edge::kExternalForces, above(tree), round), [&m](const Inlet& in) {
                         m.device.launch(ReceiveSums{m.external->found(), m.external->words(), in},
                                         Stream::kHalo);
                       });
}

}  // namespace

TaskId add_external_forces(Schedule& s, RankMemory& memory, const RankView& view, Energies energies,
                           std::vector<TaskId> after) {
  std::vector<TaskId> positions = add_positions(s, memory, view);
  const bool calls = view.rank == kHome;
  TaskId last = calls ? add_call(s, memory, view.plan().tree, std::move(positions), energies)
                      : add_answer(s, memory, view.plan().tree, std::move(positions));
  for (const RankTree::Child& child : view.plan().tree.children)
    last = add_forces_to(s, memory, last, child.rank, view.plan().tree.round_down(child.height));
  after.push_back(last);
  const bool adds = calls && energies == Energies::kAdd;
  return s.add(
      {"external.add", Priority::kLocal, Stream::kHalo, std::move(after),
       [&m = memory, adds](Post&) { m.device.launch(m.external->add(adds), Stream::kHalo); }});
}

Schedule external_update_schedule(RankMemory& memory, const RankView& view) {
  Schedule s({Edge::kExternalPositions});
  if (!memory.external) return s;
  std::vector<TaskId> positions = add_positions(s, memory, view);
  if (view.rank == kHome)
    s.add({"external.update", Priority::kHalo, Stream::kHalo, std::move(positions),
           [&m = memory](Post& post) {
             m.device.launch(m.external->ask(), Stream::kHalo);
             m.external->update(post.step());
           }});
  return s;
}

}  // namespace quiltmd
