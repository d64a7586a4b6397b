// SPDX-License-Identifier: Apache-2.0
// The long-range sum of one step, in five hops: charges to the owners of planes; spectra to the
// owners of lines; back; potentials to the owners of atoms. Sums on the way are integers, and a
// plane or line is transformed whole by one rank, so the result is the same for any number of
// ranks.
#include "schedule/long_range.h"

#include "computes/pme/setup.h"
#include "schedule/operations.h"
#include "schedule/payload.h"

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

// Copy whole planes of a grid into a payload.
template <class T>
Payload pack_planes(RankMemory& m, const T* grid, const std::vector<int>& planes, size_t size) {
  PayloadWriter out;
  for (const int plane : planes)
    m.device.copy_out(out.space<T>(size), grid + static_cast<size_t>(plane) * size,
                      size * sizeof(T));
  return out.take();
}

template <class T>
void unpack_planes(RankMemory& m, T* grid, const std::vector<int>& planes, size_t size,
                   const Payload& payload) {
  PayloadReader in(payload);
  for (const int plane : planes)
    m.device.copy_in(grid + static_cast<size_t>(plane) * size, in.take<T>(size), size * sizeof(T));
}

void add_planes(RankMemory& m, const std::vector<int>& planes, size_t size,
                const Payload& payload) {
  PayloadReader in(payload);
  for (const int plane : planes)
    m.device.launch(AddGrid{m.mesh->charges.data() + static_cast<size_t>(plane) * size,
                            in.take<int32_t>(size), static_cast<int>(size)});
}

// The part of the spectrum with x in `planes` and y in `lines`: one run of memory for each x.
Payload pack_block(RankMemory& m, Range planes, Range lines) {
  PayloadWriter out;
  const auto nz = static_cast<size_t>(m.mesh->grid.nz / 2 + 1);
  const size_t size = static_cast<size_t>(lines.count) * nz;
  for (int x = planes.first; x < planes.first + planes.count; ++x) {
    const size_t at = (static_cast<size_t>(x) * static_cast<size_t>(m.mesh->grid.ny) +
                       static_cast<size_t>(lines.first)) *
                      nz;
    m.device.copy_out(out.space<Complex>(size), m.mesh->spectrum.data() + at,
                      size * sizeof(Complex));
  }
  return out.take();
}

void unpack_block(RankMemory& m, Range planes, Range lines, const Payload& payload) {
  PayloadReader in(payload);
  const auto nz = static_cast<size_t>(m.mesh->grid.nz / 2 + 1);
  const size_t size = static_cast<size_t>(lines.count) * nz;
  for (int x = planes.first; x < planes.first + planes.count; ++x) {
    const size_t at = (static_cast<size_t>(x) * static_cast<size_t>(m.mesh->grid.ny) +
                       static_cast<size_t>(lines.first)) *
                      nz;
    m.device.copy_in(m.mesh->spectrum.data() + at, in.take<Complex>(size), size * sizeof(Complex));
  }
}

// Adds tasks for one rank; every hop is one method.
class LongRange {
 public:
  LongRange(Schedule& schedule, RankMemory& memory, const RankView& view, Energies energies)
      : s_(schedule), m_(memory), view_(view), energies_(energies) {
    planes_ = share(m_.mesh->grid.nx, view.rank, view.ranks);
    lines_ = share(m_.mesh->grid.ny, view.rank, view.ranks);
    plane_size_ = static_cast<size_t>(m_.mesh->grid.ny) * static_cast<size_t>(m_.mesh->grid.nz);
  }

  LongRangeTasks add() {
    const std::vector<TaskId> charges = spread();
    return {charges.front(), gather(inverse(convolve(transform(charges))))};
  }

 private:
  template <class Body>
  TaskId task(const char* name, std::vector<TaskId> after, std::vector<Await> awaits, Body body) {
    return s_.add(
        {name, Priority::kLongRange, Stream::kMain, std::move(after), std::move(awaits), body});
  }
  Range planes_of(int rank) const { return share(m_.mesh->grid.nx, rank, view_.ranks); }
  Range lines_of(int rank) const { return share(m_.mesh->grid.ny, rank, view_.ranks); }
  const RankPlan& plan_of(int rank) const { return view_.plans[static_cast<size_t>(rank)]; }

  template <class Body>
  void for_peers(Body body) const {
    for (int peer = 0; peer < view_.ranks; ++peer)
      if (peer != view_.rank) body(peer);
  }

  std::vector<TaskId> spread() {
    const TaskId spread =
        task("pme.spread", {}, {}, [&m = m_](Post&) { m.device.launch(m.mesh->spread_charges()); });
    std::vector<TaskId> ready{spread};
    for_peers([&](int peer) {
      const auto out = reached_planes(m_, plan_of(view_.rank), planes_of(peer));
      if (!out.empty())
        charges_sent_.push_back(task(
            "pme.charges.send", {spread}, {}, [&m = m_, out, peer, n = plane_size_](Post& post) {
              post.send(Edge::kCharges, peer, pack_planes(m, m.mesh->charges.data(), out, n));
            }));
      const auto in = reached_planes(m_, plan_of(peer), planes_);
      if (!in.empty())
        ready.push_back(task("pme.charges.receive", {spread}, {{Edge::kCharges, peer}},
                             [&m = m_, in, peer, n = plane_size_](Post& post) {
                               add_planes(m, in, n, post.received(Edge::kCharges, peer));
                             }));
    });
    return ready;
  }

  std::vector<TaskId> transform(std::vector<TaskId> after) {
    const TaskId planes = task("pme.planes", std::move(after), {}, [&m = m_, r = planes_](Post&) {
      m.device.launch(m.mesh->transform_planes(r.first, r.count));
    });
    std::vector<TaskId> ready{planes};
    for_peers([&](int peer) {
      task("pme.spectrum.send", {planes}, {},
           [&m = m_, own = planes_, lines = lines_of(peer), peer](Post& post) {
             post.send(Edge::kSpectrum, peer, pack_block(m, own, lines));
           });
      ready.push_back(task("pme.spectrum.receive", {}, {{Edge::kSpectrum, peer}},
                           [&m = m_, from = planes_of(peer), lines = lines_, peer](Post& post) {
                             unpack_block(m, from, lines, post.received(Edge::kSpectrum, peer));
                           }));
    });
    return ready;
  }

  std::vector<TaskId> convolve(std::vector<TaskId> after) {
    const TaskId lines =
        task("pme.lines", std::move(after), {}, [&m = m_, r = lines_, e = energies_](Post&) {
          m.device.launch(m.mesh->convolve_lines(r.first, r.count, e));
        });
    std::vector<TaskId> ready{lines};
    for_peers([&](int peer) {
      task("pme.spectrum.return", {lines}, {},
           [&m = m_, planes = planes_of(peer), own = lines_, peer](Post& post) {
             post.send(Edge::kSpectrumBack, peer, pack_block(m, planes, own));
           });
      ready.push_back(task("pme.spectrum.back", {lines}, {{Edge::kSpectrumBack, peer}},
                           [&m = m_, planes = planes_, from = lines_of(peer), peer](Post& post) {
                             unpack_block(m, planes, from,
                                          post.received(Edge::kSpectrumBack, peer));
                           }));
    });
    return ready;
  }

  std::vector<TaskId> inverse(std::vector<TaskId> after) {
    const TaskId planes = task("pme.inverse", std::move(after), {}, [&m = m_, r = planes_](Post&) {
      m.device.launch(m.mesh->inverse_planes(r.first, r.count));
    });
    std::vector<TaskId> ready{planes};
    for_peers([&](int peer) {
      const auto out = reached_planes(m_, plan_of(peer), planes_);
      if (!out.empty())
        task("pme.potential.send", {planes}, {}, [&m = m_, out, peer, n = plane_size_](Post& post) {
          post.send(Edge::kPotential, peer, pack_planes(m, m.mesh->potential.data(), out, n));
        });
      const auto in = reached_planes(m_, plan_of(view_.rank), planes_of(peer));
      if (!in.empty())
        ready.push_back(task("pme.potential.receive", {}, {{Edge::kPotential, peer}},
                             [&m = m_, in, peer, n = plane_size_](Post& post) {
                               unpack_planes(m, m.mesh->potential.data(), in, n,
                                             post.received(Edge::kPotential, peer));
                             }));
    });
    return ready;
  }

  TaskId gather(std::vector<TaskId> after) {
    after.insert(after.end(), charges_sent_.begin(), charges_sent_.end());
    return task("pme.gather", std::move(after), {},
                [&m = m_](Post&) { m.device.launch(m.mesh->gather_forces()); });
  }

  Schedule& s_;
  RankMemory& m_;
  const RankView& view_;
  Energies energies_;
  Range planes_{}, lines_{};
  size_t plane_size_ = 0;
  std::vector<TaskId> charges_sent_;  // after these they may be cleared
};

}  // namespace

LongRangeTasks add_long_range(Schedule& schedule, RankMemory& memory, const RankView& view,
                              Energies energies) {
  return LongRange(schedule, memory, view, energies).add();
}

}  // namespace quiltmd
