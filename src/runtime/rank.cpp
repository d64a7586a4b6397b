// SPDX-License-Identifier: Apache-2.0
// The run loop of a rank: it executes the plan of an integrator (integrators/step_plan.h) from epoch to
// epoch (rank_epochs.cpp), and says what it did to RunState, which knows what comes next.
#include "runtime/rank.h"

#include <algorithm>
#include <utility>

#include "device/adapts_to_sharing.h"
#include "schedule/external.h"
#include "schedule/long_range.h"

namespace quiltmd {

Rank::Rank(const Setup& setup, Device& device, Transport& transport, RankView view,
           const FindLinks& find_links)
    : setup_(setup),
      plan_(setup.plan),
      device_(device),
      executor_(view.rank, view.ranks, view.plan().tree, device, transport),
      view_(linked(std::move(view), find_links)),
      memory_(setup, device),
      step_memory_(device, setup.plan.most_sums()),
      recordings_(device, executor_.mailboxes(), memory_.external.get()),
      state_(setup.plan.rebuild, setup.plan.epoch_ends()) {
  records_ = !view_.has(Carrier::kHost) && device.capabilities().records &&
             std::none_of(setup.external.begin(), setup.external.end(),
                          [](const ExternalForce& force) { return force.uses_gpu; });
  memory_.set_plan(view_);
  build_schedules();
}

// Before there is memory: a part of it may be shared with other ranks.
RankView Rank::linked(RankView view, const FindLinks& find_links) {
  executor_.use(find_links(executor_));
  view.carriers = executor_.links().carriers;
  return view;
}

void Rank::build_schedules() {
  set_placing(device_, memory_, view_);
  const auto schedule = [this](Accumulators before, Reach reach, Energies energies,
                               Follows follows = Follows::kStep) {
    return carried(force_schedule(memory_, view_, before, reach, energies, follows));
  };
  for (const StepKind kind : {kAllForces, kShortForces, kWithEnergies}) {
    if (kind == kWithEnergies && plan_.rebuild_stage.act.empty()) continue;
    const Reach reach = kind == kShortForces ? Reach::kShort : Reach::kAll;
    const Energies energies = kind == kWithEnergies ? Energies::kAdd : Energies::kSkip;
    forces_[kind] = schedule(Accumulators::kStale, reach, energies);
    block_forces_[kind] = schedule(Accumulators::kClear, reach, energies);
    first_forces_[kind] = schedule(Accumulators::kClear, reach, energies, Follows::kRebuild);
  }
  energies_schedule_ = schedule(Accumulators::kStale, Reach::kAll, Energies::kAdd);
  external_update_ = carried(external_update_schedule(memory_, view_));
  migrate_ = carried(migrate_schedule(memory_, view_));
  proxies_and_lists_ = carried(proxies_and_lists_schedule(memory_, view_));
  agree_ = carried(agree_schedule(memory_, view_, executor_.mailboxes().waiting()));
  momentum_ = carried(momentum_schedule(memory_, view_, slots_.energy.data()));

  const auto stage = [this](const Stage& tasks) {
    return carried(stage_schedule(tasks, device_, view_, context_));
  };
  start_stage_ = stage(plan_.start);
  rescale_ = stage(plan_.rebuild_stage.act);
  decide_ = stage(plan_.rebuild_stage.decide);
  plain_ = {stage(plan_.plain.middle), stage(plan_.plain.finish)};
  coupled_ = {stage(plan_.coupled.middle), stage(plan_.coupled.finish)};
}

Schedule Rank::carried(Schedule schedule) const {
  if (view_.has(Carrier::kCommunicator))
    schedule = schedule.with_exchanges([&links = executor_.links()](int peer) {
      return links.to(peer) == Carrier::kCommunicator;
    });
  if (!view_.has(Carrier::kHost)) schedule.send_before_waiting();
  return schedule;
}

void Rank::connect() {
  std::vector<const Schedule*> all{&energies_schedule_, &external_update_, &migrate_,
                                   &proxies_and_lists_, &agree_,           &momentum_,
                                   &start_stage_,       &rescale_,         &decide_};
  for (const Stages<Schedule>* stages : {&plain_, &coupled_})
    all.insert(all.end(), {&stages->middle, &stages->finish});
  if (memory_.long_range) memory_.long_range->offer(view_, executor_.mailboxes());
  executor_.connect(all);
  if (memory_.long_range) memory_.long_range->join(view_, executor_.mailboxes());
}

size_t Rank::bytes() const {
  return memory_.bytes() + step_memory_.bytes() + executor_.mailboxes().bytes();
}

void Rank::stage(const char* name, const std::function<void()>& body) {
  Schedule one;
  one.add({name, Priority::kHalo, Stream::kMain, {}, [&body](Post&) { body(); }});
  executor_.run(one);
}

void Rank::load(const HostState& state, Begin begin) {
  const bool continued = !state.list_positions.empty();
  next_plans_ ? use_next_plan() : connect();
  memory_.update_conditions();
  device_.fill(slots_.faults.data(), 0, slots_.faults.bytes(), Stream::kMain);
  const RunState before = std::exchange(state_, RunState(plan_.rebuild, plan_.epoch_ends()));
  const bool goes_on = begin == Begin::kGoOn;
  last_ = {};
  if (memory_.external) memory_.external->forget_failure();
  if (begin == Begin::kAnew) {
    device_.fill(slots_.energy.data(), 0, slots_.energy.bytes(), Stream::kMain);
    early_rebuilds_ = 0;
  }
  slots_.load(continued ? state.list_positions : state.positions, state.velocities, state.step);
  slots_.variables.upload(values_of(plan_.variables, state.variables));
  const auto place = goes_on ? before.place() : RunState::Place::kState;
  const auto end = goes_on && before.epoch().begin == state.step ? RunState::EndOfEpoch::kActed
                                                                 : RunState::EndOfEpoch::kActs;
  if (continued)
    state_.load(state.step, state.list_step, place);
  else
    state_.load_without_lists(state.step, end, place);
  build_lists(goes_on && before.opens_with_stage() ? Epoch::Opening::kStage
                                                   : Epoch::Opening::kPlain);
  if (continued) set_positions(state.positions);
  fit_messages();
}

void Rank::load_over_lists(const HostState& state) {
  device_.fill(slots_.faults.data(), 0, slots_.faults.bytes(), Stream::kMain);
  device_.fill(slots_.energy.data(), 0, slots_.energy.bytes(), Stream::kMain);
  device_.copy_in(slots_.step.data(), &state.step, sizeof(int64_t));
  slots_.variables.upload(values_of(plan_.variables, state.variables));
  slots_.start_velocity.upload(by_slot(state.velocities));
  set_positions(state.positions);
  slots_.save_start();
  state_ = RunState(plan_.rebuild, plan_.epoch_ends());
  last_ = {};
  if (memory_.external) memory_.external->forget_failure();
  early_rebuilds_ = 0;
  state_.load(state.step, state.list_step);
  begin_epoch(Epoch::Opening::kPlain);
}

// ---- Steps ---------------------------------------------------------------------------------

// Impulse multiple time stepping (r-RESPA): the long-range force acts at steps that are multiples of
// `long_range_every`, multiplied by it. Only the step number decides, so it does not matter where runs and
// epochs begin.
Reach Rank::reach(int64_t step) const {
  return step % plan_.long_range_every == 0 ? Reach::kAll : Reach::kShort;
}

Rank::StepKind Rank::step_kind(int64_t step) const {
  if (state_.opens_with_stage() && step == state_.step()) return kWithEnergies;
  return reach(step) == Reach::kAll ? kAllForces : kShortForces;
}

const Stages<Schedule>& Rank::stages(int64_t step) const {
  return plan_.couples(step) ? coupled_ : plain_;
}

void Rank::run_stage(const Schedule& stage, int64_t step, int list_age, ForcesAfter after) {
  context_ = {memory_.group_work(list_age),
              memory_.groups.clear_forces(),
              after,
              slots_.step.data(),
              slots_.energy.data(),
              setup_.energy_kinds(),
              step_memory_.sums.data(),
              step_memory_.numbers.data(),
              cell_work(),
              memory_.groups.sites(),
              slots_.variables.data(),
              view_.rank == 0 ? slots_.energy.data() + kHeat : nullptr,
              memory_.groups.baths()};
  context_.groups.long_range_weight =
      reach(step) == Reach::kAll ? static_cast<float>(plan_.long_range_every) : 0;
  executor_.run(stage);
}

CellWork Rank::cell_work() {
  const double constant = setup_.energy_by_density();
  return {slots_.conditions.data(),
          slots_.box_before.data(),
          constant,
          setup_.virial_by_density(),
          view_.rank == 0 ? constant : 0,
          setup_.molecules.count,
          memory_.groups.molecules(),
          slots_.positions[1 - slots_.current].data()};
}

void Rank::forces() {
  run_forces(forces_, state_.step(), list_age());
  state_.set_forces(RunState::Forces::kCurrent);
}

void Rank::run_forces(const StepForces& forces, int64_t step, int list_age) {
  const StepKind kind = step_kind(step);
  executor_.run(forces[kind], {list_age, step});
  if (kind == kWithEnergies) count_potential(+1);
}

void Rank::advance_one(const StepForces& forces, int later, ForcesAfter after) {
  const int64_t step = state_.step() + later;
  run_forces(forces, step, list_age() + later);
  run_stage(stages(step).middle, step, list_age() + later, after);
}

void Rank::advance(int64_t steps) {
  if (records_)
    advance_recorded(steps);
  else
    for (int i = 0; i < steps; ++i) advance_one(forces_, i, ForcesAfter::kKept);
  state_.advance(steps);
  state_.set_forces(records_ ? RunState::Forces::kCleared : RunState::Forces::kStale);
}

void Rank::advance_recorded(int64_t steps) {
  auto* const shared = view_.ranks == 1 ? dynamic_cast<AdaptsToSharing*>(&device_) : nullptr;
  if (shared && shared->adapt_to_sharing()) recordings_.forget();
  // All of them, not only the slots in use: a rebuild inside the block may use more.
  if (state_.forces() != RunState::Forces::kCleared)
    device_.fill(slots_.force.data(), 0, slots_.force.bytes(), Stream::kMain);
  const bool rebuilds = state_.lists() == RunState::Lists::kRebuildDue;
  const Block block{steps,
                    state_.step() % plan_.period(),
                    list_age(),
                    slots_.current,
                    rebuilds,
                    rebuilds && state_.momentum() == RunState::Momentum::kToBeRemoved,
                    state_.opens_with_stage()};
  recordings_.run(block, state_.step(), [&] { run_block(steps); });
  if (rebuilds) slots_.current = 1 - block.buffer;
  state_.rebuilt();
}

void Rank::run_block(int64_t steps) {
  const bool rebuilds = state_.lists() == RunState::Lists::kRebuildDue;
  if (rebuilds) {
    if (state_.opens_with_stage()) run_rebuild_stage();
    remove_momentum();
    executor_.run(migrate_);
    executor_.run(proxies_and_lists_);
    if (state_.opens_with_stage()) device_.launch(slots_.check_patches());
  }
  for (int i = 0; i < steps; ++i)
    advance_one(rebuilds && i == 0 ? first_forces_ : block_forces_, i, ForcesAfter::kCleared);
  if (view_.ranks > 1) executor_.run(agree_);
}

void Rank::start_step() {
  if (!state_.has_forces()) forces();
  run_stage(start_stage_, state_.step(), list_age(), ForcesAfter::kKept);
  state_.start_step();
}

void Rank::finish_step() {
  if (state_.lists() == RunState::Lists::kRebuildDue) {
    if (!validate_last_epoch()) return;
    lay_out(state_.epoch().opening);
  }
  forces();
  run_stage(stages(state_.step()).finish, state_.step(), list_age(), ForcesAfter::kKept);
  state_.finish_step();
}

void Rank::run_to(int64_t target, const Look& look) {
  using Next = RunState::Next;
  auto* const shared = dynamic_cast<AdaptsToSharing*>(&device_);
  const std::shared_ptr<void> run = shared ? shared->begin_run() : nullptr;
  do {
    for (Next next; (next = state_.next(target)) != Next::kNothing;) {
      if (next == Next::kStart) start_step();
      if (next == Next::kEndEpoch) end_epoch();
      if (next == Next::kAdvance) advance(std::min(target, state_.epoch().end) - state_.step());
      if (next == Next::kFinish) finish_step();
    }
  } while (!needs_plan() && !validate_epoch(look));
}

void Rank::clear_energies() {
  constexpr size_t kFirst = kHeat + 1;
  device_.fill(slots_.energy.data() + kFirst, 0, slots_.energy.bytes() - kFirst * sizeof(int64_t),
               Stream::kMain);
}

void Rank::evaluate_at(int list_age) {
  clear_energies();
  executor_.run(energies_schedule_, {list_age, state_.step()});
  stage("energies", [&] { device_.launch(KineticEnergy{groups_at_end(), slots_.energy.data()}); });
}

void Rank::evaluate(int oldest) {
  if (state_.forces() == RunState::Forces::kWithEnergies) return;
  evaluate_at(std::min(oldest, list_age()));
  if (memory_.external) memory_.external->throw_failure(step() + 1);
  state_.set_forces(RunState::Forces::kWithEnergies);
}

}  // namespace quiltmd
