// SPDX-License-Identifier: Apache-2.0
// The long-range sum of one step: charges to those who transform them; spectra to the owners of lines
// (in pencils, by way of the owners of columns); back; potentials to the owners of atoms. Sums on the way
// are integers, and a plane or line is transformed whole by one rank, so the result is the same for any
// number of ranks.
#include "schedule/long_range.h"

#include <algorithm>

#include "schedule/grid_shares.h"

namespace quiltmd {
namespace {

// Whether kernels write into the grids of all other ranks, and not only into messages.
bool writes_to_grids_of_peers(const RankView& view) {
  const bool kernels_reach_all = !view.has(Carrier::kHost) && !view.has(Carrier::kCommunicator);
  return view.mesh == MeshSharing::kDistributed && view.ranks > 1 && kernels_reach_all &&
         view.ranks <= kMaxMarks + 1;
}

// Adds tasks for one rank; every hop is one method of those that inherit from this.
class LongRange {
 public:
  LongRange(Schedule& schedule, RankMemory& memory, const RankView& view, Energies energies)
      : s_(schedule),
        m_(memory),
        view_(view),
        shares_(memory.setup, memory.mesh->grid, view.plans, view.mesh),
        block_(shares_.block(view.rank)),
        energies_(energies) {}

 protected:
  TaskId task(const char* name, std::vector<TaskId> after, std::function<void(Post&)> run,
              std::vector<MessageEnd> awaits = {}, std::vector<MessageEnd> sends = {}) {
    return s_.add({name, Priority::kLongRange, Stream::kMain, std::move(after), std::move(run),
                   std::move(awaits), std::move(sends)});
  }

  // Tasks that send a part of a grid, and that receive one with Op; none for parts without planes.
  void send(const char* name, Edge edge, int peer, TaskId after, const GridRuns& runs,
            const void* grid, std::vector<TaskId>* sent = nullptr) {
    const auto words = static_cast<size_t>(runs.words());
    if (words == 0) return;
    const GridPart part = runs.part(m_.mesh->number_list(runs.planes).data());
    const TaskId id =
        s_.add_send({name, Priority::kLongRange, Stream::kMain}, {after}, {edge, peer, words},
                    [&device = m_.device, part, from = static_cast<const uint32_t*>(grid)](
                        const Outlet& out) { device.launch(SendGrid{part, from, out}); });
    if (sent) sent->push_back(id);
  }
  template <class Op>
  void receive(const char* name, Edge edge, int peer, std::vector<TaskId> after,
               const GridRuns& runs, void* grid, std::vector<TaskId>& ready) {
    const auto words = static_cast<size_t>(runs.words());
    if (words == 0) return;
    const GridPart part = runs.part(m_.mesh->number_list(runs.planes).data());
    ready.push_back(s_.add_receive(
        {name, Priority::kLongRange, Stream::kMain}, std::move(after), {edge, peer, words},
        [&device = m_.device, part, to = static_cast<uint32_t*>(grid)](const Inlet& in) {
          device.launch(Op{part, to, in});
        }));
  }

  // The charges of all ranks on the planes of this one.
  std::vector<TaskId> charges() {
    MeshMemory& mesh = *m_.mesh;
    const TaskId spread =
        task("pme.spread", {}, [&m = m_](Post&) { m.device.launch(m.mesh->spread_charges()); });
    for (const int peer : view_.peers())
      send("pme.charges.send", Edge::kCharges, peer, spread, shares_.reached(view_.rank, peer),
           mesh.charges.data(), &charges_sent_);
    std::vector<TaskId> own{spread};
    own.insert(own.end(), charges_sent_.begin(), charges_sent_.end());
    std::vector<TaskId> ready = own;
    for (const int peer : view_.peers())
      receive<AddGrid>("pme.charges.receive", Edge::kCharges, peer, own,
                       shares_.reached(peer, view_.rank), mesh.charges.data(), ready);
    return ready;
  }

  Schedule& s_;
  RankMemory& m_;
  const RankView& view_;
  const GridShares shares_;
  const GridShares::Block block_;  // of this rank
  Energies energies_;
  std::vector<TaskId> charges_sent_;  // after these they may be cleared
};

// Parts of spectra and potentials are sent and received as messages.
class ThroughMessages : protected LongRange {
 protected:
  using LongRange::LongRange;

  // The spectrum goes to peers that transform it next, and theirs comes.
  std::vector<TaskId> exchange(TaskId transformed, const std::vector<int>& peers) {
    void* const spectrum = m_.mesh->spectrum.data();
    std::vector<TaskId> ready{transformed};
    for (const int peer : peers) {
      send("pme.spectrum.send", Edge::kSpectrum, peer, transformed,
           shares_.crossing(view_.rank, peer), spectrum);
      receive<ReceiveGrid>("pme.spectrum.receive", Edge::kSpectrum, peer, {},
                           shares_.crossing(peer, view_.rank), spectrum, ready);
    }
    return ready;
  }

  // The same on the way back.
  std::vector<TaskId> exchange_back(TaskId transformed, const std::vector<int>& peers) {
    void* const spectrum = m_.mesh->spectrum.data();
    std::vector<TaskId> ready{transformed};
    for (const int peer : peers) {
      send("pme.spectrum.return", Edge::kSpectrumBack, peer, transformed,
           shares_.crossing(peer, view_.rank), spectrum);
      receive<ReceiveGrid>("pme.spectrum.back", Edge::kSpectrumBack, peer, {transformed},
                           shares_.crossing(view_.rank, peer), spectrum, ready);
    }
    return ready;
  }

  // The potential goes to those whose atoms reach it, and forces are made of all that comes.
  TaskId gather(TaskId inverse) {
    float* const potential = m_.mesh->potential.data();
    std::vector<TaskId> ready{inverse};
    if (!shares_.replicated())
      for (const int peer : view_.peers()) {
        send("pme.potential.send", Edge::kPotential, peer, inverse,
             shares_.reached(peer, view_.rank), potential);
        receive<ReceiveGrid>("pme.potential.receive", Edge::kPotential, peer, {},
                             shares_.reached(view_.rank, peer), potential, ready);
      }
    ready.insert(ready.end(), charges_sent_.begin(), charges_sent_.end());
    return task("pme.gather", std::move(ready),
                [&m = m_](Post&) { m.device.launch(m.mesh->gather_forces()); });
  }

  // Where kernels wait for messages, those behind have found room once the charges are there.
  TaskId charged(const std::vector<TaskId>& ready) const {
    return view_.has(Carrier::kHost) ? ready.front() : ready.back();
  }
};

class Slabs : ThroughMessages {
 public:
  using ThroughMessages::ThroughMessages;

  LongRangeTasks add() {
    const std::vector<int> peers = shares_.column_peers(view_.rank);
    const auto [x, lines] = std::pair{block_.x, block_.lines};
    const std::vector<TaskId> ready = charges();
    const TaskId forward = task("pme.planes", ready, [&m = m_, x](Post&) {
      m.device.launch(m.mesh->transform_planes(x.first, x.count));
    });
    const TaskId convolved =
        task("pme.lines", exchange(forward, peers), [&m = m_, lines, e = own_energies()](Post&) {
          m.device.launch(m.mesh->convolve_lines(lines.first, lines.count, e));
        });
    const TaskId inverse =
        task("pme.inverse", exchange_back(convolved, peers),
             [&m = m_, x](Post&) { m.device.launch(m.mesh->inverse_planes(x.first, x.count)); });
    return {charged(ready), gather(inverse)};
  }

 private:
  // Of replicated lines one rank adds the energy.
  Energies own_energies() const {
    return shares_.replicated() && view_.rank != 0 ? Energies::kSkip : energies_;
  }
};

class Pencils : ThroughMessages {
 public:
  using ThroughMessages::ThroughMessages;

  LongRangeTasks add() {
    const std::vector<int> row = shares_.row_peers(view_.rank);
    const std::vector<int> column = shares_.column_peers(view_.rank);
    const std::vector<TaskId> ready = charges();
    const TaskId along_z = task("pme.rows", ready, [&m = m_, b = block_](Post&) {
      m.device.launch(m.mesh->transform_rows(b.x, b.y));
    });
    const TaskId along_y = task(
        "pme.columns", exchange(along_z, row),
        [&m = m_, b = block_](Post&) { m.device.launch(m.mesh->transform_columns(b.x, b.k)); });
    const TaskId convolved =
        task("pme.lines", exchange(along_y, column), [&m = m_, b = block_, e = energies_](Post&) {
          m.device.launch(m.mesh->convolve_pencils(b.lines, b.k, e));
        });
    const TaskId back_along_y =
        task("pme.columns.back", exchange_back(convolved, column),
             [&m = m_, b = block_](Post&) { m.device.launch(m.mesh->inverse_columns(b.x, b.k)); });
    const TaskId back_along_z =
        task("pme.rows.back", exchange_back(back_along_y, row),
             [&m = m_, b = block_](Post&) { m.device.launch(m.mesh->inverse_rows(b.x, b.y)); });
    return {charged(ready), gather(back_along_z)};
  }
};

// Kernels write into the spectra and potentials of other ranks, and marks say when they have.
class SlabsInPeerMemory : LongRange {
 public:
  using LongRange::LongRange;

  LongRangeTasks add() {
    // Beside what is large the transform of planes would take several times as long, and other ranks
    // wait for it.
    const TaskId planes = transform(charges());
    const TaskId convolved = convolve(planes);
    return {planes, gather(inverse(convolved)), convolved};
  }

 private:
  // A mark from each of these; and one to each, of this part of its grid.
  static std::vector<MessageEnd> marks(Edge edge, const std::vector<int>& peers) {
    std::vector<MessageEnd> ends;
    for (const int peer : peers) ends.push_back({edge, peer, 1});
    return ends;
  }
  template <class Part>
  static std::vector<MessageEnd> marks(Edge edge, const std::vector<int>& peers, Part part) {
    std::vector<MessageEnd> ends = marks(edge, peers);
    for (MessageEnd& end : ends) end.beside = part(end.peer).bytes();
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
    return peers_that(
        [this](int peer) { return !shares_.reached(peer, view_.rank).planes.empty(); });
  }
  std::vector<int> owners() const {
    return peers_that(
        [this](int peer) { return !shares_.reached(view_.rank, peer).planes.empty(); });
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
        [&m = m_, r = block_.x, all = view_.peers()](Post& post) {
          TransformPlanesDirectly op = m.mesh->transform_planes_directly(r.first, r.count);
          put(op.marks, post, Edge::kSpectrum, all);
          m.device.launch(op);
        },
        {}, marks(Edge::kSpectrum, view_.peers(), [this](int peer) {
          return shares_.crossing(view_.rank, peer);
        }));
  }

  TaskId convolve(TaskId after) {
    return task(
        "pme.lines", {after},
        [&m = m_, r = block_.lines, e = energies_, all = view_.peers()](Post& post) {
          ConvolveLinesDirectly op = m.mesh->convolve_lines_directly(r.first, r.count, e);
          put(op.awaited, post, Edge::kSpectrum, all);
          put(op.marks, post, Edge::kSpectrumBack, all);
          m.device.launch(op);
        },
        marks(Edge::kSpectrum, view_.peers()),
        marks(Edge::kSpectrumBack, view_.peers(),
              [this](int peer) { return shares_.crossing(peer, view_.rank); }));
  }

  TaskId inverse(TaskId after) {
    return task(
        "pme.inverse", {after},
        [&m = m_, r = block_.x, all = view_.peers(), to = users()](Post& post) {
          InversePlanesDirectly op = m.mesh->inverse_planes_directly(r.first, r.count);
          put(op.awaited, post, Edge::kSpectrumBack, all);
          put(op.marks, post, Edge::kPotential, to);
          m.device.launch(op);
        },
        marks(Edge::kSpectrumBack, view_.peers()),
        marks(Edge::kPotential, users(),
              [this](int peer) { return shares_.reached(peer, view_.rank); }));
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
  if (writes_to_grids_of_peers(view))
    return SlabsInPeerMemory(schedule, memory, view, energies).add();
  if (view.mesh == MeshSharing::kPencils) return Pencils(schedule, memory, view, energies).add();
  return Slabs(schedule, memory, view, energies).add();
}

void offer_grids(const RankMemory& memory, const RankView& view, Mailboxes& mailboxes) {
  if (!memory.mesh || !writes_to_grids_of_peers(view)) return;
  mailboxes.offer(Edge::kSpectrum, memory.mesh->spectrum.data());
  mailboxes.offer(Edge::kPotential, memory.mesh->potential.data());
}

void join_grids(RankMemory& memory, const RankView& view, const Mailboxes& mailboxes) {
  if (!memory.mesh || !writes_to_grids_of_peers(view)) return;
  MeshMemory& mesh = *memory.mesh;
  const GridShares shares(memory.setup, mesh.grid, view.plans, view.mesh);
  const SpectrumOf own{mesh.spectrum.data()};
  std::vector<SpectrumOf> lines(static_cast<size_t>(mesh.grid.ny), own);
  std::vector<SpectrumOf> planes(static_cast<size_t>(mesh.grid.nx), own);
  std::vector<std::vector<PotentialOf>> copies(planes.size());
  for (const int peer : view.peers()) {
    const SpectrumOf spectrum{static_cast<Complex*>(mailboxes.offered(Edge::kSpectrum, peer))};
    const PotentialOf potential{static_cast<float*>(mailboxes.offered(Edge::kPotential, peer))};
    const auto [y, x] = std::pair{shares.block(peer).lines, shares.block(peer).x};
    std::fill_n(lines.begin() + y.first, y.count, spectrum);
    std::fill_n(planes.begin() + x.first, x.count, spectrum);
    for (const int32_t plane : shares.reached(peer, view.rank).planes)
      copies[static_cast<size_t>(plane)].push_back(potential);
  }
  mesh.work_together(lines, planes, copies);
}

}  // namespace quiltmd
