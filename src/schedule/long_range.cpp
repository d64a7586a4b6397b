// SPDX-License-Identifier: Apache-2.0
// The long-range sum of one step, in five hops: charges to the owners of planes; spectra to the
// owners of lines; back; potentials to the owners of atoms. Sums on the way are integers, and a
// plane or line is transformed whole by one rank, so the result is the same for any number of
// ranks.
#include "schedule/long_range.h"

#include "computes/pme/exchange_operations.h"
#include "computes/pme/setup.h"

namespace quiltmd {
namespace {

struct Range {
  int first, count;
};

Range share(int total, int rank, int ranks) {
  const int first = static_cast<int>(static_cast<int64_t>(total) * rank / ranks);
  const int end = static_cast<int>(static_cast<int64_t>(total) * (rank + 1) / ranks);
  return {first, end - first};
}

// Planes among `of` that atoms of the owned patches of a plan reach, however far (up to the list
// buffer, beyond which a step is not valid, and a hydrogen group's radius) they stick out.
std::vector<int> reached_planes(const RankMemory& m, const RankPlan& plan, Range of) {
  const int n = m.mesh->grid.nx;
  const PatchGrid& patches = m.setup.grid;
  const double margin = m.setup.group_radius + m.setup.ages.limit.back();
  const double beyond = margin / (patches.cells.x * patches.least_width);  // in any box that serves
  std::vector<char> reached(static_cast<size_t>(n), 0);
  for (const int patch : plan.owned) {
    const PlaneRange range = pme_plane_range(m.mesh->grid, patches.cell(patch).x, beyond);
    for (int i = 0; i < range.count; ++i) reached[static_cast<size_t>((range.first + i) % n)] = 1;
  }
  std::vector<int> planes;
  for (int plane = of.first; plane < of.first + of.count; ++plane)
    if (reached[static_cast<size_t>(plane)]) planes.push_back(plane);
  return planes;
}

// Adds tasks for one rank; every hop is one method.
class LongRange {
 public:
  LongRange(Schedule& schedule, RankMemory& memory, const RankView& view, Energies energies)
      : s_(schedule), m_(memory), view_(view), energies_(energies) {
    plane_size_ = int64_t{m_.mesh->grid.ny} * m_.mesh->grid.nz;
  }

  LongRangeTasks add() {
    const std::vector<TaskId> charges = spread();
    // Where kernels wait for messages, those behind have found room by then.
    const TaskId charged = view_.host_carries ? charges.front() : charges.back();
    return {charged, gather(inverse(convolve(transform(charges))))};
  }

 private:
  TaskId task(const char* name, std::vector<TaskId> after, std::function<void(Post&)> run,
              std::vector<MessageEnd> awaits = {}, std::vector<MessageEnd> sends = {}) {
    return s_.add({name, Priority::kLongRange, Stream::kMain, std::move(after), std::move(run),
                   std::move(awaits), std::move(sends)});
  }
  const RankPlan& plan_of(int rank) const { return view_.plans[static_cast<size_t>(rank)]; }
  bool replicated() const { return view_.mesh == MeshSharing::kReplicated; }
  Range part_of(int total, int rank) const {
    return replicated() ? Range{0, total} : share(total, rank, view_.ranks);
  }
  Range planes_of(int rank) const { return part_of(m_.mesh->grid.nx, rank); }
  Range lines_of(int rank) const { return part_of(m_.mesh->grid.ny, rank); }
  // Those with which parts of the grid are exchanged once charges are known.
  std::vector<int> sharers() const { return replicated() ? std::vector<int>{} : view_.peers(); }

  // Of replicated lines one rank adds the energy.
  Energies own_energies() const {
    return replicated() && view_.rank != 0 ? Energies::kSkip : energies_;
  }

  // Whole planes of a real grid, among those that `owner` transforms, that atoms of `user` reach.
  GridPart reached(int user, int owner) const {
    const auto& planes = m_.mesh->number_list(reached_planes(m_, plan_of(user), planes_of(owner)));
    return {planes.data(), static_cast<int>(planes.size()), plane_size_, 0,
            static_cast<int>(plane_size_)};
  }
  // Of the planes that one rank transforms, the lines of another.
  GridPart crossing(int planes, int lines) const {
    const Range x = planes_of(planes), y = lines_of(lines);
    std::vector<int32_t> numbers;
    for (int i = 0; i < x.count; ++i) numbers.push_back(x.first + i);
    const auto& list = m_.mesh->number_list(numbers);
    const int64_t row = int64_t{2} * (m_.mesh->grid.nz / 2 + 1);
    return {list.data(), x.count, row * m_.mesh->grid.ny, row * y.first,
            static_cast<int>(row) * y.count};
  }

  // Tasks that send a part of a grid, and that receive one with Op; none for parts without planes.
  void send(const char* name, Edge edge, int peer, TaskId after, const GridPart& part,
            const void* grid, std::vector<TaskId>* sent = nullptr) {
    if (part.plane_count == 0) return;
    const auto words = static_cast<size_t>(part.words());
    const TaskId id =
        task(name, {after},
             [&device = m_.device, part, from = static_cast<const uint32_t*>(grid), edge,
              peer](Post& post) { device.launch(SendGrid{part, from, post.outlet(edge, peer)}); },
             {}, {{edge, peer, words}});
    if (sent) sent->push_back(id);
  }
  template <class Op>
  void receive(const char* name, Edge edge, int peer, std::vector<TaskId> after,
               const GridPart& part, void* grid, std::vector<TaskId>& ready) {
    if (part.plane_count == 0) return;
    const auto words = static_cast<size_t>(part.words());
    ready.push_back(task(name, std::move(after),
                         [&device = m_.device, part, to = static_cast<uint32_t*>(grid), edge, peer](
                             Post& post) { device.launch(Op{part, to, post.inlet(edge, peer)}); },
                         {{edge, peer, words}}));
  }

  std::vector<TaskId> spread() {
    MeshMemory& mesh = *m_.mesh;
    const TaskId spread =
        task("pme.spread", {}, [&m = m_](Post&) { m.device.launch(m.mesh->spread_charges()); });
    for (const int peer : view_.peers())
      send("pme.charges.send", Edge::kCharges, peer, spread, reached(view_.rank, peer),
           mesh.charges.data(), &charges_sent_);
    std::vector<TaskId> own{spread};
    own.insert(own.end(), charges_sent_.begin(), charges_sent_.end());
    std::vector<TaskId> ready = own;
    for (const int peer : view_.peers())
      receive<AddGrid>("pme.charges.receive", Edge::kCharges, peer, own, reached(peer, view_.rank),
                       mesh.charges.data(), ready);
    return ready;
  }

  std::vector<TaskId> transform(std::vector<TaskId> after) {
    void* const spectrum = m_.mesh->spectrum.data();
    const TaskId planes =
        task("pme.planes", std::move(after), [&m = m_, r = planes_of(view_.rank)](Post&) {
          m.device.launch(m.mesh->transform_planes(r.first, r.count));
        });
    std::vector<TaskId> ready{planes};
    for (const int peer : sharers()) {
      send("pme.spectrum.send", Edge::kSpectrum, peer, planes, crossing(view_.rank, peer),
           spectrum);
      receive<ReceiveGrid>("pme.spectrum.receive", Edge::kSpectrum, peer, {},
                           crossing(peer, view_.rank), spectrum, ready);
    }
    return ready;
  }

  std::vector<TaskId> convolve(std::vector<TaskId> after) {
    void* const spectrum = m_.mesh->spectrum.data();
    const TaskId lines = task("pme.lines", std::move(after),
                              [&m = m_, r = lines_of(view_.rank), e = own_energies()](Post&) {
                                m.device.launch(m.mesh->convolve_lines(r.first, r.count, e));
                              });
    std::vector<TaskId> ready{lines};
    for (const int peer : sharers()) {
      send("pme.spectrum.return", Edge::kSpectrumBack, peer, lines, crossing(peer, view_.rank),
           spectrum);
      receive<ReceiveGrid>("pme.spectrum.back", Edge::kSpectrumBack, peer, {lines},
                           crossing(view_.rank, peer), spectrum, ready);
    }
    return ready;
  }

  std::vector<TaskId> inverse(std::vector<TaskId> after) {
    float* const potential = m_.mesh->potential.data();
    const TaskId planes =
        task("pme.inverse", std::move(after), [&m = m_, r = planes_of(view_.rank)](Post&) {
          m.device.launch(m.mesh->inverse_planes(r.first, r.count));
        });
    std::vector<TaskId> ready{planes};
    for (const int peer : sharers()) {
      send("pme.potential.send", Edge::kPotential, peer, planes, reached(peer, view_.rank),
           potential);
      receive<ReceiveGrid>("pme.potential.receive", Edge::kPotential, peer, {},
                           reached(view_.rank, peer), potential, ready);
    }
    return ready;
  }

  TaskId gather(std::vector<TaskId> after) {
    after.insert(after.end(), charges_sent_.begin(), charges_sent_.end());
    return task("pme.gather", std::move(after),
                [&m = m_](Post&) { m.device.launch(m.mesh->gather_forces()); });
  }

  Schedule& s_;
  RankMemory& m_;
  const RankView& view_;
  Energies energies_;
  int64_t plane_size_ = 0;            // values of a plane of a real grid
  std::vector<TaskId> charges_sent_;  // after these they may be cleared
};

}  // namespace

LongRangeTasks add_long_range(Schedule& schedule, RankMemory& memory, const RankView& view,
                              Energies energies) {
  return LongRange(schedule, memory, view, energies).add();
}

}  // namespace quiltmd
