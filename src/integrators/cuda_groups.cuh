// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups on a GPU: one thread has one group in its registers.
//
// A warp whose threads work on different kinds of groups does the work of all kinds, so a block
// first sorts its groups by kind: rigid waters, stars (an atom alone or with up to three hydrogens),
// and the rest, which is rare and may use local memory.
#pragma once

#include "device/cuda/launch.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// An atom alone, or a heavy atom and up to three hydrogens constrained to it. Places without an
// atom have no mass, stay at rest, and are never stored.
struct StarGroup {
  static constexpr int kCapacity = 4;
  Vec3d position[kCapacity], velocity[kCapacity], force[kCapacity], noise[kCapacity];
  double mass[kCapacity], inverse_mass[kCapacity], lengths[kCapacity - 1];
  int atoms, constraint_count;
  Vec3d at[kCapacity];
  double rate;

  __device__ static constexpr int size() { return kCapacity; }
  __device__ void make_shape() {}
  __device__ void make_tangent(double largest_rate) {
    rate = largest_rate;
    for (int i = 0; i < kCapacity; ++i) at[i] = position[i];
  }
  __device__ StarSet<kCapacity - 1> set() const { return {lengths, constraint_count, inverse_mass}; }
  __device__ bool project(Vec3d* vectors) const { return rattle(set(), at, vectors, rate); }
  __device__ bool constrain(const Vec3d* from, double tolerance) {
    return shake(set(), from, position, tolerance);
  }
};

enum class GroupClass { kWater, kStar, kOther };
inline constexpr int kGroupClasses = 3;

__device__ inline GroupClass class_of(const Constants& c, int group) {
  const int atoms = c.group_start[group + 1] - c.group_start[group];
  const int begin = c.constraint_start[group], constraints = c.constraint_start[group + 1] - begin;
  if (atoms == 3 && is_rigid_water(c, group)) return GroupClass::kWater;
  bool star = atoms <= StarGroup::kCapacity && constraints == atoms - 1;
  for (int k = 0; star && k < constraints; ++k)
    star = c.constraints[begin + k].first == 0 && c.constraints[begin + k].second == k + 1;
  return star ? GroupClass::kStar : GroupClass::kOther;
}

// ---- Loading and storing -------------------------------------------------------------------

__device__ inline int atoms_of(const RigidWater&) { return 3; }
__device__ inline int atoms_of(const StarGroup& g) { return g.atoms; }
__device__ inline int atoms_of(const SmallGroup& g) { return g.atoms; }

__device__ inline void load(const GroupWork& work, PlacedGroup placed, Masses masses,
                            StarGroup& g) {
  const Constants& c = work.constants;
  const int first = c.group_start[placed.group], begin = c.constraint_start[placed.group];
  g.atoms = c.group_start[placed.group + 1] - first;
  g.constraint_count = c.constraint_start[placed.group + 1] - begin;
#pragma unroll
  for (int k = 0; k < StarGroup::kCapacity - 1; ++k)
    g.lengths[k] = k < g.constraint_count ? c.constraints[begin + k].length : 0.0;
#pragma unroll
  for (int i = 0; i < StarGroup::kCapacity; ++i) {
    const bool real = i < g.atoms;
    const int slot = placed.slot + i;
    g.position[i] = real ? work.slots.position[slot] : Vec3d{0, 0, 0};
    g.velocity[i] = real ? work.slots.velocity[slot] : Vec3d{0, 0, 0};
    g.force[i] = real ? total_force(work.slots, slot) : Vec3d{0, 0, 0};
    const bool weighed = masses == Masses::kReal;
    g.mass[i] = !real ? 0.0 : (weighed ? c.mass[first + i] : 1.0);
    g.inverse_mass[i] = !real ? 0.0 : (weighed ? c.inverse_mass[first + i] : 1.0);
  }
}

// What storing positions needs to know of the atoms; fetched early, with everything else.
template <class Group>
struct OldPlaces {
  Vec3d reference[Group::kCapacity];
  float charge[Group::kCapacity];
};
template <class Group>
__device__ void load(const Slots& s, int slot, const Group& g, OldPlaces<Group>& old) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i) {
    if (i >= atoms_of(g)) break;
    old.reference[i] = s.reference[slot + i];
    old.charge[i] = s.local[slot + i].w;
  }
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
