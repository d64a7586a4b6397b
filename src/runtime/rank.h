// SPDX-License-Identifier: Apache-2.0
// One worker: a device, its workspace, and the loop that advances a State step by step. All ranks
// run the same loop and take the same decisions, from what they agreed on.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/frame.h"
#include "schedule/executor.h"
#include "schedule/forces.h"

namespace quiltmd {

// The motion of an atom went out of bounds, its constraints could not be satisfied, or a bonded
// term is stretched over so many patches that no rank holds all its atoms.
struct Blowup : std::runtime_error {
  enum class Cause { kMotion, kConstraint, kLostTerm };
  Blowup(int64_t at, int32_t which, Cause why)
      : std::runtime_error("the simulation blew up"), step(at), atom(which), cause(why) {}
  int64_t step;
  int32_t atom;  // internal index
  Cause cause;
};

class Rank {
 public:
  Rank(const Setup& setup, Device& device, Transport& transport, RankView view);

  void load(const HostState& state);
  void run(int64_t steps);
  void draw_velocities(double temperature, uint64_t seed);

  // Evaluate forces with energies at the current positions.
  void evaluate();

  // This rank's share of a frame, of the state at which run() returned.
  std::unique_ptr<Download> capture(Contents contents) const;

  // Write what this rank owns into arrays in internal order.
  void collect_start(HostState& state) const;  // where the present epoch started
  void collect_forces(std::vector<Vec3d>& forces, bool long_range) const;
  std::array<int64_t, 3> force_sum() const;  // exact, owned slots: short-range and bonded

  // Steepest descent: x = start + scale * force, after which evaluate() applies; keep() makes the
  // present positions the new start, revert() goes back.
  double largest_force();
  void displace(double scale);
  void keep();
  void revert();
  void relist();  // build lists from the present positions

  // A new plan takes effect at the next rebuild.
  void replan(RankView view) { next_view_ = std::move(view); }
  double pair_seconds() const;
  std::vector<std::pair<int, int64_t>> compute_entries() const;  // compute, list entries

  const Executor& executor() const { return executor_; }
  void start_profile();
  std::vector<Span> stop_profile();  // what took place since
  std::vector<Span> launches() { return device_.take_spans(); }
  Workspace& workspace() { return workspace_; }
  int index() const { return view_.rank; }
  int64_t step() const { return step_; }
  int64_t list_step() const { return list_step_; }
  int64_t early_rebuilds() const { return early_rebuilds_; }

 private:
  void build_schedules();
  void stage(const char* name, const std::function<void()>& body);
  void rebuild();
  void adopt_next_plan();
  void begin_epoch();
  void lay_out();
  int list_age() const;
  Reach reach(int64_t step) const;
  GroupWork driven_groups(int64_t step);
  void forces();
  // Steps of {forces, stage}; where the device prefers recorded sequences, one of them together
  // with the rebuild that is due.
  void advance(int64_t steps);
  // The forces of a step by Reach.
  using StepForces = std::array<Schedule, 2>;
  void advance_one(const StepForces& forces, int64_t step, ForcesAfter after);
  void advance_recorded(int64_t steps);
  void run_block(int64_t steps);
  void start_verlet();
  void finish_verlet();
  void end_epoch();
  // End an epoch or a run: agree, and go back to the epoch's start if it was in vain. Returns false
  // when steps were undone.
  bool settle();
  bool settle_last();
  std::unique_ptr<Download> findings() const;
  bool all_well(int64_t end) const;
  void undo();
  void check_terms() const;
  void make_room(int32_t need);
  void redo(int64_t epoch_end);
  void snapshot();
  void remove_momentum();
  [[noreturn]] void fail() const;

  const Setup& setup_;
  Device& device_;
  RankView view_;
  std::optional<RankView> next_view_;
  Workspace workspace_;
  Executor executor_;
  Agreement agreed_;
  StepForces forces_, block_forces_, first_forces_;
  Schedule energies_schedule_, rebuild_, agree_;

  int64_t step_ = 0;
  int64_t list_step_ = 0, epoch_end_ = 0;
  bool mid_step_ = false;  // NVE: positions advanced, forces and second half kick to come
  bool strayed_ = false;   // atoms were moved otherwise than by steps since lists were built
  bool forces_current_ = false;
  // Recorded blocks of steps.
  struct Block {
    int64_t steps;
    int64_t phase;  // steps since the long-range force acted
    int age;        // of the lists at its start
    int buffer;     // of the state at its start
    bool rebuild;   // lists are built first
    bool momentum;  // and before that, momentum is removed
    auto operator<=>(const Block&) const = default;
  };
  void drop_recordings();
  void forget_blocks();
  bool records_ = false;
  bool rebuild_due_ = false;   // by the next recorded block
  bool momentum_due_ = false;  // at the end of this epoch
  bool profiled_ = false;
  bool forces_clear_ = false;  // the accumulators are zero
  std::map<Block, int> recordings_;
  // Where the epoch is redone from.
  struct Start {
    int64_t step = 0;
    bool mid_step = false;
  } start_;
  // The epoch before the present one, until it is settled, and what to go back to if it must be
  // redone.
  struct LastEpoch {
    std::unique_ptr<Download> found;
    int64_t list_step = 0, end = 0;
    Start start;
    int buffer = 0;
  } last_;
  int64_t early_rebuilds_ = 0;
};

}  // namespace quiltmd
