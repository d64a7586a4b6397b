// SPDX-License-Identifier: Apache-2.0
// One worker: a device, its workspace, and the loop that advances a State step by step. All ranks
// run the same loop and take the same decisions, from what they agreed on.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "schedule/executor.h"
#include "schedule/forces.h"

namespace quiltmd {

// A state in internal order, as it enters and leaves a run.
struct HostState {
  int64_t step = 0;
  std::vector<Vec3d> positions, velocities;
  int64_t list_step = 0;
  std::vector<Vec3d> list_positions;  // empty: build lists from the positions
};

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
  std::array<int64_t, kEnergyKinds> energies() const;

  // Write what this rank owns into arrays in internal order.
  void collect(HostState& state) const;
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
  Workspace& workspace() { return workspace_; }
  int index() const { return view_.rank; }
  int64_t step() const { return step_; }
  int64_t early_rebuilds() const { return early_rebuilds_; }

 private:
  void build_schedules();
  void stage(const char* name, const std::function<void()>& body);
  void rebuild();
  void forces();
  // Steps of {forces, stage}, as one recorded sequence where the device prefers that.
  void advance(int64_t steps);
  void advance_one();
  void advance_recorded(int64_t steps);
  void start_verlet();
  void finish_verlet();
  void end_epoch();
  // End an epoch or a run: agree, and redo the epoch's end if an atom outran the list buffer.
  // Returns false when steps were undone.
  bool settle();
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
  Schedule forces_, energies_schedule_, rebuild_, agree_;

  int64_t step_ = 0;
  int64_t list_step_ = 0, epoch_end_ = 0;
  bool mid_step_ = false;      // NVE: positions advanced, forces and second half kick to come
  bool forces_current_ = false;
  // Recorded blocks of steps, by length and by the state's buffer.
  bool records_ = false;
  std::map<std::pair<int64_t, int>, int> recordings_;
  void drop_recordings();
  // Where the epoch is redone from.
  struct Start {
    int64_t step = 0;
    bool mid_step = false;
  } start_;
  int64_t early_rebuilds_ = 0;
};

}  // namespace quiltmd
