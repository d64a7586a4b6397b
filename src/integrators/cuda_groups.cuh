// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups on a GPU: one thread has one group in its registers.
//
// A warp whose threads work on different classes of groups does the work of all of them, so a block
// first sorts its groups by class. Those that are neither waters nor stars are rare and may use local
// memory.
#pragma once

#include "device/cuda/launch.h"
#include "integrators/group_shapes.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// A rigid water whose shape is known.
struct ShapedWater : RigidWater {
  const GroupShape* shape;
  __device__ double root_inverse_mass(int i) const { return shape->root_inverse_mass[i]; }
  __device__ void make_shape() {}
};

// An atom alone, or a heavy atom and up to three hydrogens constrained to it. Places without an
// atom have no mass, stay at rest, and are never stored.
struct StarGroup {
  static constexpr int kCapacity = kShapedAtoms;
  Vec3d position[kCapacity], velocity[kCapacity], force[kCapacity], noise[kCapacity];
  double mass[kCapacity], inverse_mass[kCapacity];
  const GroupShape* shape;
  int atoms;
  Vec3d at[kCapacity];
  double rate;

  __device__ static constexpr int size() { return kCapacity; }
  __device__ double root_inverse_mass(int i) const { return shape->root_inverse_mass[i]; }
  __device__ void make_shape() {}
  __device__ void make_tangent(double largest_rate) {
    rate = largest_rate;
    for (int i = 0; i < kCapacity; ++i) at[i] = position[i];
  }
  __device__ StarSet<kCapacity - 1> set() const {
    return {shape->length, shape->constraints, inverse_mass};
  }
  __device__ bool project(Vec3d* vectors) const { return rattle(set(), at, vectors, rate); }
  __device__ bool constrain(const Vec3d* from, double tolerance) {
    return shake(set(), from, position, tolerance);
  }
};

// ---- Loading and storing -------------------------------------------------------------------

__device__ inline int atoms_of(const RigidWater&) { return 3; }
__device__ inline int atoms_of(const StarGroup& g) { return g.atoms; }
__device__ inline int atoms_of(const SmallGroup& g) { return g.atoms; }

// A group's state from `slots`, which may be a copy of the rank's in shared memory.
__device__ inline void load(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                            ShapeCode code, Masses masses, ShapedWater& g) {
  g.shape = work.constants.shapes + code.shape();
  const bool real = masses == Masses::kReal;
  g.triangle =
      real ? g.shape->triangle : make_triangle(1.0, 1.0, g.shape->length[0], g.shape->length[2]);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    g.position[i] = slots.position[placed.slot + i];
    g.velocity[i] = slots.velocity[placed.slot + i];
    g.force[i] = total_force(slots, placed.slot + i);
    g.mass[i] = real ? g.shape->mass[i] : 1.0;
    g.inverse_mass[i] = real ? g.shape->inverse_mass[i] : 1.0;
  }
}

__device__ inline void load(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                            ShapeCode code, Masses masses, StarGroup& g) {
  g.shape = work.constants.shapes + code.shape();
  g.atoms = g.shape->atoms;
#pragma unroll
  for (int i = 0; i < StarGroup::kCapacity; ++i) {
    const bool exists = i < g.atoms, real = masses == Masses::kReal;
    const int slot = placed.slot + i;
    g.position[i] = exists ? slots.position[slot] : Vec3d{0, 0, 0};
    g.velocity[i] = exists ? slots.velocity[slot] : Vec3d{0, 0, 0};
    g.force[i] = exists ? total_force(slots, slot) : Vec3d{0, 0, 0};
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

// ---- Faults --------------------------------------------------------------------------------

// The first step wins; of one step the lowest atom. Rare, so a lock will do.
static __device__ int fault_lock = 0;
__device__ __noinline__ void report(int32_t* step_field, int32_t* atom_field, int64_t step,
                                    int32_t atom) {
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

// What a displacement since the lists were built means.
__device__ inline void judge(const GroupWork& work, double displacement2, int32_t atom) {
  if (displacement2 <= work.outrun2) return;
  if (!(displacement2 <= work.blowup2)) {
    report(&work.faults->blowup_step, &work.faults->blowup_atom, *work.step, atom);
  } else {
    report(&work.faults->violation_step, nullptr, *work.step, atom);
  }
}

// ---- Sums ----------------------------------------------------------------------------------

__device__ inline void add_fixed(int64_t* to, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

// Add the sum over the lanes of a warp.
__device__ inline void add_over_warp(int64_t* to, int64_t value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  if ((threadIdx.x & 31) == 0 && value != 0) add_fixed(to, value);
}

}  // namespace quiltmd
