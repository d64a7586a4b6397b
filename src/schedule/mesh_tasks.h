// SPDX-License-Identifier: Apache-2.0
// What methods with a mesh have in common in the schedule of a rank: charges go to those who own the planes,
// potentials come back, parts of grids are messages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "computes/long_range/pme/mesh_memory.h"
#include "schedule/grid_shares.h"
#include "schedule/rank_memory.h"

namespace quiltmd {

struct MeshWork {
  const char* prefix;  // of the names of tasks
  Device& device;
  const Setup& setup;
  MeshMemory& mesh;
  Energies energies;
  std::vector<TaskId> after =
      {};  // what writes forces before; of a mesh whose forces are added to those of another
};

// Adds tasks for one rank; every hop is one method of those that inherit from this.
class MeshTasks {
 public:
  MeshTasks(Schedule& schedule, const MeshWork& work, const RankView& view)
      : s_(schedule),
        device_(work.device),
        mesh_(work.mesh),
        edges_(edges_of(work.mesh.of)),
        view_(view),
        shares_(work.setup, work.mesh.grid, view.plans, view.mesh),
        block_(shares_.block(view.rank)),
        energies_(work.energies),
        prefix_(work.prefix),
        before_forces_(work.after) {}

 protected:
  TaskId task(const char* name, std::vector<TaskId> after, std::function<void(Post&)> run,
              std::vector<MessageEnd> awaits = {}, std::vector<MessageEnd> sends = {}) {
    return s_.add({name_of(name), Priority::kLongRange, Stream::kMain, std::move(after),
                   std::move(run), std::move(awaits), std::move(sends)});
  }
  std::string name_of(const char* task) const { return prefix_ + std::string(task); }

  // Tasks that send a part of a grid, and that receive one with Op; none for parts without planes.
  void send(const char* name, Edge edge, int peer, TaskId after, const GridRuns& runs,
            const void* grid, std::vector<TaskId>* sent = nullptr) {
    const auto words = static_cast<size_t>(runs.words());
    if (words == 0) return;
    const GridPart part = runs.part(mesh_.number_list(runs.planes).data());
    const TaskId id = s_.add_send(
        {name_of(name), Priority::kLongRange, Stream::kMain}, {after}, {edge, peer, words},
        [&device = device_, part, from = static_cast<const uint32_t*>(grid)](const Outlet& out) {
          device.launch(SendGrid{part, from, out});
        });
    if (sent) sent->push_back(id);
  }
  template <class Op>
  void receive(const char* name, Edge edge, int peer, std::vector<TaskId> after,
               const GridRuns& runs, void* grid, std::vector<TaskId>& ready) {
    const auto words = static_cast<size_t>(runs.words());
    if (words == 0) return;
    const GridPart part = runs.part(mesh_.number_list(runs.planes).data());
    ready.push_back(s_.add_receive(
        {name_of(name), Priority::kLongRange, Stream::kMain}, std::move(after), {edge, peer, words},
        [&device = device_, part, to = static_cast<uint32_t*>(grid)](const Inlet& in) {
          device.launch(Op{part, to, in});
        }));
  }

  // The charges of all ranks on the planes of this one.
  std::vector<TaskId> charges() {
    const TaskId spread = task("spread", {}, [&device = device_, &mesh = mesh_](Post&) {
      device.launch(mesh.spread_charges());
    });
    for (const int peer : view_.peers())
      send("charges.send", edges_.charges, peer, spread, shares_.reached(view_.rank, peer),
           mesh_.charges.data(), &charges_sent_);
    std::vector<TaskId> own{spread};
    own.insert(own.end(), charges_sent_.begin(), charges_sent_.end());
    std::vector<TaskId> ready = own;
    for (const int peer : view_.peers())
      receive<AddGrid>("charges.receive", edges_.charges, peer, own,
                       shares_.reached(peer, view_.rank), mesh_.charges.data(), ready);
    return ready;
  }

  Schedule& s_;
  Device& device_;
  MeshMemory& mesh_;
  const MeshEdges edges_;
  const RankView& view_;
  const GridShares shares_;
  const GridShares::Block block_;  // of this rank
  Energies energies_;
  std::string prefix_;
  std::vector<TaskId> before_forces_;
  std::vector<TaskId> charges_sent_;  // after these they may be cleared
};

// Parts of spectra and potentials are sent and received as messages.
class ThroughMessages : protected MeshTasks {
 protected:
  using MeshTasks::MeshTasks;

  // The spectrum goes to peers that transform it next, and theirs comes.
  std::vector<TaskId> exchange(TaskId transformed, const std::vector<int>& peers) {
    void* const spectrum = mesh_.spectrum.data();
    std::vector<TaskId> ready{transformed};
    for (const int peer : peers) {
      send("spectrum.send", edges_.spectrum, peer, transformed, shares_.crossing(view_.rank, peer),
           spectrum);
      receive<ReceiveGrid>("spectrum.receive", edges_.spectrum, peer, {},
                           shares_.crossing(peer, view_.rank), spectrum, ready);
    }
    return ready;
  }

  // The same on the way back.
  std::vector<TaskId> exchange_back(TaskId transformed, const std::vector<int>& peers) {
    void* const spectrum = mesh_.spectrum.data();
    std::vector<TaskId> ready{transformed};
    for (const int peer : peers) {
      send("spectrum.return", edges_.spectrum_back, peer, transformed,
           shares_.crossing(peer, view_.rank), spectrum);
      receive<ReceiveGrid>("spectrum.back", edges_.spectrum_back, peer, {transformed},
                           shares_.crossing(view_.rank, peer), spectrum, ready);
    }
    return ready;
  }

  // The potential goes to those whose atoms reach it; returns what must have come.
  std::vector<TaskId> exchange_potential(TaskId inverse) {
    float* const potential = mesh_.potential.data();
    std::vector<TaskId> ready{inverse};
    if (!shares_.replicated())
      for (const int peer : view_.peers()) {
        send("potential.send", edges_.potential, peer, inverse, shares_.reached(peer, view_.rank),
             potential);
        receive<ReceiveGrid>("potential.receive", edges_.potential, peer, {},
                             shares_.reached(view_.rank, peer), potential, ready);
      }
    return ready;
  }

  // Forces are made of all that comes.
  TaskId gather(TaskId inverse) {
    std::vector<TaskId> ready = exchange_potential(inverse);
    ready.insert(ready.end(), charges_sent_.begin(), charges_sent_.end());
    ready.insert(ready.end(), before_forces_.begin(), before_forces_.end());
    return task("gather", std::move(ready),
                [&device = device_, &mesh = mesh_](Post&) { device.launch(mesh.gather_forces()); });
  }

  // For a sum without forces: the potential at the atoms of another mesh is summed, and the grid of charges
  // is cleared for the next step. The last task of the sum.
  TaskId sum_at(const MeshMemory& other, TaskId inverse) {
    std::vector<TaskId> ready = exchange_potential(inverse);
    ready.insert(ready.end(), charges_sent_.begin(), charges_sent_.end());
    ready.insert(ready.end(), before_forces_.begin(), before_forces_.end());
    return task("potential", std::move(ready), [&device = device_, &mesh = mesh_, &other](Post&) {
      device.launch(other.sum_potential(mesh));
      device.fill(mesh.charges.data(), 0, mesh.charges.bytes(), Stream::kMain);
    });
  }

  // If work is replicated, one rank adds the energy.
  Energies own_energies() const {
    return shares_.replicated() && view_.rank != 0 ? Energies::kSkip : energies_;
  }

  // If kernels wait for messages, later kernels have room when the charges have arrived.
  TaskId charged(const std::vector<TaskId>& ready) const {
    return view_.has(Carrier::kHost) ? ready.front() : ready.back();
  }
};

}  // namespace quiltmd
