// SPDX-License-Identifier: Apache-2.0
// Where a run is among its steps and epochs, as data: what has been done, what is due, and which of the
// states may follow one another. Rank (runtime/rank.cpp) does the work and says here what it did;
// nothing here touches a device, so tests walk the states by themselves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "integrators/step_plan.h"

namespace quiltmd {

// The life of a pair list. Its end depends on step numbers and the trajectory alone, never on where a
// run was stopped.
struct Epoch {
  int64_t begin = 0, end = 0;  // the steps for which the lists are built and are to be replaced
  // Start of a repetition: the step, and the place in it, at which the lists were built.
  int64_t start = 0;
  enum class Place { kState, kInsideStep } place = Place::kState;
  // Whether the rebuild stage of the plan acted right before.
  enum class Opening { kPlain, kStage } opening = Opening::kPlain;
};

class RunState {
 public:
  // A state, or inside of a step: positions are new, forces and the step's end are to come.
  using Place = Epoch::Place;
  using Opening = Epoch::Opening;
  // The pair lists: good for their age; good, but atoms were moved otherwise than by steps; to be
  // rebuilt by the next block of steps.
  enum class Lists { kValid, kAtomsDisplaced, kRebuildDue };
  // The force accumulators: of other positions; zero; of these positions; and those of energies and
  // tensors of this state, too.
  enum class Forces { kStale, kCleared, kCurrent, kWithEnergies };
  // Motion of the centre of mass, at the rebuild that ends the epoch.
  enum class Momentum { kKept, kToBeRemoved };
  // Patches of the grid: assigned to ranks; or to be assigned again, perhaps for another grid, and a state to
  // be loaded.
  enum class Patches { kAssigned, kToBeAssigned };
  // Next action of a run.
  enum class Next { kStart, kEndEpoch, kAdvance, kFinish, kNothing };

  explicit RunState(RebuildPoint rebuild, EpochEnds ends = {}) : rebuild_(rebuild), ends_(ends) {}

  int64_t step() const { return step_; }
  Place place() const { return place_; }
  Lists lists() const { return lists_; }
  Forces forces() const { return forces_; }
  bool has_forces() const {
    return forces_ == Forces::kCurrent || forces_ == Forces::kWithEnergies;
  }
  Momentum momentum() const { return momentum_; }
  Patches patches() const { return patches_; }
  const Epoch& epoch() const { return epoch_; }

  // Steps since the lists were built; displaced atoms count as at the end of a life.
  int list_age(int life) const {
    if (lists_ == Lists::kAtomsDisplaced) return life;
    return static_cast<int>(std::min<int64_t>(step_ - epoch_.begin, life));
  }

  Next next(int64_t target) const {
    if (patches_ == Patches::kToBeAssigned) return Next::kNothing;
    if (step_ >= target && place_ == Place::kState) return Next::kNothing;
    if (rebuild_ == RebuildPoint::kInsideSteps && place_ == Place::kState) return Next::kStart;
    if (step_ >= epoch_.end) return Next::kEndEpoch;
    return step_ < target ? Next::kAdvance : Next::kFinish;
  }

  // The rebuild stage acted, and the steps from there are not made yet: their forces come with energies.
  bool opens_with_stage() const {
    return epoch_.opening == Opening::kStage && step_ == epoch_.start && place_ == epoch_.place;
  }

  // A state was loaded whose lists were built at `list_step`.
  void load(int64_t step, int64_t list_step, Place place = Place::kState) {
    step_ = step;
    place_ = place;
    epoch_.begin = list_step;
  }
  // A state was loaded without lists. Whether what acts at the ends of epochs has acted at this step.
  enum class EndOfEpoch { kActed, kActs };
  void load_without_lists(int64_t step, EndOfEpoch end, Place place = Place::kState) {
    load(step, end == EndOfEpoch::kActed ? step : step - 1, place);
    build_anew();
  }

  // Lists are built here, or are so as soon as the next block of steps begins.
  void begin_epoch(int life, Opening opening = Opening::kPlain) {
    epoch_ = {epoch_.begin, end_of(life), step_, place_, opening};
    lists_ = Lists::kValid;
    forget_forces();
  }
  // Lists are built here, whatever their age. Where the epoch ends here, and what acts there has not acted
  // yet, they count as a step old, so that it ends at once.
  void build_anew() {
    const bool inside = rebuild_ == RebuildPoint::kInsideSteps;
    const bool ends_here = inside == (place_ == Place::kInsideStep) && ends_.fall_on(step_);
    epoch_.begin = ends_here && epoch_.begin < step_ ? step_ - 1 : step_;
  }

  // The epoch is over. Momentum is removed if a multiple of this number of steps lies within it.
  void end_epoch() {
    const int every = ends_.momentum;
    const bool due = every > 0 && step_ / every > epoch_.begin / every;
    momentum_ = due ? Momentum::kToBeRemoved : Momentum::kKept;
    epoch_.begin = step_;
  }
  // The next block of steps builds the lists of the epoch that began last.
  void rebuild_later() { lists_ = Lists::kRebuildDue; }
  void rebuilt() { lists_ = Lists::kValid; }

  void start_step() {
    ++step_;
    place_ = Place::kInsideStep;
    forget_forces();
  }
  void finish_step() { place_ = Place::kState; }
  void advance(int64_t steps) { step_ += steps; }
  void displace_atoms() {
    lists_ = Lists::kAtomsDisplaced;
    forget_forces();
  }
  void set_forces(Forces now) { forces_ = now; }
  void require_assignment() { patches_ = Patches::kToBeAssigned; }
  void forget_forces() {
    if (has_forces()) forces_ = Forces::kStale;
  }
  // Velocities changed, or what energies depend on.
  void forget_energies() {
    if (forces_ == Forces::kWithEnergies) forces_ = Forces::kCurrent;
  }

  // Make an epoch that has ended the present one again; redo() follows, or the run has failed in it.
  void restore(const Epoch& epoch) {
    epoch_ = epoch;
    lists_ = Lists::kValid;
  }
  // Back to where the epoch started, to end it at `end`.
  void redo(int64_t end) {
    epoch_.end = end;
    step_ = epoch_.start;
    place_ = epoch_.place;
    forget_forces();
  }
  // The last step of an epoch in which an atom moved beyond the Verlet buffer at step `violation`: its
  // lists still serve all states before. Inside of a step they are replaced in time for the forces of
  // that step; between steps, before the step that leads there.
  int64_t end_before(int64_t violation) const {
    return rebuild_ == RebuildPoint::kInsideSteps ? violation : violation - 1;
  }

 private:
  int64_t end_of(int life) const {
    return std::min(epoch_.begin + life, ends_.first_after(epoch_.begin));
  }

  RebuildPoint rebuild_;
  EpochEnds ends_;
  int64_t step_ = 0;
  Place place_ = Place::kState;
  Lists lists_ = Lists::kValid;
  Forces forces_ = Forces::kStale;
  Patches patches_ = Patches::kAssigned;
  Momentum momentum_ = Momentum::kKept;
  Epoch epoch_;
};

}  // namespace quiltmd
