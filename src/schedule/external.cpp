// SPDX-License-Identifier: Apache-2.0
// A force from outside is a peer: positions go to it as messages, forces come from it as messages. Each is an
// integer by place in the selections, and a sum over ranks.
#include "schedule/external.h"

namespace quiltmd {
namespace {

constexpr int kHome = 0;  // the rank that calls providers

MessageEnd end_of(const RankMemory& m, Edge edge, int peer) {
  return {edge, peer, static_cast<size_t>(m.external->words())};
}

// Returns the task after which, on the rank that calls, the positions of all atoms are there.
TaskId add_positions(Schedule& s, RankMemory& m, const RankView& view) {
  TaskId last = s.add({"external.gather", Priority::kHalo, Stream::kHalo, {}, [&m](Post&) {
                         m.device.launch(m.external->gather(), Stream::kHalo);
                       }});
  if (view.rank != kHome)
    return s.add_send({"external.send", Priority::kHalo, Stream::kHalo}, {last},
                      end_of(m, Edge::kExternalPositions, kHome), [&m](const Outlet& out) {
                        m.device.launch(SendSums{m.external->positions(), m.external->words(), out},
                                        Stream::kHalo);
                      });
  for (const int peer : view.peers())
    last = s.add_receive({"external.collect", Priority::kHalo, Stream::kHalo}, {last},
                         end_of(m, Edge::kExternalPositions, peer), [&m](const Inlet& in) {
                           m.device.launch(
                               ReceiveSums{m.external->positions(), m.external->words(), in},
                               Stream::kHalo);
                         });
  return last;
}

// On the rank that calls, and what it sends to the others.
TaskId add_call(Schedule& s, RankMemory& m, const RankView& view, TaskId collected) {
  m.external->prepare_calls();
  TaskId last =
      s.add({"external.call", Priority::kAwaited, Stream::kHalo, {collected}, [&m](Post& post) {
               m.external->call(post.step());
             }});
  for (const int peer : view.peers())
    last = s.add_send({"external.return", Priority::kHalo, Stream::kHalo}, {last},
                      end_of(m, Edge::kExternalForces, peer), [&m](const Outlet& out) {
                        m.device.launch(SendSums{m.external->found(), m.external->words(), out},
                                        Stream::kHalo);
                      });
  return last;
}

TaskId add_answer(Schedule& s, RankMemory& m, TaskId sent) {
  const TaskId cleared =
      s.add({"external.clear", Priority::kHalo, Stream::kHalo, {sent}, [&m](Post&) {
               m.external->clear_found();
             }});
  return s.add_receive({"external.receive", Priority::kHalo, Stream::kHalo}, {cleared},
                       end_of(m, Edge::kExternalForces, kHome), [&m](const Inlet& in) {
                         m.device.launch(ReceiveSums{m.external->found(), m.external->words(), in},
                                         Stream::kHalo);
                       });
}

}  // namespace

TaskId add_external_forces(Schedule& s, RankMemory& memory, const RankView& view, Energies energies,
                           std::vector<TaskId> after) {
  const TaskId positions = add_positions(s, memory, view);
  const bool calls = view.rank == kHome;
  after.push_back(calls ? add_call(s, memory, view, positions) : add_answer(s, memory, positions));
  const bool adds = calls && energies == Energies::kAdd;
  return s.add(
      {"external.add", Priority::kLocal, Stream::kHalo, std::move(after),
       [&m = memory, adds](Post&) { m.device.launch(m.external->add(adds), Stream::kHalo); }});
}

Schedule external_update_schedule(RankMemory& memory, const RankView& view) {
  Schedule s({Edge::kExternalPositions});
  if (!memory.external) return s;
  const TaskId positions = add_positions(s, memory, view);
  if (view.rank == kHome)
    s.add(
        {"external.update", Priority::kHalo, Stream::kHalo, {positions}, [&m = memory](Post& post) {
           m.device.launch(m.external->ask(), Stream::kHalo);
           m.external->update(post.step());
         }});
  return s;
}

}  // namespace quiltmd
