// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups on a GPU: one thread has one group.
//
// A warp whose threads work on different classes of groups does the work of all of them, so a block
// first sorts its groups by class. Those that are neither waters nor stars are rare and may use local
// memory.
#pragma once

#include "device/cuda/launch.h"
#include "integrators/group_shapes.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// Values that lie in memory are not kept in registers across this.
__device__ inline void forget_registers() { asm volatile("" ::: "memory"); }

// A rigid water, moved where it lies: while constraints are solved registers hold little more than
// that takes, which is all there are if enough warps are to run.
struct ShapedWater {
  static constexpr int kCapacity = 3;
  Vec3d *position, *velocity;
  Vec3d force[3], noise[3];
  double mass[3], inverse_mass[3];
  Triangle triangle;
  const GroupShape* shape;

  __device__ static constexpr int size() { return 3; }
  __device__ static constexpr int atoms() { return 3; }
  __device__ double root_inverse_mass(int i) const { return shape->root_inverse_mass[i]; }
  __device__ void make_shape() {}
  __device__ bool project(Vec3d* vectors, double /*rate*/) const {
    quiltmd::project(triangle, position, vectors);
    return true;
  }
  __device__ bool constrain(const Vec3d* moved, Vec3d* correction, double /*tolerance*/) const {
    forget_registers();
    settle(triangle, position, moved, correction);
    forget_registers();
    return true;
  }
};

// A star is moved in registers, for the sake of places without an atom; only velocities wait where
// they lie while constraints are solved.
struct ShapedStar : StarGroup {
  const GroupShape* shape;
  Vec3d* home;  // of velocities
  __device__ double root_inverse_mass(int i) const { return shape->root_inverse_mass[i]; }
  __device__ bool constrain(const Vec3d* moved, Vec3d* correction, double tolerance) {
#pragma unroll
    for (int i = 0; i < kStarAtoms; ++i)
      if (i < taken) home[i] = velocity[i];
    forget_registers();
    const bool converged = StarGroup::constrain(moved, correction, tolerance);
    forget_registers();
#pragma unroll
    for (int i = 0; i < kStarAtoms; ++i) velocity[i] = i < taken ? home[i] : Vec3d{0, 0, 0};
    return converged;
  }
};

// ---- Loading and storing -------------------------------------------------------------------

// A group's state from `slots`, which may be a copy of the rank's in shared memory.
__device__ inline void load(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                            ShapeCode code, Masses masses, ShapedWater& g) {
  g.shape = work.constants.shapes + code.shape();
  g.position = slots.position + placed.slot;
  g.velocity = slots.velocity + placed.slot;
  const bool real = masses == Masses::kReal;
  g.triangle =
      real ? g.shape->triangle : make_triangle(1.0, 1.0, g.shape->length[0], g.shape->length[2]);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int like = i == 0 ? 0 : 1;
    g.force[i] = total_force(slots, work.long_range_weight, placed.slot + i);
    g.mass[i] = real ? g.shape->mass[like] : 1.0;
    g.inverse_mass[i] = real ? g.shape->inverse_mass[like] : 1.0;
  }
}

__device__ inline void load(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                            ShapeCode code, Masses masses, ShapedStar& g) {
  g.shape = work.constants.shapes + code.shape();
  g.home = slots.velocity + placed.slot;
  g.taken = g.shape->atoms;
#pragma unroll
  for (int k = 0; k < kStarBonds; ++k) g.length[k] = g.shape->length[k];
#pragma unroll
  for (int i = 0; i < kStarAtoms; ++i) {
    const bool exists = i < g.taken, real = masses == Masses::kReal;
    const int slot = placed.slot + i;
    g.position[i] = exists ? slots.position[slot] : Vec3d{0, 0, 0};
    g.velocity[i] = exists ? slots.velocity[slot] : Vec3d{0, 0, 0};
    g.force[i] = exists ? total_force(slots, work.long_range_weight, slot) : Vec3d{0, 0, 0};
    g.mass[i] = real ? g.shape->mass[i] : (exists ? 1.0 : 0.0);
    g.inverse_mass[i] = real ? g.shape->inverse_mass[i] : (exists ? 1.0 : 0.0);
  }
}

__device__ inline void load(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                            ShapeCode, Masses masses, SmallGroup& g) {
  GroupWork here = work;
  here.slots = slots;
  load(here, placed, masses, g);
}

// Positions and velocities to where they came from.
__device__ inline void store(const Slots&, int, const ShapedWater&, bool, bool) {}
template <class Group>
__device__ void store(const Slots& slots, int slot, const Group& g, bool positions,
                      bool velocities) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i) {
    if (i >= g.atoms()) break;
    if (positions) slots.position[slot + i] = g.position[i];
    if (velocities) slots.velocity[slot + i] = g.velocity[i];
  }
}

// ---- Faults --------------------------------------------------------------------------------

// The first step wins; of one step the lowest atom. Rare, so a lock will do.
static __device__ int fault_lock = 0;
__device__ __noinline__ void report(const Faults& faults, int32_t* step_field, int32_t* atom_field,
                                    int64_t step, int32_t atom) {
  if (faults.refused) return;  // these steps are not to count
  while (atomicCAS(&fault_lock, 0, 1) != 0) {
  }
  __threadfence();
  volatile int32_t* const marked_step = step_field;
  volatile int32_t* const marked_atom = atom_field;
  const auto marked = static_cast<int32_t>(step + 1);
  if (*marked_step == 0) {
    *marked_step = marked;
    if (marked_atom) *marked_atom = atom;
  } else if (*marked_step == marked && marked_atom) {
    *marked_atom = atom < *marked_atom ? atom : *marked_atom;
  }
  __threadfence();
  atomicExch(&fault_lock, 0);
}

// What a displacement from the reference position of atom `i` of a group means.
__device__ inline void judge(const GroupWork& work, double displacement2, PlacedGroup placed,
                             int i) {
  if (displacement2 <= work.outrun2) return;
  if (!(displacement2 <= work.blowup2)) {
    report(*work.faults, &work.faults->blowup_step, &work.faults->blowup_atom, *work.step,
           work.constants.group_start[placed.group] + i);
  } else {
    report(*work.faults, &work.faults->violation_step, nullptr, *work.step, 0);
  }
}

// ---- Sums ----------------------------------------------------------------------------------

__device__ inline void add_fixed(int64_t* to, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// The sum over the lanes of a warp, in lane 0.
__device__ inline int64_t sum_over_warp(int64_t value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

}  // namespace quiltmd
