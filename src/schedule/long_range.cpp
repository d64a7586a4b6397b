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
std::vector<int> reached_planes(const Workspace& w, const RankPlan& plan, Range of) {
  const int n = w.pme_grid.nx;
  const double margin = w.setup.group_radius + w.setup.ages.limit.back();
  std::vector<char> reached(static_cast<size_t>(n), 0);
  for (const int patch : plan.owned) {
    const PlaneRange range = pme_plane_range(w.pme_grid, w.setup.grid.cell(patch).x, margin);
    for (int i = 0; i < range.count; ++i) reached[static_cast<size_t>((range.first + i) % n)] = 1;
  }
  std::vector<int> planes;
  for (int plane = of.first; plane < of.first + of.count; ++plane)
    if (reached[static_cast<size_t>(plane)]) planes.push_back(plane);
  return planes;
}

// Copy whole planes of a grid into a payload.
template <class T>
Payload pack_planes(Workspace& w, const T* grid, const std::vector<int>& planes, size_t size) {
  PayloadWriter out;
  for (const int plane : planes)
    w.device.copy_out(out.space<T>(size), grid + static_cast<size_t>(plane) * size,
                      size * sizeof(T));
  return out.take();
}

template <class T>
void unpack_planes(Workspace& w, T* grid, const std::vector<int>& planes, size_t size,
                   const Payload& payload) {
  PayloadReader in(payload);
  for (const int plane : planes)
    w.device.copy_in(grid + static_cast<size_t>(plane) * size, in.take<T>(size), size * sizeof(T));
}

void add_planes(Workspace& w, const std::vector<int>& planes, size_t size, const Payload& payload) {
  PayloadReader in(payload);
  for (const int plane : planes)
    w.device.launch(AddGrid{w.charges.data() + static_cast<size_t>(plane) * size,
                            in.take<int32_t>(size), static_cast<int>(size)});
}

// The part of the spectrum with x in `planes` and y in `lines`: one run of memory for each x.
Payload pack_block(Workspace& w, Range planes, Range lines) {
  PayloadWriter out;
  const auto nz = static_cast<size_t>(w.pme_grid.nz / 2 + 1);
  const size_t size = static_cast<size_t>(lines.count) * nz;
  for (int x = planes.first; x < planes.first + planes.count; ++x) {
    const size_t at = (static_cast<size_t>(x) * static_cast<size_t>(w.pme_grid.ny) +
                       static_cast<size_t>(lines.first)) *
                      nz;
    w.device.copy_out(out.space<Complex>(size), w.spectrum.data() + at, size * sizeof(Complex));
  }
  return out.take();
}

void unpack_block(Workspace& w, Range planes, Range lines, const Payload& payload) {
  PayloadReader in(payload);
  const auto nz = static_cast<size_t>(w.pme_grid.nz / 2 + 1);
  const size_t size = static_cast<size_t>(lines.count) * nz;
  for (int x = planes.first; x < planes.first + planes.count; ++x) {
    const size_t at = (static_cast<size_t>(x) * static_cast<size_t>(w.pme_grid.ny) +
                       static_cast<size_t>(lines.first)) *
                      nz;
    w.device.copy_in(w.spectrum.data() + at, in.take<Complex>(size), size * sizeof(Complex));
  }
}

// Adds tasks for one rank; every hop is one method.
class LongRange {
 public:
  LongRange(Schedule& schedule, Workspace& workspace, const RankView& view, Energies energies)
      : s_(schedule), w_(workspace), view_(view), energies_(energies) {
    planes_ = share(w_.pme_grid.nx, view.rank, view.ranks);
    lines_ = share(w_.pme_grid.ny, view.rank, view.ranks);
    plane_size_ = static_cast<size_t>(w_.pme_grid.ny) * static_cast<size_t>(w_.pme_grid.nz);
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
  Range planes_of(int rank) const { return share(w_.pme_grid.nx, rank, view_.ranks); }
  Range lines_of(int rank) const { return share(w_.pme_grid.ny, rank, view_.ranks); }
  const RankPlan& plan_of(int rank) const { return view_.plans[static_cast<size_t>(rank)]; }

  template <class Body>
  void for_peers(Body body) const {
    for (int peer = 0; peer < view_.ranks; ++peer)
      if (peer != view_.rank) body(peer);
  }

  std::vector<TaskId> spread() {
    const TaskId spread =
        task("pme.spread", {}, {}, [&w = w_](Post&) { w.device.launch(w.spread_charges()); });
    std::vector<TaskId> ready{spread};
    for_peers([&](int peer) {
      const auto out = reached_planes(w_, plan_of(view_.rank), planes_of(peer));
      if (!out.empty())
        charges_sent_.push_back(task(
            "pme.charges.send", {spread}, {}, [&w = w_, out, peer, n = plane_size_](Post& post) {
              post.send(Edge::kCharges, peer, pack_planes(w, w.charges.data(), out, n));
            }));
      const auto in = reached_planes(w_, plan_of(peer), planes_);
      if (!in.empty())
        ready.push_back(task("pme.charges.receive", {spread}, {{Edge::kCharges, peer}},
                             [&w = w_, in, peer, n = plane_size_](Post& post) {
                               add_planes(w, in, n, post.received(Edge::kCharges, peer));
                             }));
    });
    return ready;
  }

  std::vector<TaskId> transform(std::vector<TaskId> after) {
    const TaskId planes = task("pme.planes", std::move(after), {}, [&w = w_, r = planes_](Post&) {
      w.device.launch(w.transform_planes(r.first, r.count));
    });
    std::vector<TaskId> ready{planes};
    for_peers([&](int peer) {
      task("pme.spectrum.send", {planes}, {},
           [&w = w_, own = planes_, lines = lines_of(peer), peer](Post& post) {
             post.send(Edge::kSpectrum, peer, pack_block(w, own, lines));
           });
      ready.push_back(task("pme.spectrum.receive", {}, {{Edge::kSpectrum, peer}},
                           [&w = w_, from = planes_of(peer), lines = lines_, peer](Post& post) {
                             unpack_block(w, from, lines, post.received(Edge::kSpectrum, peer));
                           }));
    });
    return ready;
  }

  std::vector<TaskId> convolve(std::vector<TaskId> after) {
    const TaskId lines =
        task("pme.lines", std::move(after), {}, [&w = w_, r = lines_, e = energies_](Post&) {
          w.device.launch(w.convolve_lines(r.first, r.count, e));
        });
    std::vector<TaskId> ready{lines};
    for_peers([&](int peer) {
      task("pme.spectrum.return", {lines}, {},
           [&w = w_, planes = planes_of(peer), own = lines_, peer](Post& post) {
             post.send(Edge::kSpectrumBack, peer, pack_block(w, planes, own));
           });
      ready.push_back(task("pme.spectrum.back", {lines}, {{Edge::kSpectrumBack, peer}},
                           [&w = w_, planes = planes_, from = lines_of(peer), peer](Post& post) {
                             unpack_block(w, planes, from,
                                          post.received(Edge::kSpectrumBack, peer));
                           }));
    });
    return ready;
  }

  std::vector<TaskId> inverse(std::vector<TaskId> after) {
    const TaskId planes = task("pme.inverse", std::move(after), {}, [&w = w_, r = planes_](Post&) {
      w.device.launch(w.inverse_planes(r.first, r.count));
    });
    std::vector<TaskId> ready{planes};
    for_peers([&](int peer) {
      const auto out = reached_planes(w_, plan_of(peer), planes_);
      if (!out.empty())
        task("pme.potential.send", {planes}, {}, [&w = w_, out, peer, n = plane_size_](Post& post) {
          post.send(Edge::kPotential, peer, pack_planes(w, w.potential.data(), out, n));
        });
      const auto in = reached_planes(w_, plan_of(view_.rank), planes_of(peer));
      if (!in.empty())
        ready.push_back(task("pme.potential.receive", {}, {{Edge::kPotential, peer}},
                             [&w = w_, in, peer, n = plane_size_](Post& post) {
                               unpack_planes(w, w.potential.data(), in, n,
                                             post.received(Edge::kPotential, peer));
                             }));
    });
    return ready;
  }

  TaskId gather(std::vector<TaskId> after) {
    after.insert(after.end(), charges_sent_.begin(), charges_sent_.end());
    return task("pme.gather", std::move(after), {},
                [&w = w_](Post&) { w.device.launch(w.gather_forces()); });
  }

  Schedule& s_;
  Workspace& w_;
  const RankView& view_;
  Energies energies_;
  Range planes_{}, lines_{};
  size_t plane_size_ = 0;
  std::vector<TaskId> charges_sent_;  // after these they may be cleared
};

}  // namespace

LongRangeTasks add_long_range(Schedule& schedule, Workspace& workspace, const RankView& view,
                              Energies energies) {
  return LongRange(schedule, workspace, view, energies).add();
}

}  // namespace quiltmd
