// SPDX-License-Identifier: Apache-2.0
// The long-range sum of one step, in five hops: charges to the owners of planes; spectra to the
// owners of lines; back; potentials to the owners of atoms. Sums on the way are integers, and a
// plane or line is transformed whole by one rank, so the result is the same for any number of
// ranks.
#include "schedule/long_range.h"

#include <algorithm>

#include "schedule/grid_shares.h"

namespace quiltmd {
namespace {

// Whether kernels write into the grids of all other ranks, and not only into messages.
bool works_directly(const RankView& view) {
  return view.mesh == MeshSharing::kDistributed && view.ranks > 1 && !view.host_carries &&
         view.ranks <= kMostMarks + 1;
}

// Adds tasks for one rank; every hop is one method of those that inherit from this.
class LongRange {
 public:
  LongRange(Schedule& schedule, RankMemory& memory, const RankView& view, Energies energies)
      : s_(schedule),
        m_(memory),
        view_(view),
        shares_(memory.setup, memory.mesh->grid, view.plans, view.mesh),
        energies_(energies) {}

 protected:
  TaskId task(const char* name, std::vector<TaskId> after, std::function<void(Post&)> run,
              std::vector<MessageEnd> awaits = {}, std::vector<MessageEnd> sends = {}) {
    return s_.add({name, Priority::kLongRange, Stream::kMain, std::move(after), std::move(run),
                   std::move(awaits), std::move(sends)});
  }

  // Tasks that send a part of a grid, and that receive one with Op; none for parts without planes.
  void send(const char* name, Edge edge, int peer, TaskId after, GridPart part, const void* grid,
            std::vector<TaskId>* sent = nullptr) {
    if (part.plane_count == 0) return;
    put_on_device(part);
    const auto words = static_cast<size_t>(part.words());
    const TaskId id =
        task(name, {after},
             [&device = m_.device, part, from = static_cast<const uint32_t*>(grid), edge,
              peer](Post& post) { device.launch(SendGrid{part, from, post.outlet(edge, peer)}); },
             {}, {{edge, peer, words}});
    if (sent) sent->push_back(id);
  }
  template <class Op>
  void receive(const char* name, Edge edge, int peer, std::vector<TaskId> after, GridPart part,
               void* grid, std::vector<TaskId>& ready) {
    if (part.plane_count == 0) return;
    put_on_device(part);
    const auto words = static_cast<size_t>(part.words());
    ready.push_back(task(name, std::move(after),
                         [&device = m_.device, part, to = static_cast<uint32_t*>(grid), edge, peer](
                             Post& post) { device.launch(Op{part, to, post.inlet(edge, peer)}); },
                         {{edge, peer, words}}));
  }

  void put_on_device(GridPart& part) {
    part.planes = m_.mesh->number_list({part.planes, part.planes + part.plane_count}).data();
  }

  // The charges of all ranks on the planes of this one.
  std::vector<TaskId> charges() {
    MeshMemory& mesh = *m_.mesh;
    const TaskId spread =
        task("pme.spread", {}, [&m = m_](Post&) { m.device.launch(m.mesh->spread_charges()); });
    for (const int peer : view_.peers())
      send("pme.charges.send", Edge::kCharges, peer, spread, shares_.reached_part(view_.rank, peer),
           mesh.charges.data(), &charges_sent_);
    std::vector<TaskId> own{spread};
    own.insert(own.end(), charges_sent_.begin(), charges_sent_.end());
    std::vector<TaskId> ready = own;
    for (const int peer : view_.peers())
      receive<AddGrid>("pme.charges.receive", Edge::kCharges, peer, own,
                       shares_.reached_part(peer, view_.rank), mesh.charges.data(), ready);
    return ready;
  }

  Schedule& s_;
  RankMemory& m_;
  const RankView& view_;
  const GridShares shares_;
  Energies energies_;
  std::vector<TaskId> charges_sent_;  // after these they may be cleared
};

// Parts of spectra and potentials are sent and received as messages.
class ThroughMessages : LongRange {
 public:
  using LongRange::LongRange;

  LongRangeTasks add() {
    const std::vector<TaskId> ready = charges();
    // Where kernels wait for messages, those behind have found room by then.
    const TaskId charged = view_.host_carries ? ready.front() : ready.back();
    return {charged, gather(inverse(convolve(transform(ready))))};
  }

 private:
  // Those with which parts of the grid are exchanged once charges are known.
  std::vector<int> sharers() const {
    return shares_.replicated() ? std::vector<int>{} : view_.peers();
  }
  // Of replicated lines one rank adds the energy.
  Energies own_energies() const {
    return shares_.replicated() && view_.rank != 0 ? Energies::kSkip : energies_;
  }

  std::vector<TaskId> transform(std::vector<TaskId> after) {
    void* const spectrum = m_.mesh->spectrum.data();
    const TaskId planes =
        task("pme.planes", std::move(after), [&m = m_, r = shares_.planes_of(view_.rank)](Post&) {
          m.device.launch(m.mesh->transform_planes(r.first, r.count));
        });
    std::vector<TaskId> ready{planes};
    for (const int peer : sharers()) {
      send("pme.spectrum.send", Edge::kSpectrum, peer, planes,
           shares_.crossing_part(view_.rank, peer), spectrum);
      receive<ReceiveGrid>("pme.spectrum.receive", Edge::kSpectrum, peer, {},
                           shares_.crossing_part(peer, view_.rank), spectrum, ready);
    }
    return ready;
  }

  std::vector<TaskId> convolve(std::vector<TaskId> after) {
    void* const spectrum = m_.mesh->spectrum.data();
    const TaskId lines =
        task("pme.lines", std::move(after),
             [&m = m_, r = shares_.lines_of(view_.rank), e = own_energies()](Post&) {
               m.device.launch(m.mesh->convolve_lines(r.first, r.count, e));
             });
    std::vector<TaskId> ready{lines};
    for (const int peer : sharers()) {
      send("pme.spectrum.return", Edge::kSpectrumBack, peer, lines,
           shares_.crossing_part(peer, view_.rank), spectrum);
      receive<ReceiveGrid>("pme.spectrum.back", Edge::kSpectrumBack, peer, {lines},
                           shares_.crossing_part(view_.rank, peer), spectrum, ready);
    }
    return ready;
  }

  std::vector<TaskId> inverse(std::vector<TaskId> after) {
    float* const potential = m_.mesh->potential.data();
    const TaskId planes =
        task("pme.inverse", std::move(after), [&m = m_, r = shares_.planes_of(view_.rank)](Post&) {
          m.device.launch(m.mesh->inverse_planes(r.first, r.count));
        });
    std::vector<TaskId> ready{planes};
    for (const int peer : sharers()) {
      send("pme.potential.send", Edge::kPotential, peer, planes,
           shares_.reached_part(peer, view_.rank), potential);
      receive<ReceiveGrid>("pme.potential.receive", Edge::kPotential, peer, {},
                           shares_.reached_part(view_.rank, peer), potential, ready);
    }
    return ready;
  }

  TaskId gather(std::vector<TaskId> after) {
    after.insert(after.end(), charges_sent_.begin(), charges_sent_.end());
    return task("pme.gather", std::move(after),
                [&m = m_](Post&) { m.device.launch(m.mesh->gather_forces()); });
  }
};

// Kernels write into the spectra and potentials of other ranks, and marks say when they have.
class Directly : LongRange {
 public:
  using LongRange::LongRange;

  LongRangeTasks add() {
    // Beside what is large the transform of planes would take several times as long, and other ranks
    // wait for it.
    const TaskId planes = transform(charges());
    return {planes, gather(inverse(convolve(planes)))};
  }

 private:
  // A mark to or from each of these.
  static std::vector<MessageEnd> marks(Edge edge, const std::vector<int>& peers) {
    std::vector<MessageEnd> ends;
    for (const int peer : peers) ends.push_back({edge, peer, 1});
    return ends;
  }
  static void put(MarksSent& marks, const Post& post, Edge edge, const std::vector<int>& to) {
    for (const int peer : to) marks.to[marks.count++] = post.outlet(edge, peer);
  }
  static void put(MarksAwaited& marks, const Post& post, Edge edge, const std::vector<int>& from) {
    for (const int peer : from) marks.from[marks.count++] = post.inlet(edge, peer);
  }
  // Whose atoms reach planes of this rank, and whose planes its atoms reach.
  std::vector<int> users() const {
    return peers_that([this](int peer) { return !shares_.reached(peer, view_.rank).empty(); });
  }
  std::vector<int> owners() const {
    return peers_that([this](int peer) { return !shares_.reached(view_.rank, peer).empty(); });
  }
  template <class Test>
  std::vector<int> peers_that(Test test) const {
    std::vector<int> found;
    for (const int peer : view_.peers())
      if (test(peer)) found.push_back(peer);
    return found;
  }

  TaskId transform(std::vector<TaskId> after) {
    return task(
        "pme.planes", std::move(after),
        [&m = m_, r = shares_.planes_of(view_.rank), all = view_.peers()](Post& post) {
          TransformPlanesDirectly op = m.mesh->transform_planes_directly(r.first, r.count);
          put(op.marks, post, Edge::kSpectrum, all);
          m.device.launch(op);
        },
        {}, marks(Edge::kSpectrum, view_.peers()));
  }

  TaskId convolve(TaskId after) {
    return task(
        "pme.lines", {after},
        [&m = m_, r = shares_.lines_of(view_.rank), e = energies_,
         all = view_.peers()](Post& post) {
          ConvolveLinesDirectly op = m.mesh->convolve_lines_directly(r.first, r.count, e);
          put(op.awaited, post, Edge::kSpectrum, all);
          put(op.marks, post, Edge::kSpectrumBack, all);
          m.device.launch(op);
        },
        marks(Edge::kSpectrum, view_.peers()), marks(Edge::kSpectrumBack, view_.peers()));
  }

  TaskId inverse(TaskId after) {
    return task(
        "pme.inverse", {after},
        [&m = m_, r = shares_.planes_of(view_.rank), all = view_.peers(),
         to = users()](Post& post) {
          InversePlanesDirectly op = m.mesh->inverse_planes_directly(r.first, r.count);
          put(op.awaited, post, Edge::kSpectrumBack, all);
          put(op.marks, post, Edge::kPotential, to);
          m.device.launch(op);
        },
        marks(Edge::kSpectrumBack, view_.peers()), marks(Edge::kPotential, users()));
  }

  TaskId gather(TaskId last) {
    std::vector<TaskId> after = charges_sent_;
    after.push_back(last);
    return task(
        "pme.gather", std::move(after),
        [&m = m_, from = owners()](Post& post) {
          GatherForcesDirectly op = m.mesh->gather_forces_directly();
          put(op.awaited, post, Edge::kPotential, from);
          m.device.launch(op);
        },
        marks(Edge::kPotential, owners()));
  }
};

}  // namespace

LongRangeTasks add_long_range(Schedule& schedule, RankMemory& memory, const RankView& view,
                              Energies energies) {
  if (works_directly(view)) return Directly(schedule, memory, view, energies).add();
  return ThroughMessages(schedule, memory, view, energies).add();
}

void offer_grids(const RankMemory& memory, const RankView& view, Mailboxes& mailboxes) {
  if (!memory.mesh || !works_directly(view)) return;
  mailboxes.offer(Edge::kSpectrum, memory.mesh->spectrum.data());
  mailboxes.offer(Edge::kPotential, memory.mesh->potential.data());
}

void join_grids(RankMemory& memory, const RankView& view, const Mailboxes& mailboxes) {
  if (!memory.mesh || !works_directly(view)) return;
  MeshMemory& mesh = *memory.mesh;
  const GridShares shares(memory.setup, mesh.grid, view.plans, view.mesh);
  const SpectrumOf own{mesh.spectrum.data()};
  std::vector<SpectrumOf> lines(static_cast<size_t>(mesh.grid.ny), own);
  std::vector<SpectrumOf> planes(static_cast<size_t>(mesh.grid.nx), own);
  std::vector<std::vector<PotentialOf>> copies(planes.size());
  for (const int peer : view.peers()) {
    const SpectrumOf spectrum{static_cast<Complex*>(mailboxes.offered(Edge::kSpectrum, peer))};
    const PotentialOf potential{static_cast<float*>(mailboxes.offered(Edge::kPotential, peer))};
    const auto y = shares.lines_of(peer), x = shares.planes_of(peer);
    std::fill_n(lines.begin() + y.first, y.count, spectrum);
    std::fill_n(planes.begin() + x.first, x.count, spectrum);
    for (const int32_t plane : shares.reached(peer, view.rank))
      copies[static_cast<size_t>(plane)].push_back(potential);
  }
  mesh.work_together(lines, planes, copies);
}

}  // namespace quiltmd
