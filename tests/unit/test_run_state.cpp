// SPDX-License-Identifier: Apache-2.0
// The states of a run, walked without a device: where each kind of plan starts, ends epochs, and goes
// back to when an epoch does not hold.
#include "runtime/run_state.h"

#include <functional>
#include <string>
#include <vector>

#include "check.h"

using namespace quiltmd;

namespace {

using Next = RunState::Next;
constexpr int kLife = 5;

// A rank that does nothing but say what it did; returns the actions, one letter each.
std::string run(RunState& state, int64_t target) {
  std::string actions;
  for (Next next; (next = state.next(target)) != Next::kNothing;) {
    if (next == Next::kStart) {
      actions += 's';
      state.start_step();
    }
    if (next == Next::kEndEpoch) {
      actions += 'e';
      state.end_epoch();
      state.begin_epoch(kLife);
    }
    if (next == Next::kAdvance) {
      const int64_t steps = std::min(target, state.epoch().end) - state.step();
      actions += std::to_string(steps);
      state.advance(steps);
    }
    if (next == Next::kFinish) {
      actions += 'f';
      state.finish_step();
    }
  }
  return actions;
}

RunState loaded(RebuildPoint rebuild, int64_t step, int64_t list_step) {
  RunState state(rebuild);
  state.load(step, list_step);
  state.begin_epoch(kLife);
  return state;
}

void between_steps() {
  RunState state = loaded(RebuildPoint::kBetweenSteps, 0, 0);
  CHECK(run(state, 12) == "5e5e2");
  CHECK(state.step() == 12 && state.epoch().begin == 10 && state.list_age(kLife) == 2);
  CHECK(run(state, 15) == "3");  // the epoch that ends there is left for the next run to end
  CHECK(run(state, 15).empty());
  CHECK(run(state, 16) == "e1");
}

void inside_steps() {
  RunState state = loaded(RebuildPoint::kInsideSteps, 0, 0);
  CHECK(run(state, 4) == "s3f");
  CHECK(state.place() == RunState::Place::kState);
  CHECK(run(state, 11) == "se5e1f");
  CHECK(state.epoch().place == RunState::Place::kInsideStep);
}

// However a run is cut into pieces, the epochs are the same.
void pieces_leave_no_trace() {
  for (const RebuildPoint rebuild : {RebuildPoint::kBetweenSteps, RebuildPoint::kInsideSteps})
    for (int piece = 1; piece < 8; ++piece) {
      RunState whole = loaded(rebuild, 0, 0), cut = loaded(rebuild, 0, 0);
      run(whole, 56);
      for (int64_t step = piece; step < 56; step += piece) run(cut, step);
      run(cut, 56);
      CHECK(whole.epoch().begin == cut.epoch().begin && whole.epoch().end == cut.epoch().end);
      CHECK(whole.step() == cut.step() && whole.place() == cut.place());
    }
}

void a_loaded_state_keeps_the_age_of_its_lists() {
  RunState state = loaded(RebuildPoint::kBetweenSteps, 13, 10);
  CHECK(state.list_age(kLife) == 3);
  CHECK(run(state, 17) == "2e2");
}

// Lists live for 5 steps, momentum is removed every 8: at 8, 16 and 24, where epochs end for it.
void momentum_is_removed_at_multiples() {
  RunState state(RebuildPoint::kBetweenSteps, {0, 8});
  state.load(0, 0);
  state.begin_epoch(kLife);
  std::string steps;
  while (state.step() < 25) {
    state.advance(state.epoch().end - state.step());
    state.end_epoch();
    state.begin_epoch(kLife);
    const bool due = state.momentum() == RunState::Momentum::kToBeRemoved;
    steps += std::to_string(state.step()) + (due ? "! " : " ");
  }
  CHECK(steps == "5 8! 13 16! 21 24! 29 ");
}

// Loaded without lists at a step where epochs end, or with lists built anew there: what acts there does.
void nothing_is_skipped_without_lists() {
  using End = RunState::EndOfEpoch;
  using Place = RunState::Place;
  const auto first = [](RebuildPoint rebuild, int64_t step, End end, Place place) {
    RunState state(rebuild, {0, 8});
    state.load_without_lists(step, end, place);
    state.begin_epoch(kLife);
    if (state.next(step + 1) != RunState::Next::kEndEpoch) return std::string("goes on");
    state.end_epoch();
    return std::string(state.momentum() == RunState::Momentum::kToBeRemoved ? "acts" : "ends");
  };
  CHECK(first(RebuildPoint::kBetweenSteps, 16, End::kActs, Place::kState) == "acts");
  CHECK(first(RebuildPoint::kInsideSteps, 16, End::kActs, Place::kInsideStep) == "acts");
  CHECK(first(RebuildPoint::kBetweenSteps, 16, End::kActed, Place::kState) == "goes on");
  CHECK(first(RebuildPoint::kBetweenSteps, 17, End::kActs, Place::kState) == "goes on");
  CHECK(first(RebuildPoint::kBetweenSteps, 0, End::kActs, Place::kState) == "goes on");
  RunState state(RebuildPoint::kBetweenSteps, {8, 0});
  state.load(8, 5);
  state.build_anew();
  state.begin_epoch(kLife);
  CHECK(state.next(9) == RunState::Next::kEndEpoch);
  state.end_epoch();
  state.build_anew();
  state.begin_epoch(kLife);
  CHECK(state.next(9) == RunState::Next::kAdvance);
}

// Conditions that change end an epoch, too: at the step itself nothing is removed twice.
void momentum_is_removed_once() {
  RunState state(RebuildPoint::kInsideSteps, {0, 8});
  state.load(8, 8);
  state.begin_epoch(kLife);
  state.end_epoch();
  CHECK(state.momentum() == RunState::Momentum::kKept);
  state.load(8, 5);
  state.end_epoch();
  CHECK(state.momentum() == RunState::Momentum::kToBeRemoved);
}

// A barostat acts every 8 steps, lists live for 5: epochs end at 5, 8, 13, 16, ...
void epochs_end_where_a_barostat_acts() {
  for (const RebuildPoint rebuild : {RebuildPoint::kBetweenSteps, RebuildPoint::kInsideSteps}) {
    RunState state(rebuild, {8, 0});
    state.load(0, 0);
    state.begin_epoch(kLife);
    CHECK(run(state, 18) == (rebuild == RebuildPoint::kBetweenSteps ? "5e3e5e3e2" : "s4e3e5e3e2f"));
    state.load(16, 13);  // a checkpoint at the end of an epoch, and in the middle of one
    state.begin_epoch(kLife);
    CHECK(state.epoch().end == 16);
    state.load(15, 13);
    state.begin_epoch(kLife);
    CHECK(state.epoch().end == 16 && !state.opens_with_stage());
  }
}

void a_rescaled_epoch_stays_one_when_it_is_redone() {
  RunState state(RebuildPoint::kBetweenSteps, {8, 0});
  state.load(8, 8);
  state.begin_epoch(kLife, Epoch::Opening::kStage);
  CHECK(state.opens_with_stage());
  state.advance(3);
  CHECK(!state.opens_with_stage());
  state.redo(10);
  CHECK(state.opens_with_stage());
  run(state, 11);
  CHECK(!state.opens_with_stage());
}

// An epoch that was followed by another before it was found not to hold.
void an_epoch_is_redone() {
  RunState state = loaded(RebuildPoint::kInsideSteps, 0, 0);
  run(state, 2);
  state.start_step();
  state.advance(2);
  const Epoch last = state.epoch();
  state.end_epoch();
  state.begin_epoch(kLife);
  state.rebuild_later();
  state.advance(3);
  state.set_forces(RunState::Forces::kCleared);
  CHECK(state.list_age(kLife) == 3);

  state.restore(last);
  state.redo(state.end_before(4));
  CHECK(state.step() == 0 && state.place() == RunState::Place::kState);
  CHECK(state.lists() == RunState::Lists::kValid && state.forces() == RunState::Forces::kCleared);
  CHECK(run(state, 6) == "s3e2f");  // new lists in time for the forces of step 4
  CHECK(loaded(RebuildPoint::kBetweenSteps, 0, 0).end_before(4) == 3);
}

void forces_go_stale() {
  RunState state = loaded(RebuildPoint::kBetweenSteps, 0, 0);
  state.set_forces(RunState::Forces::kCurrent);
  state.begin_epoch(kLife);
  CHECK(state.forces() == RunState::Forces::kStale);
  state.set_forces(RunState::Forces::kCleared);  // stays true whatever the atoms do
  state.redo(kLife);
  CHECK(state.forces() == RunState::Forces::kCleared);
}

void energies_go_stale() {
  RunState state = loaded(RebuildPoint::kInsideSteps, 0, 0);
  state.set_forces(RunState::Forces::kWithEnergies);
  state.forget_energies();  // velocities are others, forces are not
  CHECK(state.forces() == RunState::Forces::kCurrent && state.has_forces());
  for (const auto& change : std::vector<std::function<void()>>{[&] { state.displace_atoms(); },
                                                               [&] { state.start_step(); }}) {
    state.set_forces(RunState::Forces::kWithEnergies);
    change();
    CHECK(state.forces() == RunState::Forces::kStale && !state.has_forces());
  }
}

void displaced_atoms_age_lists() {
  RunState state = loaded(RebuildPoint::kBetweenSteps, 0, 0);
  state.displace_atoms();
  CHECK(state.list_age(kLife) == kLife);
  state.build_anew();
  state.begin_epoch(kLife);
  CHECK(state.list_age(kLife) == 0);
}

}  // namespace

int main() {
  return test::run_all({
      {"plans between steps go on from state to state", between_steps},
      {"plans inside steps start and finish", inside_steps},
      {"pieces leave no trace", pieces_leave_no_trace},
      {"a loaded state keeps the age of its lists", a_loaded_state_keeps_the_age_of_its_lists},
      {"momentum is removed at multiples", momentum_is_removed_at_multiples},
      {"nothing is skipped without lists", nothing_is_skipped_without_lists},
      {"momentum is removed once", momentum_is_removed_once},
      {"epochs end where a barostat acts", epochs_end_where_a_barostat_acts},
      {"a rescaled epoch stays one", a_rescaled_epoch_stays_one_when_it_is_redone},
      {"an epoch is redone", an_epoch_is_redone},
      {"forces go stale", forces_go_stale},
      {"energies go stale", energies_go_stale},
      {"displaced atoms age lists", displaced_atoms_age_lists},
  });
}
