// SPDX-License-Identifier: Apache-2.0
// The run loop of a rank.
//
// An *epoch* is the life of a pair list, from `list_step_` to `epoch_end_`. Its end depends on the
// step number and on the trajectory alone, never on where a run was stopped: when an atom outran
// the list buffer at step v, the epoch is run again from its start, with new lists in time for the
// forces at v. Velocity Verlet rebuilds in the middle of a step (positions are new, forces are not),
// so its epoch then ends at v; Langevin-middle rebuilds between steps and ends it at v - 1, the last
// state that stopping there would keep.
#include "runtime/rank.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "math/units.h"

namespace quiltmd {
namespace {

// Kinds of blocks remembered; a run makes a few (whole epochs, and what output cuts off). Recording
// costs as much as many steps, so a block is recorded only when it is met again.
constexpr size_t kMostBlocks = 64;
constexpr int kNotRecorded = -1;

}  // namespace

Rank::Rank(const Setup& setup, Device& device, Transport& transport, RankView view)
    : setup_(setup),
      device_(device),
      view_(std::move(view)),
      workspace_(setup, device),
      executor_(view_.rank, device, transport),
      records_(view_.ranks == 1 && device.describe().kind == "cuda") {
  workspace_.adopt(view_.plans[static_cast<size_t>(view_.rank)]);
  build_schedules();
}

void Rank::build_schedules() {
  const auto schedule = [this](Clear clear, Reach reach, Energies energies,
                               Follows follows = Follows::kStep) {
    return force_schedule(workspace_, view_, clear, reach, energies, follows);
  };
  for (const Reach reach : {Reach::kAll, Reach::kShort}) {
    const auto r = static_cast<size_t>(reach);
    forces_[r] = schedule(Clear::kYes, reach, Energies::kSkip);
    block_forces_[r] = schedule(Clear::kNo, reach, Energies::kSkip);
    first_forces_[r] = schedule(Clear::kNo, reach, Energies::kSkip, Follows::kRebuild);
  }
  energies_schedule_ = schedule(Clear::kYes, Reach::kAll, Energies::kAdd);
  rebuild_ = rebuild_schedule(workspace_, view_);
  agree_ = agree_schedule(workspace_, view_, agreed_);
}

void Rank::stage(const char* name, const std::function<void()>& body) {
  Schedule one;
  one.add({name, Priority::kHalo, Stream::kMain, {}, {}, [&body](Post&) { body(); }});
  executor_.run(one);
}

void Rank::load(const HostState& state) {
  const int64_t age = state.step - state.list_step;
  const bool continued = !state.list_positions.empty() && age >= 0 && age <= setup_.lists.life;
  device_.fill(workspace_.faults.data(), 0, workspace_.faults.bytes(), Stream::kMain);
  workspace_.load(continued ? state.list_positions : state.positions, state.velocities, state.step);
  step_ = state.step;
  mid_step_ = false;
  list_step_ = continued ? state.list_step : state.step;
  rebuild();
  make_room(workspace_.faults.download()[0].list_overflow);
  if (continued) {
    const auto atoms = workspace_.atom.download();
    std::vector<Vec3d> positions(workspace_.slot_capacity);
    const auto owned = static_cast<size_t>(workspace_.owned_slots.download()[0]);
    for (size_t s = 0; s < owned; ++s)
      if (atoms[s] >= 0) positions[s] = state.positions[static_cast<size_t>(atoms[s])];
    workspace_.start_position.upload(positions);
    workspace_.list_age = setup_.lists.life;
    stage("state.set", [this] {
      device_.launch(SetState{workspace_.group_work(), workspace_.start_position.data(),
                              workspace_.start_velocity.data()});
    });
  }
  epoch_end_ = list_step_ + setup_.lists.life;
  executor_.run(agree_);
  check_terms();
}

void Rank::check_terms() const {
  const System& system = setup_.system;
  const int total =
      system.bonds.size() + system.angles.size() + system.torsions.size() + system.pairs14.size();
  if (agreed_.terms != total) throw Blowup(list_step_, 0, Blowup::Cause::kLostTerm);
}

void Rank::snapshot() {
  Workspace& w = workspace_;
  device_.copy(w.start_position.data(), w.position[w.current].data(), w.start_position.bytes(),
               Stream::kMain);
  device_.copy(w.start_velocity.data(), w.velocity[w.current].data(), w.start_velocity.bytes(),
               Stream::kMain);
  device_.copy(w.start_heat.data(), w.energy.data() + kHeat, sizeof(int64_t), Stream::kMain);
}

void Rank::adopt_next_plan() {
  if (!next_view_) return;
  view_ = std::move(*next_view_);
  next_view_.reset();
  workspace_.adopt(view_.plans[static_cast<size_t>(view_.rank)]);
  build_schedules();
}

// What the start of an epoch means to the host; lay_out() is the device's part.
void Rank::begin_epoch() {
  epoch_end_ = list_step_ + setup_.lists.life;
  forces_current_ = false;
  strayed_ = false;
  start_ = {step_, mid_step_};
}

void Rank::lay_out() { executor_.run(rebuild_); }

void Rank::rebuild() {
  adopt_next_plan();
  lay_out();
  rebuild_due_ = false;
  forces_clear_ = false;
  workspace_.source_slots = workspace_.owned_slots.download()[0];
  make_room(workspace_.faults.download()[0].list_overflow);
  begin_epoch();
}

// Lists that did not fit: make room and build them again from the same positions.
void Rank::make_room(int32_t need) {
  if (need == 0) return;
  forget_blocks();
  workspace_.grow_entries(static_cast<size_t>(need));
  device_.fill(workspace_.faults.data(), 0, workspace_.faults.bytes(), Stream::kMain);
  device_.launch(workspace_.number_lists());
  device_.launch(workspace_.build_lists());
}

int Rank::list_age() const {
  const int life = setup_.lists.life;
  return strayed_ ? life : static_cast<int>(std::min<int64_t>(step_ - list_step_, life));
}

// Multiple time stepping by impulses: the long-range force acts at steps that are multiples of
// `long_range_every`, so many times as strong. The number of the step alone decides, wherever runs
// and epochs begin.
Reach Rank::reach(int64_t step) const {
  return step % setup_.integrator.long_range_every == 0 ? Reach::kAll : Reach::kShort;
}

GroupWork Rank::driven_groups(int64_t step) {
  GroupWork work = workspace_.group_work();
  work.long_range_weight =
      reach(step) == Reach::kAll ? static_cast<float>(setup_.integrator.long_range_every) : 0;
  return work;
}

void Rank::forces() {
  workspace_.list_age = list_age();
  executor_.run(forces_[static_cast<size_t>(reach(step_))]);
  forces_current_ = true;
  forces_clear_ = false;
}

// One step's forces and motion. Velocity Verlet is taken from the middle of one step to the middle
// of the next.
void Rank::advance_one(const StepForces& forces, int64_t step, ForcesAfter after) {
  executor_.run(forces[static_cast<size_t>(reach(step))]);
  const IntegratorSettings& settings = setup_.integrator;
  stage("integrate", [&] {
    if (settings.ensemble == Ensemble::kNve) {
      device_.launch(
          VerletStep{driven_groups(step), settings.timestep, after, workspace_.step.data()});
      return;
    }
    const double keep = std::exp(-settings.friction * settings.timestep);
    device_.launch(LangevinMiddle{driven_groups(step), settings.timestep, keep,
                                  std::sqrt(kBoltzmann * settings.temperature * (1 - keep * keep)),
                                  settings.seed, workspace_.energy.data(), after,
                                  workspace_.step.data()});
  });
}

void Rank::advance(int64_t steps) {
  if (records_)
    advance_recorded(steps);
  else
    for (int i = 0; i < steps; ++i) {
      workspace_.list_age = list_age() + i;
      advance_one(forces_, step_ + i, ForcesAfter::kKept);
    }
  step_ += steps;
  forces_current_ = false;
}

void Rank::advance_recorded(int64_t steps) {
  // All of them, not only the slots in use: a rebuild inside the block may use more.
  if (!forces_clear_)
    device_.fill(workspace_.force.data(), 0, workspace_.force.bytes(), Stream::kMain);
  const Block block{steps,        step_ % setup_.integrator.long_range_every,
                    list_age(),   workspace_.current,
                    rebuild_due_, rebuild_due_ && momentum_due_};
  if (recordings_.size() >= kMostBlocks) forget_blocks();
  const auto [found, is_new] = recordings_.try_emplace(block, kNotRecorded);
  if (is_new) {
    run_block(steps);
  } else {
    if (found->second == kNotRecorded) {
      device_.begin_recording();
      run_block(steps);
      found->second = device_.end_recording();
    }
    device_.run_recording(found->second);
  }
  if (rebuild_due_) workspace_.current = 1 - block.buffer;
  rebuild_due_ = false;
  forces_clear_ = true;
}

void Rank::run_block(int64_t steps) {
  if (rebuild_due_) {
    remove_momentum();
    lay_out();
  }
  for (int i = 0; i < steps; ++i) {
    workspace_.list_age = list_age() + i;
    advance_one(rebuild_due_ && i == 0 ? first_forces_ : block_forces_, step_ + i,
                ForcesAfter::kCleared);
  }
}

// The blocks stay known: the next time they are recorded anew.
void Rank::drop_recordings() {
  for (auto& [block, recording] : recordings_)
    if (recording != kNotRecorded) device_.drop_recording(std::exchange(recording, kNotRecorded));
}

void Rank::forget_blocks() {
  drop_recordings();
  recordings_.clear();
}

void Rank::start_verlet() {
  if (!forces_current_) forces();
  workspace_.list_age = list_age();
  stage("integrate", [&] {
    device_.launch(VerletStart{driven_groups(step_), setup_.integrator.timestep});
    device_.launch(CountStep{workspace_.step.data()});
  });
  ++step_;
  mid_step_ = true;
}

void Rank::finish_verlet() {
  if (rebuild_due_) {
    if (!settle_last()) return;
    remove_momentum();
    rebuild();
  }
  forces();
  stage("integrate", [&] {
    device_.launch(VerletFinish{driven_groups(step_), setup_.integrator.timestep});
  });
  mid_step_ = false;
}

// On a device that records, an epoch is settled when the next one is under way, so that the device
// never waits for the host to look. If it was in vain, the device has refused the next one's layout.
void Rank::end_epoch() {
  if (!(records_ ? settle_last() : settle())) return;
  const int64_t every = setup_.integrator.remove_com_every;
  momentum_due_ = every > 0 && step_ / every > list_step_ / every;
  if (records_) last_ = {findings(), list_step_, epoch_end_, start_, workspace_.current};
  list_step_ = step_;
  if (records_) {
    rebuild_due_ = true;
    begin_epoch();
    return;
  }
  remove_momentum();
  rebuild();
}

// Langevin-middle goes from state to state. Velocity Verlet goes to the middle of a step, on from
// middle to middle, and finishes the last step.
void Rank::run(int64_t steps) {
  const int64_t target = step_ + steps;
  const bool verlet = setup_.integrator.ensemble == Ensemble::kNve;
  do {
    while (step_ < target || mid_step_) {
      if (verlet && !mid_step_)
        start_verlet();
      else if (step_ >= epoch_end_)
        end_epoch();
      else if (step_ < target)
        advance(std::min(target, epoch_end_) - step_);
      else
        finish_verlet();
    }
  } while (!settle());
}

// A rank by itself sums the momentum where it is; several have agreed on it.
void Rank::remove_momentum() {
  if (!momentum_due_) return;
  stage("momentum", [&] {
    Workspace& w = workspace_;
    if (view_.ranks > 1) {
      device_.copy_in(w.momentum.data(), agreed_.momentum, sizeof agreed_.momentum);
    } else {
      device_.fill(w.momentum.data(), 0, w.momentum.bytes(), Stream::kMain);
      device_.launch(SumMomentum{w.group_work(), w.momentum.data()});
    }
    device_.launch(
        RemoveMomentum{w.group_work(), w.momentum.data(), setup_.total_mass, w.energy.data()});
  });
}

// What the device has found so far, on its way.
std::unique_ptr<Download> Rank::findings() const {
  return device_.start_download({{workspace_.faults.data(), workspace_.faults.bytes()}});
}

// The epoch that ended last, while the present one is under way.
bool Rank::settle_last() {
  if (!last_.found) return true;
  const LastEpoch last = std::exchange(last_, {});
  agreed_.faults = last.found->values<Faults>(0)[0];
  if (all_well(last.end)) return true;
  // What followed has changed no more than a redone epoch sets again.
  device_.synchronize();
  list_step_ = last.list_step;
  epoch_end_ = last.end;
  start_ = last.start;
  workspace_.current = last.buffer;
  rebuild_due_ = false;
  undo();
  return false;
}

bool Rank::settle() {
  if (!settle_last()) return false;
  if (records_)  // by itself: its terms are all here, and there is nobody to agree with
    agreed_.faults = workspace_.faults.download()[0];
  else
    executor_.run(agree_);
  if (!all_well(epoch_end_)) {
    undo();
    return false;
  }
  if (agreed_.faults.violation_step)
    device_.fill(workspace_.faults.data(), 0, workspace_.faults.bytes(), Stream::kMain);
  return true;
}

bool Rank::all_well(int64_t end) const {
  if (in_vain(agreed_.faults, end)) return false;
  check_terms();
  return true;
}

// Back to the start of the epoch: with room for all lists, or with a shorter life for these.
void Rank::undo() {
  const Faults& f = agreed_.faults;
  if (f.list_overflow) {
    redo(epoch_end_);
    make_room(f.list_overflow);
    return;
  }
  // What went wrong after an atom had outrun the lists may be due to that.
  const auto before_violation = [&](int64_t step) {
    return step && (!f.violation_step || step <= f.violation_step);
  };
  if (before_violation(f.blowup_step) || before_violation(f.constraint_step)) fail();
  check_terms();
  if (f.violation_step - 1 <= list_step_) fail();
  ++early_rebuilds_;
  redo(setup_.integrator.ensemble == Ensemble::kNve ? f.violation_step : f.violation_step - 1);
}

void Rank::redo(int64_t epoch_end) {
  Workspace& w = workspace_;
  device_.fill(w.faults.data(), 0, w.faults.bytes(), Stream::kMain);
  w.list_age = setup_.lists.life;
  stage("redo", [&] {
    device_.launch(SetState{w.group_work(), w.start_position.data(), w.start_velocity.data()});
    device_.copy(w.energy.data() + kHeat, w.start_heat.data(), sizeof(int64_t), Stream::kMain);
    device_.copy_in(w.step.data(), &start_.step, sizeof(int64_t));
  });
  step_ = start_.step;
  mid_step_ = start_.mid_step;
  forces_current_ = false;
  epoch_end_ = epoch_end;
}

void Rank::fail() const {
  const Faults& f = agreed_.faults;
  const bool constraint =
      f.constraint_step && (!f.blowup_step || f.constraint_step <= f.blowup_step);
  const int64_t step =
      constraint ? f.constraint_step : (f.blowup_step ? f.blowup_step : f.violation_step);
  const int32_t atom = constraint ? f.constraint_atom : f.blowup_atom;
  throw Blowup(step, atom, constraint ? Blowup::Cause::kConstraint : Blowup::Cause::kMotion);
}

void Rank::evaluate() {
  Workspace& w = workspace_;
  device_.fill(w.energy.data(), 0, kHeat * sizeof(int64_t), Stream::kMain);
  w.list_age = list_age();
  executor_.run(energies_schedule_);
  forces_clear_ = false;
  stage("energies", [&] { device_.launch(KineticEnergy{w.group_work(), w.energy.data()}); });
  forces_current_ = true;
}

void Rank::draw_velocities(double temperature, uint64_t seed) {
  stage("velocities", [&] {
    device_.launch(DrawVelocities{workspace_.group_work(), temperature, seed});
  });
  executor_.run(agree_);
  int64_t total[3];
  std::copy(agreed_.momentum, agreed_.momentum + 3, total);
  stage("momentum", [&] {
    device_.copy_in(workspace_.momentum.data(), total, sizeof total);
    device_.launch(RemoveMomentum{workspace_.group_work(), workspace_.momentum.data(),
                                  setup_.total_mass, nullptr});
  });
  snapshot();
}

double Rank::largest_force() {
  Workspace& w = workspace_;
  Buffer<int64_t> largest(device_, 1);
  Buffer<int32_t> atom(device_, 1);
  device_.fill(largest.data(), 0, largest.bytes(), Stream::kMain);
  stage("minimize", [&] {
    device_.launch(LargestForce{w.group_work(), largest.data(), atom.data()});
  });
  double squared;
  device_.copy_out(&squared, largest.data(), sizeof squared);
  return std::sqrt(squared);
}

void Rank::keep() { snapshot(); }

void Rank::displace(double scale) {
  Workspace& w = workspace_;
  strayed_ = true;
  w.list_age = list_age();
  stage("minimize", [&] {
    device_.launch(DisplaceAlongForce{w.group_work(), w.start_position.data(), scale});
  });
}

void Rank::revert() {
  Workspace& w = workspace_;
  stage("minimize", [&] {
    device_.launch(SetState{w.group_work(), w.start_position.data(), w.start_velocity.data()});
  });
}

void Rank::relist() {
  device_.fill(workspace_.faults.data(), 0, workspace_.faults.bytes(), Stream::kMain);
  list_step_ = step_;
  rebuild();
}

}  // namespace quiltmd
