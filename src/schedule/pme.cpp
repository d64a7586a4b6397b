// SPDX-License-Identifier: Apache-2.0
// PME in one step: charges to those who transform them; spectra to the owners of lines
// (in pencils, by way of the owners of columns); back; potentials to the owners of atoms. Sums on the way
// are integers, and a plane or line is transformed whole by one rank, so the result is the same for any
// number of ranks.
#include "schedule/pme.h"

#include <algorithm>

#include "computes/long_range/pme/setup.h"
#include "schedule/mesh_tasks.h"

namespace quiltmd {
namespace {

// Whether kernels write into the grids of all other ranks, and not only into messages.
bool writes_to_grids_of_peers(const RankView& view) {
  const bool kernels_reach_all = !view.has(Carrier::kHost) && !view.has(Carrier::kCommunicator);
  return view.mesh == MeshSharing::kDistributed && view.ranks > 1 && kernels_reach_all &&
         view.ranks <= kMaxMarks + 1;
}

class Slabs : ThroughMessages {
 public:
  using ThroughMessages::ThroughMessages;

  LongRangeTasks add() {
    const std::vector<TaskId> ready = charges();
    const TaskId convolved = convolve(ready);
    LongRangeTasks tasks{charged(ready), gather(transform_back(convolved))};
    if (view_.ranks == 1 && device_.capabilities().records) tasks.convolved = convolved;
    return tasks;
  }

  TaskId add_sum_at(const MeshMemory& other) {
    return sum_at(other, transform_back(convolve(charges())));
  }

 private:
  std::vector<int> peers() const { return shares_.column_peers(view_.rank); }

  TaskId convolve(const std::vector<TaskId>& ready) {
    const TaskId forward =
        task("planes", ready, [&device = device_, &mesh = mesh_, x = block_.x](Post&) {
          device.launch(mesh.transform_planes(x.first, x.count));
        });
    return task("lines", exchange(forward, peers()),
                [&device = device_, &mesh = mesh_, lines = block_.lines, e = own_energies()](
                    Post&) { device.launch(mesh.convolve_lines(lines.first, lines.count, e)); });
  }

  TaskId transform_back(TaskId convolved) {
    return task("inverse", exchange_back(convolved, peers()),
                [&device = device_, &mesh = mesh_, x = block_.x](Post&) {
                  device.launch(mesh.inverse_planes(x.first, x.count));
                });
  }
};

class Pencils : ThroughMessages {
 public:
  using ThroughMessages::ThroughMessages;

  LongRangeTasks add() {
    const std::vector<TaskId> ready = charges();
    return {charged(ready), gather(transform_back(convolve(ready)))};
  }

  TaskId add_sum_at(const MeshMemory& other) {
    return sum_at(other, transform_back(convolve(charges())));
  }

 private:
  TaskId convolve(const std::vector<TaskId>& ready) {
    const std::vector<int> row = shares_.row_peers(view_.rank);
    const std::vector<int> column = shares_.column_peers(view_.rank);
    const TaskId along_z =
        task("rows", ready, [&device = device_, &mesh = mesh_, b = block_](Post&) {
          device.launch(mesh.transform_rows(b.x, b.y));
        });
    const TaskId along_y = task("columns", exchange(along_z, row),
                                [&device = device_, &mesh = mesh_, b = block_](Post&) {
                                  device.launch(mesh.transform_columns(b.x, b.k));
                                });
    return task("lines", exchange(along_y, column),
                [&device = device_, &mesh = mesh_, b = block_, e = energies_](Post&) {
                  device.launch(mesh.convolve_pencils(b.lines, b.k, e));
                });
  }

  TaskId transform_back(TaskId convolved) {
    const std::vector<int> row = shares_.row_peers(view_.rank);
    const std::vector<int> column = shares_.column_peers(view_.rank);
    const TaskId along_y = task("columns.back", exchange_back(convolved, column),
                                [&device = device_, &mesh = mesh_, b = block_](Post&) {
                                  device.launch(mesh.inverse_columns(b.x, b.k));
                                });
    return task("rows.back", exchange_back(along_y, row),
                [&device = device_, &mesh = mesh_, b = block_](Post&) {
                  device.launch(mesh.inverse_rows(b.x, b.y));
                });
  }
};

// Kernels write into the spectra and potentials of other ranks, and marks say when they have.
class SlabsInPeerMemory : MeshTasks {
 public:
  using MeshTasks::MeshTasks;

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
        "planes", std::move(after),
        [&device = device_, &mesh = mesh_, edges = edges_, r = block_.x,
         all = view_.peers()](Post& post) {
          TransformPlanesDirectly op = mesh.transform_planes_directly(r.first, r.count);
          put(op.marks, post, edges.spectrum, all);
          device.launch(op);
        },
        {}, marks(edges_.spectrum, view_.peers(), [this](int peer) {
          return shares_.crossing(view_.rank, peer);
        }));
  }

  TaskId convolve(TaskId after) {
    return task(
        "lines", {after},
        [&device = device_, &mesh = mesh_, edges = edges_, r = block_.lines, e = energies_,
         all = view_.peers()](Post& post) {
          ConvolveLinesDirectly op = mesh.convolve_lines_directly(r.first, r.count, e);
          put(op.awaited, post, edges.spectrum, all);
          put(op.marks, post, edges.spectrum_back, all);
          device.launch(op);
        },
        marks(edges_.spectrum, view_.peers()),
        marks(edges_.spectrum_back, view_.peers(),
              [this](int peer) { return shares_.crossing(peer, view_.rank); }));
  }

  TaskId inverse(TaskId after) {
    return task(
        "inverse", {after},
        [&device = device_, &mesh = mesh_, edges = edges_, r = block_.x, all = view_.peers(),
         to = users()](Post& post) {
          InversePlanesDirectly op = mesh.inverse_planes_directly(r.first, r.count);
          put(op.awaited, post, edges.spectrum_back, all);
          put(op.marks, post, edges.potential, to);
          device.launch(op);
        },
        marks(edges_.spectrum_back, view_.peers()),
        marks(edges_.potential, users(),
              [this](int peer) { return shares_.reached(peer, view_.rank); }));
  }

  TaskId gather(TaskId last) {
    std::vector<TaskId> after = charges_sent_;
    after.insert(after.end(), before_forces_.begin(), before_forces_.end());
    after.push_back(last);
    return task(
        "gather", std::move(after),
        [&device = device_, &mesh = mesh_, edges = edges_, from = owners()](Post& post) {
          GatherForcesDirectly op = mesh.gather_forces_directly();
          put(op.awaited, post, edges.potential, from);
          device.launch(op);
        },
        marks(edges_.potential, owners()));
  }
};

LongRangeTasks add_mesh(Schedule& s, Device& device, const Setup& setup, MeshMemory& mesh,
                        const RankView& view, Energies energies, std::vector<TaskId> after) {
  const MeshWork work{mesh.of == MeshOf::kCharges ? "pme." : "lj-pme.",
                      device,
                      setup,
                      mesh,
                      energies,
                      std::move(after)};
  if (writes_to_grids_of_peers(view)) return SlabsInPeerMemory(s, work, view).add();
  if (view.mesh == MeshSharing::kPencils) return Pencils(s, work, view).add();
  return Slabs(s, work, view).add();
}

void join_grid(MeshMemory& mesh, const Setup& setup, const RankView& view,
               const Mailboxes& mailboxes) {
  const GridShares shares(setup, mesh.grid, view.plans, view.mesh);
  const MeshEdges edges = edges_of(mesh.of);
  const SpectrumOf own{mesh.spectrum.data()};
  std::vector<SpectrumOf> lines(static_cast<size_t>(mesh.grid.ny), own);
  std::vector<SpectrumOf> planes(static_cast<size_t>(mesh.grid.nx), own);
  std::vector<std::vector<PotentialOf>> copies(planes.size());
  for (const int peer : view.peers()) {
    const SpectrumOf spectrum{static_cast<Complex*>(mailboxes.offered(edges.spectrum, peer))};
    const PotentialOf potential{static_cast<float*>(mailboxes.offered(edges.potential, peer))};
    const auto [y, x] = std::pair{shares.block(peer).lines, shares.block(peer).x};
    std::fill_n(lines.begin() + y.first, y.count, spectrum);
    std::fill_n(planes.begin() + x.first, x.count, spectrum);
    for (const int32_t plane : shares.reached(peer, view.rank).planes)
      copies[static_cast<size_t>(plane)].push_back(potential);
  }
  mesh.work_together(lines, planes, copies);
}

}  // namespace

PairsAlone pairs_beside_mesh(int atoms) {
  if (atoms < 15000) return {0, 1, Placing::kInTurn};
  if (atoms < 70000) return {1, 1, Placing::kByUrgency};
  if (atoms < 200000) return {0.15, 0.5, Placing::kInTurn};
  return {0.05, 0.15, Placing::kInTurn};
}

PmeSum::PmeSum(const Setup& setup, const SlotMemory& slots) : setup_(setup), device_(slots.device) {
  for (const MeshSettings& mesh : meshes_of(setup.nonbonded))
    all_.push_back(&meshes.emplace_back(slots, mesh));
  if (!setup.system.alchemy) return;
  MeshSettings of_change = meshes_of(setup.nonbonded).front();
  of_change.of = MeshOf::kChargeChange;
  all_.push_back(&change_.emplace(slots, of_change));
}

void PmeSum::take_box_of_grid() {
  for (MeshMemory* mesh : all_) mesh->update_grid();
}

void PmeSum::take_lambdas() { meshes.front().take_lambdas(setup_.lambdas); }

void PmeSum::take_box_of_conditions() {
  for (MeshMemory* mesh : all_) device_.launch(mesh->update_box());
}

// Ranks share a mesh by what their patches reach of it.
void PmeSum::set_plan(const RankPlan&) {
  for (MeshMemory* mesh : all_) mesh->update_patches();
}

std::vector<Work> PmeSum::rebuild_work() {
  std::vector<Work> work;
  for (MeshMemory* mesh : all_)
    if (mesh->has_coefficients())
      work.push_back({"mesh.coefficients", Positions::kOwned, Lists::kNotUsed,
                      [mesh, this](Stream stream, int) {
                        device_.launch(mesh->place_coefficients(), stream);
                      }});
  return work;
}

std::vector<Edge> PmeSum::edges() const {
  std::vector<Edge> all;
  for (const MeshMemory* mesh : all_) {
    const auto [charges, spectrum, spectrum_back, potential] = edges_of(mesh->of);
    all.insert(all.end(), {charges, spectrum, spectrum_back, potential});
  }
  return all;
}

// One mesh after the other; the forces of the second are added to those of the first.
LongRangeTasks PmeSum::add(Schedule& schedule, const RankView& view, Energies energies) {
  const auto add_one = [&](MeshMemory& mesh, std::vector<TaskId> after) {
    return add_mesh(schedule, device_, setup_, mesh, view, energies, std::move(after));
  };
  LongRangeTasks sum = add_one(meshes.front(), {});
  for (size_t m = 1; m < meshes.size(); ++m) sum.last = add_one(meshes[m], {sum.last}).last;
  if (change_ && energies == Energies::kAdd) sum.last = add_change(schedule, view, sum.last);
  return sum;
}

PairsAlone PmeSum::pairs_alone() const { return pairs_beside_mesh(setup_.system.atom_count()); }

// The products of the change of charges with itself and with the charges: the energy is quadratic in lambda.
// The potential is that of the change: the grid rounds each charge, and that of all charges has the sum of
// as many errors as there are atoms.
TaskId PmeSum::add_change(Schedule& schedule, const RankView& view, TaskId after) {
  const MeshMemory& charges = meshes.front();
  const MeshWork work{"alchemy.", device_, setup_, *change_, Energies::kAdd, {after}};
  if (view.mesh == MeshSharing::kPencils) return Pencils(schedule, work, view).add_sum_at(charges);
  return Slabs(schedule, work, view).add_sum_at(charges);
}

void PmeSum::offer(const RankView& view, Mailboxes& mailboxes) {
  if (!writes_to_grids_of_peers(view)) return;
  for (MeshMemory& mesh : meshes) {
    mailboxes.offer(edges_of(mesh.of).spectrum, {mesh.spectrum.data(), mesh.spectrum.bytes()});
    mailboxes.offer(edges_of(mesh.of).potential, {mesh.potential.data(), mesh.potential.bytes()});
  }
}

void PmeSum::join(const RankView& view, const Mailboxes& mailboxes) {
  if (!writes_to_grids_of_peers(view)) return;
  for (MeshMemory& mesh : meshes) join_grid(mesh, setup_, view, mailboxes);
}

size_t PmeSum::bytes() const {
  size_t sum = 0;
  for (const MeshMemory* mesh : all_) sum += mesh->bytes();
  return sum;
}

}  // namespace quiltmd
