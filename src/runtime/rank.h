// SPDX-License-Identifier: Apache-2.0
// One worker: a device, its memory, and the loop that advances a State step by step. All ranks
// run the same loop and take the same decisions, from what they agreed on.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/frame.h"
#include "runtime/recordings.h"
#include "runtime/run_state.h"
#include "schedule/agree.h"
#include "schedule/executor.h"
#include "schedule/forces.h"
#include "schedule/rebuild.h"
#include "schedule/stage.h"

namespace quiltmd {

// The motion of an atom went out of bounds, its constraints could not be satisfied, some atom moved
// beyond the Verlet buffer in one step, or a bonded term is stretched over more
// patches than those of which one rank holds atoms.
struct Blowup : std::runtime_error {
  enum class Cause { kMotion, kConstraint, kBuffer, kLostTerm, kFarMigrant };
  Blowup(int64_t at, int32_t which, Cause why)
      : std::runtime_error("the simulation blew up"), step(at), atom(which), cause(why) {}
  int64_t step;
  int32_t atom;  // internal index, of kMotion, kConstraint and kFarMigrant
  Cause cause;
};

class Rank {
 public:
  // Finds out how messages go; all ranks do so together.
  using FindLinks = std::function<Links(Executor&)>;
  Rank(
      const Setup& setup, Device& device, Transport& transport, RankView view,
      const FindLinks& find_links = [](Executor&) { return Links{}; });

  // Start from a state, under the conditions of the setup and with the plan of the last replan(). A run
  // that goes on keeps its heat.
  enum class Begin { kAnew, kGoOn };
  void load(const HostState& state, Begin begin = Begin::kAnew);
  // Likewise from a state whose lists are those that there are.
  void load_over_lists(const HostState& state);
  // Up to a step, or to where patches must be assigned to ranks again: a barostat has made a box that needs
  // another patch grid, or atoms of an open system left the patch grid, or a rank outgrew its share. Then
  // load() is to follow.
  // `look` launches what reads the state there, and may be called before the steps are known to hold; what it
  // has read then counts for nothing, and it is called again. Only where alone() is true, else never.
  using Look = std::function<void()>;
  void run_to(int64_t target, const Look& look = {});
  // Whether it records its steps, and nobody else has a part in them.
  bool alone() const { return records_ && view_.ranks == 1 && !memory_.external; }
  void run(int64_t steps) { run_to(step() + steps); }
  bool needs_plan() const { return state_.patches() == RunState::Patches::kToBeAssigned; }
  // And with another patch grid.
  bool needs_grid() const { return needs_plan() && agreed_.faults.box; }
  void draw_velocities(double temperature, uint64_t seed);
  // The conditions of the setup hold for the steps from here on. Where the box is another one, atoms
  // move with it. The epoch ends: rebuild() or load() is to follow.
  enum class Atoms { kStay, kMoveWithBox };
  void update_conditions(Atoms atoms);
  // Atoms to their patches, and lists of the epoch that begins. Where needs_plan(), load() is to follow.
  void rebuild();
  // Operations have other pointers from here on.
  void forget_recordings() { recordings_.forget(); }

  // Forces with energies and tensors of the state, where it does not have them yet. Lists count as no older than
  // `oldest`.
  void evaluate(int oldest);

  // Minimisation: atoms are moved to positions in internal order, after which evaluate() applies.
  void place(const std::vector<Vec3d>& positions);
  void relist();  // likewise, in the epoch of the present step

  // The transforms of PME are shared so from here on; all ranks do this together.
  void share_mesh(MeshSharing mesh);
  // Whether blocks of steps are recorded and run whole.
  bool records() const { return records_; }

  // A new plan takes effect at the next rebuild.
  void replan(std::vector<RankPlan> plans) { next_plans_ = std::move(plans); }
  void begin_measurement() { executor_.begin_measurement(); }

  const Executor& executor() const { return executor_; }
  // The forces of a step in which all of them act, without energies.
  const Schedule& step_forces() const { return forces_[kAllForces]; }
  // Values of all ranks, by rank: for ranks in separate processes.
  std::vector<Payload> gather(Payload own) { return executor_.gather(std::move(own)); }
  void start_profile();
  struct Profile {  // what took place since
    std::vector<Span> spans;
    std::vector<MessageEvent> messages;
    std::vector<int64_t> steps;  // of each part of the spans; none: there are no parts
  };
  Profile stop_profile();
  std::vector<Span> launches() { return device_.take_spans(); }
  const RankMemory& memory() const { return memory_; }
  RankMemory& memory() { return memory_; }
  size_t bytes() const;  // on the device
  const RankView& view() const { return view_; }
  int index() const { return view_.rank; }
  int64_t step() const { return state_.step(); }
  int64_t list_step() const { return state_.epoch().begin; }
  int64_t epoch_start() const { return state_.epoch().start; }
  int64_t early_rebuilds() const { return early_rebuilds_; }

 private:
  RankView linked(RankView view, const FindLinks& find_links);
  void build_schedules();
  Schedule carried(Schedule schedule) const;  // in an order that suits the carriers of its messages
  void connect();  // all ranks together: room for the messages of the schedules
  void stage(const char* name, const std::function<void()>& body);
  void run_stage(const Schedule& stage, int64_t step, int list_age, ForcesAfter after);
  CellWork cell_work();

  // Steps.
  int list_age() const { return state_.list_age(setup_.lists.life); }
  // The groups while lists are as old as they may be, as where atoms are moved otherwise than by steps.
  GroupWork groups_at_end() const { return memory_.group_work(setup_.lists.life); }
  Reach reach(int64_t step) const;
  // Forces of a step: all, all but the long-range ones, or all with energies.
  enum StepKind : size_t { kAllForces, kShortForces, kWithEnergies, kStepKinds };
  using StepForces = std::array<Schedule, kStepKinds>;
  StepKind step_kind(int64_t step) const;
  void forces();
  void run_forces(const StepForces& forces, int64_t step, int list_age);
  const Stages<Schedule>& stages(int64_t step) const;
  // The rebuild stage of the plan: at the end of an epoch, before its atoms are laid out anew; and what the
  // potential energy has become by it, once forces are there.
  void run_rebuild_stage();
  void count_potential(int sign);
  void clear_energies();
  void evaluate_at(int list_age);
  // Steps of {forces, middle stage}; where the device prefers recorded sequences, one of them together
  // with the rebuild that is due.
  void advance(int64_t steps);
  void advance_one(const StepForces& forces, int later, ForcesAfter after);  // than the state
  void advance_recorded(int64_t steps);
  void run_block(int64_t steps);
  void start_step();
  void finish_step();

  // Epochs.
  void use_next_plan();
  void begin_epoch(Epoch::Opening opening) { state_.begin_epoch(setup_.lists.life, opening); }
  void build_lists(Epoch::Opening opening);  // of the epoch that begins
  void lay_out(Epoch::Opening opening);
  void end_epoch();
  // Whether an epoch's steps hold, as far as ranks agree; if not, its start is restored, or the
  // simulation has failed. The present epoch, and the one before it on a device that records.
  bool validate_epoch(const Look& look = {});
  bool validate_last_epoch();
  bool holds(int64_t end) const;
  std::unique_ptr<Download> findings() const;
  void undo_epoch();
  void redo_epoch(int64_t end);
  void agree();
  void check_messages() const;  // throws where one came too late or damaged
  void check_migrants() const;
  void check_far_migrants() const;
  void check_terms() const;
  void make_room(Faults faults);
  void make_room_for_messages();
  void fit_messages();
  // Values of atoms in internal order, sorted into the present layout.
  std::vector<Vec3d> by_slot(const std::vector<Vec3d>& values) const;
  void set_positions(const std::vector<Vec3d>& positions);
  void remove_momentum();
  [[noreturn]] void fail() const;

  const Setup& setup_;
  const StepPlan& plan_;
  Device& device_;
  Executor executor_;
  RankView view_;
  std::optional<std::vector<RankPlan>> next_plans_;
  RankMemory memory_;
  SlotMemory& slots_ = memory_.slots;
  StepMemory step_memory_;
  StepContext context_;  // of the stage that runs
  Agreement agreed_;
  StepForces forces_, block_forces_, first_forces_;
  Schedule energies_schedule_, external_update_, migrate_, proxies_and_lists_, agree_, momentum_,
      start_stage_, rescale_, decide_;
  Stages<Schedule> plain_, coupled_;

  bool records_ = false;
  Recordings recordings_;
  RunState state_;
  // The epoch before the present one, until it is validated.
  struct LastEpoch {
    std::unique_ptr<Download> found;
    Epoch epoch;
    int buffer = 0;  // of the state at its end
  } last_;
  int64_t early_rebuilds_ = 0;
};

}  // namespace quiltmd
