// SPDX-License-Identifier: Apache-2.0
// Loops over placed groups on the host. Threads share the groups in chunks; in a chunk, rigid waters
// and atoms alone are collected into batches and everything else goes one by one. Sums over atoms are
// integers, so they do not depend on the chunks.
#pragma once

#include <algorithm>
#include <array>

#include "decomposition/host_faults.h"
#include "device/host/kernels.h"
#include "integrators/host_batches.h"
#include "integrators/large_group.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// Groups per chunk: enough to fill batches, few enough to share evenly.
inline constexpr int kGrain = 128;

// ---- Faults --------------------------------------------------------------------------------

// Checks a displacement from the reference position.
inline void check_displacement(const GroupWork& work, int64_t step, double displacement2,
                               int32_t atom) {
  if (displacement2 <= work.buffer_limit2) return;
  if (!(displacement2 <= work.blowup2)) {
    report_fault(work.faults->blowup_step, work.faults->blowup_atom, step, atom);
  } else {
    int32_t whichever = atom;
    report_fault(work.faults->violation_step, whichever, step, atom);
  }
}

inline void report_constraint(const GroupWork& work, int32_t atom) {
  report_fault(work.faults->constraint_step, work.faults->constraint_atom, *work.step, atom);
}

// ---- Storing -------------------------------------------------------------------------------

inline void store_positions(const GroupWork& work, int index, const Vec3d* position, int count) {
  const PlacedGroup placed = work.placed[index];
  const int first = work.constants.group_start[placed.group];
  for (int i = 0; i < count; ++i) {
    check_displacement(work, *work.step,
                       store_position(work.slots, placed.slot + i, work.origin[index], position[i]),
                       first + i);
  }
}

inline void store_velocities(const GroupWork& work, int index, const Vec3d* velocity, int count) {
  std::copy_n(velocity, count, work.slots.velocity + work.placed[index].slot);
}

// Whether a stage leaves cleared forces behind.
inline bool clears(const VerletStart&) { return false; }
inline bool clears(const VerletFinish&) { return false; }
template <class Op>
bool clears(const Op& op) {
  return op.forces_after == ForcesAfter::kCleared;
}

// The groups of a batch have one heat bath.
inline int bath_of(const LangevinMiddleGroups& op, int32_t group) {
  return op.baths.of_group[group];
}
template <class Op>
int bath_of(const Op&, int32_t) {
  return 0;
}

inline void clear_forces(const Slots& slots, int first, int count) {
  for (int64_t* component : slots.force) std::fill_n(component + first, count, int64_t{0});
}

inline void count_step(int64_t* counter) {
  if (counter) ++*counter;
}

// ---- Loops over groups ---------------------------------------------------------------------

inline int first_atom(const GroupWork& work, int index) {
  return work.constants.group_start[work.placed[index].group];
}

// Sums over the groups of a chunk, in fixed point, and where they are added at the end.
using ChunkSums = std::array<int64_t, std::max(kKineticSums, kMaxHeatBaths)>;
struct Target {
  int64_t* values = nullptr;
  size_t count = 0;
};

// Call body(begin, end, sums) over the placed groups.
template <class Body>
void over_chunks(const GroupWork& work, ThreadGroup& threads, Target target, const Body& body) {
  threads.parallel_for(std::min(*work.count, work.capacity), kGrain, [&](int begin, int end, int) {
    ChunkSums sums{};
    body(begin, end, sums);
    for (size_t k = 0; k < target.count; ++k)
      __atomic_fetch_add(target.values + k, sums[k], __ATOMIC_RELAXED);
  });
}

// Load each group and call stage(group, index, sums), which stores what it changed. For what is not
// done every step: not in batches.
template <class Stage>
void over_groups(const GroupWork& work, ThreadGroup& threads, Target target, const Stage& stage) {
  over_chunks(work, threads, target, [&](int begin, int end, ChunkSums& sums) {
    const auto apply_to = [&](auto& group, int index) {
      load(work, work.placed[index], group);
      const Outcome outcome = stage(group, index, sums);
      if (!outcome.converged) report_constraint(work, first_atom(work, index));
    };
    RigidWater water;
    StarGroup star;
    SmallGroup group;
    LargeGroup large;
    for (int index = begin; index < end; ++index) {
      switch (work.constants.code(work.placed[index].group).group_class()) {
        case GroupClass::kWater:
          apply_to(water, index);
          break;
        case GroupClass::kStar:
          apply_to(star, index);
          break;
        case GroupClass::kGeneral:
          apply_to(group, index);
          break;
        case GroupClass::kLarge:
          apply_to(large, index);
          break;
      }
    }
  });
}

enum class Changes { kVelocities, kBoth };

// Groups of one kind, which a stage changes whenever they fill a batch.
template <class Op, class Group>
class Batches {
 public:
  Batches(const Op& op, Changes stores) : op_(op), stores_(stores) {}

  void add(int index) {
    const PlacedGroup placed = op_.work.placed[index];
    const int bath = bath_of(op_, placed.group);
    if (bath != batch_.bath) flush();
    batch_.bath = bath;
    load(op_.work, placed, last_);
    if (clears(op_)) clear_forces(op_.work.slots, placed.slot, Group::atoms());
    put(batch_.count, index);
    if (++batch_.count == batch_.kWidth) flush();
  }

  // Changes what is left and returns the heat of all.
  int64_t finish() {
    flush();
    return heat_;
  }

 private:
  void put(int k, int index) {
    batch_.put(k, last_);
    batch_.placed[k] = index;
    batch_.first_atom[k] = static_cast<uint32_t>(first_atom(op_.work, index));
  }

  void flush() {
    if (batch_.count == 0) return;
    const int count = batch_.count;
    for (int k = count; k < batch_.kWidth; ++k) put(k, batch_.placed[count - 1]);
    apply(op_, batch_);
    for (int k = 0; k < count; ++k) store(k);
    batch_.count = 0;
  }

  void store(int k) {
    constexpr int kAtoms = Group::atoms();
    Vec3d position[kAtoms], velocity[kAtoms];
    for (int i = 0; i < kAtoms; ++i) {
      for (int d = 0; d < 3; ++d) {
        position[i][d] = batch_.position[3 * i + d][k];
        velocity[i][d] = batch_.velocity[3 * i + d][k];
      }
    }
    store_velocities(op_.work, batch_.placed[k], velocity, kAtoms);
    if (stores_ == Changes::kBoth) store_positions(op_.work, batch_.placed[k], position, kAtoms);
    heat_ += to_fixed(batch_.heat[k], kEnergyScale);
  }

  const Op& op_;
  Changes stores_;
  Batch<Group> batch_;
  Group last_{};  // the last one loaded; fills up a batch
  int64_t heat_ = 0;
};

// One group through `stage(group)`; returns its heat.
template <class Op, class Group, class Stage>
int64_t run_group(const Op& op, Changes stores, int index, Group& group, const Stage& stage) {
  const GroupWork& work = op.work;
  const PlacedGroup placed = work.placed[index];
  load(work, placed, group);
  if (clears(op)) clear_forces(work.slots, placed.slot, group.atoms());
  const Outcome outcome = stage(group, index);
  if (!outcome.converged) report_constraint(work, first_atom(work, index));
  store_velocities(work, index, group.velocity, group.atoms());
  if (stores == Changes::kBoth) store_positions(work, index, group.position, group.atoms());
  return to_fixed(outcome.heat, kEnergyScale);
}

// One chunk of a stage: waters and single atoms in batches, others by `stage(group)`.
template <class Op, class Stage>
int64_t run_chunk(const Op& op, Changes stores, int begin, int end, const Stage& stage) {
  const GroupTable& constants = op.work.constants;
  Batches<Op, RigidWater> waters(op, stores);
  Batches<Op, SingleAtom> atoms(op, stores);
  StarGroup star;
  SmallGroup group;
  LargeGroup large;
  int64_t heat = 0;
  for (int index = begin; index < end; ++index) {
    const int32_t placed = op.work.placed[index].group;
    switch (constants.code(placed).group_class()) {
      case GroupClass::kWater:
        waters.add(index);
        break;
      case GroupClass::kStar:
        if (constants.shape(placed).atoms == 1)
          atoms.add(index);
        else
          heat += run_group(op, stores, index, star, stage);
        break;
      case GroupClass::kGeneral:
        heat += run_group(op, stores, index, group, stage);
        break;
      case GroupClass::kLarge:
        heat += run_group(op, stores, index, large, stage);
        break;
    }
  }
  return heat + waters.finish() + atoms.finish();
}

template <class Group>
void draw_noise(uint64_t seed, uint64_t step, RandomStream stream, int atom, Group& g) {
  for (int i = 0; i < g.atoms(); ++i)
    g.noise[i] = gaussian3(seed, step, static_cast<uint32_t>(atom + i), stream);
}

}  // namespace quiltmd
