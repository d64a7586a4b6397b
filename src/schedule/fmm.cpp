// SPDX-License-Identifier: Apache-2.0
// The fast multipole method in one step: charges to the owners of planes; from them charges of planes nearby to
// those whose stencil reaches them; charges of level 1 to all, in two hops where ranks are many; potentials to the
// owners of atoms. Charges are integers, and a point's potential is summed by one rank in one order, or by all alike.
#include "schedule/fmm.h"

#include <iterator>

#include "schedule/fmm_shares.h"
#include "schedule/mesh_tasks.h"
#include "schedule/setup.h"

namespace quiltmd {
namespace {

// Fewer than two thirds of what liquids and solids have.
constexpr double kFewAtoms = 60;  // 1/nm^3

bool is_sparse(const Setup& setup) {
  return std::ssize(setup.system.masses) < kFewAtoms * setup.grid.box.volume();
}

class Levels : ThroughMessages {
 public:
  Levels(Schedule& schedule, const MeshWork& work, const RankView& view, FmmMemory& memory)
      : ThroughMessages(schedule, work, view),
        memory_(memory),
        levels_(shares_, memory.levels, static_cast<int>(view.plans.size()), memory.reach().x),
        alone_(view.ranks == 1 && work.device.capabilities().records),
        above_(alone_ && work.setup.external.empty() ? Stream::kHalo : Stream::kMain) {}

  LongRangeTasks add() {
    const std::vector<TaskId> charged_planes = charges();
    const std::vector<TaskId> near = halo(charged_planes);
    const TaskId restricted = task_above(
        "restrict", near, [&device = device_, &m = memory_, x = block_.x](Stream stream) {
          device.launch(m.restrict_charges(x), stream);
        });
    const TaskId stencil = task("stencil", near,
                                [&device = device_, &m = memory_, x = block_.x, e = own_energies()](
                                    Post&) { device.launch(m.convolve_level(x, e)); });
    const Energies of_all = view_.rank == 0 ? energies_ : Energies::kSkip;
    const TaskId upper =
        task_above("levels", coarse(restricted),
                   [&device = device_, &m = memory_, x = block_.x, e = of_all](Stream stream) {
                     device.launch(m.sum_upper_levels(x, e), stream);
                   });
    const TaskId prolonged =
        task("prolong", {stencil, upper},
             [&device = device_, &m = memory_, x = block_.x, e = own_energies()](Post&) {
               device.launch(m.prolong_potential(x, e));
             });
    LongRangeTasks tasks{charged(charged_planes), gather(prolonged)};
    if (alone_) tasks.convolved = stencil;
    return tasks;
  }

 private:
  TaskId task_above(const char* name, std::vector<TaskId> after,
                    std::function<void(Stream)> launch) {
    return s_.add({name_of(name), Priority::kLongRange, above_, std::move(after),
                   [launch = std::move(launch), stream = above_](Post&) { launch(stream); }});
  }
  // Sends and receives the parts; what comes is read after `own`, and after all that had been sent of it.
  std::vector<TaskId> exchange(const char* out, const char* in, Edge edge,
                               const std::vector<TaskId>& own, void* grid,
                               const std::function<GridRuns(int from, int to)>& part) {
    std::vector<TaskId> ready = own;
    if (shares_.replicated()) return ready;
    const TaskId done = own.size() == 1 ? own.front() : task("charged", own, [](Post&) {});
    for (const int peer : view_.peers()) {
      send(out, edge, peer, done, part(view_.rank, peer), grid, &ready);
      receive<ReceiveGrid>(in, edge, peer, own, part(peer, view_.rank), grid, ready);
    }
    charges_sent_.insert(charges_sent_.end(), ready.begin(), ready.end());
    return ready;
  }
  std::vector<TaskId> halo(const std::vector<TaskId>& own) {
    return exchange("near.send", "near.receive", edges_.spectrum, own, mesh_.charges.data(),
                    [this](int from, int to) { return levels_.near(from, to); });
  }
  std::vector<TaskId> coarse(TaskId own) {
    void* const charges = memory_.charges.data();
    const std::vector<TaskId> of_group =
        exchange("level.send", "level.receive", edges_.spectrum_back, {own}, charges,
                 [this](int from, int to) { return levels_.level(from, to); });
    if (shares_.replicated() || !levels_.passes_on()) return of_group;
    return exchange("pass.send", "pass.receive", kPassedLevel, of_group, charges,
                    [this](int from, int to) { return levels_.passed(from, to); });
  }

  FmmMemory& memory_;
  const FmmShares levels_;
  const bool alone_;  // on a GPU
  // Of the levels above, beside the stencil of level 0 where no message comes on it.
  const Stream above_;
};

}  // namespace

FmmSum::FmmSum(const Setup& setup, const SlotMemory& slots)
    : setup_(setup),
      slots_(slots),
      device_(slots.device),
      tables_(setup.fmm),
      memory_(std::make_unique<FmmMemory>(slots, setup.nonbonded, *tables_)) {}

void FmmSum::take_box_of_grid() {
  memory_->mesh.update_grid();
  device_.launch(memory_->fit_stencil());
}

void FmmSum::take_box_of_conditions() {
  device_.launch(memory_->mesh.update_box());
  device_.launch(memory_->fit_stencil());
}

void FmmSum::set_plan(const RankPlan& plan) {
  if (tables_ != setup_.fmm) {
    device_.synchronize();
    memory_.reset();
    tables_ = setup_.fmm;
    memory_ = std::make_unique<FmmMemory>(slots_, setup_.nonbonded, *tables_);
  }
  memory_->mesh.update_patches();
  memory_->follow_atoms(is_sparse(setup_) && std::ssize(plan.owned) == setup_.grid.size());
}

// Atoms stick out of their patches by no more than this until the next rebuild.
std::vector<Work> FmmSum::rebuild_work() {
  if (!memory_->follows_atoms()) return {};
  return {{"fmm.window", Positions::kOwned, Lists::kNotUsed, [this](Stream stream, int) {
             const double margin = setup_.group_radii.any + setup_.ages.limit.back();
             device_.launch(memory_->find_window(margin), stream);
           }}};
}

// Edges of charges on a mesh; instead of the spectrum, charges of nearby planes and of level 1.
std::vector<Edge> FmmSum::edges() const {
  const auto [charges, near, level, potential] = edges_of(MeshOf::kCharges);
  return {charges, near, level, kPassedLevel, potential};
}

// The chain of its kernels is longer than that of PME, and decides for more atoms (benchmarks/notes/fmm.md).
PairsAlone FmmSum::pairs_alone() const {
  if (setup_.system.atom_count() < 12000) return {0, 1, Placing::kInTurn};
  return {1, 1, Placing::kByUrgency};
}

LongRangeTasks FmmSum::add(Schedule& schedule, const RankView& view, Energies energies) {
  RankView shared = view;
  shared.mesh = sharing_of_fmm(view.mesh);
  const MeshWork work{"fmm.", device_, setup_, memory_->mesh, energies};
  return Levels(schedule, work, shared, *memory_).add();
}

}  // namespace quiltmd
