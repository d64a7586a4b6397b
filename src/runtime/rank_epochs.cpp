// SPDX-License-Identifier: Apache-2.0
// The epochs of a rank: their beginning, their end, and what happens when one does not hold.
//
// An *epoch* is the life of a pair list. Its end depends on the step number and on the trajectory alone,
// never on where a run was stopped: when an atom moved beyond the Verlet buffer at step v, the epoch is
// run again from its start, with new lists in time for the forces at v (RunState::end_before).
#include <algorithm>
#include <utility>

#include "runtime/box_error.h"
#include "runtime/rank.h"
#include "schedule/message_events.h"

namespace quiltmd {
namespace {

std::string describe_overdue(uint32_t name) {
  const int from = static_cast<int>(name - 1) / kEdges;
  return "a message of rank " + std::to_string(from) +
         " did not come within 20 seconds: its device has failed, or works on something else";
}

std::string describe_damaged(uint32_t name) {
  const int from = static_cast<int>(name - 1) / kEdges, edge = static_cast<int>(name - 1) % kEdges;
  return "a message of rank " + std::to_string(from) + " (" + edge_name(edge) +
         ") did not arrive as it was sent: memory, a device or a network changed its numbers; "
         "resume from the last checkpoint, on other devices if it happens again";
}

}  // namespace

void Rank::check_terms() const {
  if (agreed_.terms != setup_.system.term_count())
    throw Blowup(list_step(), 0, Blowup::Cause::kLostTerm);
}

void Rank::use_next_plan() {
  if (!next_plans_) return;
  view_.plans = std::move(*next_plans_);
  next_plans_.reset();
  recordings_.forget();
  memory_.set_plan(view_);
  build_schedules();
  connect();
  executor_.begin_measurement();
}

void Rank::share_mesh(MeshSharing mesh) {
  if (view_.mesh == mesh) return;
  view_.mesh = mesh;
  recordings_.forget();
  build_schedules();
  connect();
}

// Energies may be asked for before the epoch is validated.
void Rank::rebuild() {
  build_lists(Epoch::Opening::kPlain);
  fit_messages();
  if (agreed_.faults.share_overflow || agreed_.faults.box) state_.require_assignment();
}

void Rank::build_lists(Epoch::Opening opening) {
  use_next_plan();
  executor_.run(migrate_);
  executor_.run(proxies_and_lists_);
  state_.set_forces(RunState::Forces::kStale);
  make_room(slots_.faults.download()[0]);
  begin_epoch(opening);
}

// From the epoch that has ended to one that is under way.
void Rank::lay_out(Epoch::Opening opening) {
  const bool acts = opening == Epoch::Opening::kStage;
  if (acts) run_rebuild_stage();
  remove_momentum();
  build_lists(opening);
  if (acts) device_.launch(slots_.check_patches());
}

// For what did not fit; it is made again from the same positions until it fits. Other faults of the same
// rebuild stay, such as a message without room for all atoms, and are found when the epoch is validated.
void Rank::make_room(Faults faults) {
  for (; lacks_room(faults); faults = slots_.faults.download()[0]) {
    recordings_.forget();
    device_.fill(slots_.faults.data()->room_needed, 0, sizeof(faults.room_needed), Stream::kMain);
    for (Rebuilt* part : memory_.rebuilt) part->make_room(faults);
  }
}

// Messages that did not fit, of any rank: room for twice as much, and proxies and lists once more.
void Rank::make_room_for_messages() {
  recordings_.forget();
  view_.room *= 2;
  memory_.set_plan(view_);
  build_schedules();
  connect();
  int32_t& overflow = slots_.faults.data()->message_overflow;
  device_.fill(&overflow, 0, sizeof(overflow), Stream::kMain);
  executor_.run(proxies_and_lists_);
  device_.synchronize();  // what follows may be no step that follows a rebuild
  make_room(slots_.faults.download()[0]);
}

// All ranks together, after lists were built: until messages have room for all atoms.
void Rank::fit_messages() {
  for (agree(); agreed_.faults.message_overflow; agree()) {
    check_migrants();
    make_room_for_messages();
  }
  check_messages();
  check_far_migrants();
  check_terms();
}

// On a device that records, an epoch is validated when the next one is under way, so that the device
// never waits for the host to look. If it does not hold, the device has refused the next one's layout.
// Before external forces are updated, the epoch must hold.
void Rank::end_epoch() {
  const bool updates = plan_.update_every > 0 && state_.step() % plan_.update_every == 0;
  if (!(records_ && !updates ? validate_last_epoch() : validate_epoch())) return;
  if (updates) executor_.run(external_update_, {-1, state_.step()});
  if (records_) last_ = {findings(), state_.epoch(), slots_.current};
  state_.end_epoch();
  const auto opening =
      plan_.rebuild_stage.acts_at(state_.step()) ? Epoch::Opening::kStage : Epoch::Opening::kPlain;
  if (!records_) return lay_out(opening);
  begin_epoch(opening);
  state_.rebuild_later();
}

// At the end of an epoch the lists are as old as they may be.
void Rank::run_rebuild_stage() {
  evaluate_at(setup_.lists.life);
  count_potential(-1);
  run_stage(rescale_, state_.step(), setup_.lists.life, ForcesAfter::kKept);
  if (!plan_.rebuild_stage.decide.empty()) {
    stage("barostat", [&] { memory_.update_box(); });
    evaluate_at(setup_.lists.life);
    run_stage(decide_, state_.step(), setup_.lists.life, ForcesAfter::kKept);
  }
  stage("barostat", [&] {
    memory_.update_box();
    clear_energies();
    device_.launch(memory_.groups.clear_forces());
  });
}

void Rank::count_potential(int sign) {
  int64_t* const energy = slots_.energy.data();
  stage("barostat", [&] {
    device_.launch(CountPotential{energy, setup_.energy_kinds(), sign, energy + kHeat});
  });
}

void Rank::remove_momentum() {
  if (state_.momentum() == RunState::Momentum::kToBeRemoved)
    executor_.run(momentum_, {setup_.lists.life});
}

// Download of the findings so far: of this rank, or those on which all ranks agreed at the end of a
// block.
std::unique_ptr<Download> Rank::findings() const {
  if (view_.ranks == 1)
    return device_.start_download({{slots_.faults.data(), slots_.faults.bytes()}});
  return device_.start_download({{memory_.agreement.data(), memory_.agreement.bytes()}});
}

void Rank::agree() {
  executor_.run(agree_);
  agreed_ = memory_.agreement.download()[0];
}

// The epoch that ended last, while the present one is under way.
bool Rank::validate_last_epoch() {
  if (!last_.found) return true;
  const LastEpoch last = std::exchange(last_, {});
  if (view_.ranks == 1)
    agreed_.faults = last.found->values<Faults>(0)[0];
  else
    agreed_ = last.found->values<Agreement>(0)[0];
  if (holds(last.epoch.end)) return true;
  // Later work has changed only data that a redone epoch sets again.
  device_.synchronize();
  state_.restore(last.epoch);
  slots_.current = last.buffer;
  undo_epoch();
  return false;
}

// The device need not wait for the host to learn that the steps hold: what reads their end follows them.
bool Rank::validate_epoch(const Look& look) {
  std::unique_ptr<Download> found;
  if (records_ && view_.ranks == 1) found = findings();  // its terms are here; nobody to agree with
  if (look && alone()) look();
  if (!validate_last_epoch()) return false;
  if (found)
    agreed_.faults = found->values<Faults>(0)[0];
  else
    agree();
  if (!holds(state_.epoch().end)) {
    if (look) device_.synchronize();
    undo_epoch();
    return false;
  }
  if (agreed_.faults.violation_step)
    device_.fill(slots_.faults.data(), 0, slots_.faults.bytes(), Stream::kMain);
  return true;
}

void Rank::check_messages() const {
  if (agreed_.overdue) {
    executor_.check_failure();
    if (agreed_.overdue == Waiting::kStopped) throw PeerFailed("another rank failed");
    throw MessageOverdue(describe_overdue(agreed_.overdue));
  }
  if (agreed_.faults.damaged) throw Error(describe_damaged(agreed_.faults.damaged));
}

void Rank::check_far_migrants() const {
  if (const int32_t atom = agreed_.faults.far_migrant)
    throw Blowup(list_step(), atom - 1, Blowup::Cause::kFarMigrant);
}

void Rank::check_migrants() const {
  if (agreed_.faults.message_overflow & kMigrantMessage)
    throw Error(
        "more atoms moved from one rank to another at once than their message has room for: the "
        "simulation is about to blow up, or started far from equilibrium; minimise it first, or "
        "equilibrate it on one rank");
}

bool Rank::holds(int64_t end) const {
  check_messages();
  if (must_be_redone(agreed_.faults, end)) return false;
  if (memory_.external) memory_.external->throw_failure(end);
  check_terms();
  return true;
}

// Back to the start of the epoch: with room for all lists, with other patches, or with a shorter life
// for these.
void Rank::undo_epoch() {
  const Faults& f = agreed_.faults;
  if (f.box & kStrainLimit)
    throw BoxError(state_.epoch().start, plan_.rebuild_stage.strain_message);
  check_migrants();
  // First, since what follows keeps the assignment of patches: a rank takes no more atoms than it has room
  // for.
  if (f.box || f.share_overflow) {
    redo_epoch(state_.epoch().end);
    state_.require_assignment();
    return;
  }
  if (lacks_room(f) || f.message_overflow) {
    redo_epoch(state_.epoch().end);
    if (f.message_overflow)
      make_room_for_messages();
    else
      make_room(f);
    return;
  }
  // Faults after an atom has moved beyond the Verlet buffer may be a consequence.
  const auto before_violation = [&](int64_t step) {
    return step && (!f.violation_step || step <= f.violation_step);
  };
  if (before_violation(f.blowup_step) || before_violation(f.constraint_step)) fail();
  if (!f.violation_step) check_far_migrants();
  check_terms();
  if (f.violation_step - 1 <= list_step()) fail();
  ++early_rebuilds_;
  redo_epoch(state_.end_before(f.violation_step));
}

void Rank::redo_epoch(int64_t end) {
  device_.fill(slots_.faults.data(), 0, slots_.faults.bytes(), Stream::kMain);
  if (memory_.external) memory_.external->forget_failure();
  const int64_t start = state_.epoch().start;
  stage("redo", [&] {
    device_.launch(
        SetState{groups_at_end(), slots_.start_position.data(), slots_.start_velocity.data()});
    slots_.restore_numbers();
    device_.copy_in(slots_.step.data(), &start, sizeof(int64_t));
  });
  state_.redo(end);
  if (state_.opens_with_stage()) clear_energies();
}

void Rank::fail() const {
  const Faults& f = agreed_.faults;
  // An external force that failed before may be the cause.
  if (memory_.external)
    memory_.external->throw_failure(std::max({f.constraint_step, f.blowup_step, f.violation_step}));
  if (f.constraint_step && (!f.blowup_step || f.constraint_step <= f.blowup_step))
    throw Blowup(f.constraint_step, f.constraint_atom, Blowup::Cause::kConstraint);
  if (f.blowup_step) throw Blowup(f.blowup_step, f.blowup_atom, Blowup::Cause::kMotion);
  throw Blowup(f.violation_step, 0, Blowup::Cause::kBuffer);
}

}  // namespace quiltmd
