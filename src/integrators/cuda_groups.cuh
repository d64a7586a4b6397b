// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups on a GPU: those of a block by class, and a group as one thread has it.
//
// A warp whose threads work on different classes of groups does the work of all of them, so a block
// first sorts its groups by class. Those that are neither waters nor stars are rare; see
// cuda_general_groups.cuh.
#pragma once

#include "decomposition/cuda_faults.cuh"
#include "device/cuda/launch.h"
#include "integrators/group_shapes.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// Groups per block: few, so that a small system spreads over the machine.
inline constexpr int kGroups = 64;
// Classes of groups that it sorts, which come first in GroupClass.
inline constexpr int kGroupClasses = 3;

// ---- Groups of a block ---------------------------------------------------------------------

// Common data of all groups of a kernel: each lane copies one word.
struct StageUniforms {
  int64_t step;  // before it is counted
  HeatBath bath;
};
inline constexpr int kUniformWords = sizeof(StageUniforms) / sizeof(int64_t);
static_assert(offsetof(StageUniforms, bath) == sizeof(int64_t));

__device__ inline void copy_uniforms(const GroupWork& work, int word, StageUniforms& to) {
  if (word < 0 || word >= kUniformWords) return;
  const auto* const bath = reinterpret_cast<const int64_t*>(&work.conditions->bath);
  (&to.step)[word] = *(word == 0 ? work.step : bath + (word - 1));
}

struct BlockGroups : StageUniforms {
  PlacedGroup placed[kGroups];
  ShapeCode code[kGroups];
  int start[kGroups + 1];                  // first slots, and where the next block's begin
  int count[kGroups / 32][kGroupClasses];  // of each warp that looked at 32 groups
  int place[kGroupClasses][kGroups];       // by class: which of the block's groups

  __device__ int total(int kind) const {
    int sum = 0;
    for (const auto& of_warp : count) sum += of_warp[kind];
    return sum;
  }
};

// Looks up the groups of the block; returns how many. Ends with a barrier. Slots up to the next
// group's count as a group's: padding is in nobody else's run.
__device__ inline int find_groups(const GroupWork& work, BlockGroups& groups) {
  const int t = threadIdx.x, first = blockIdx.x * kGroups;
  const PlacedGroup own = work.placed[min(first + t, work.capacity - 1)];
  const int left = min(*work.count, work.capacity) - first, here = min(kGroups, max(0, left));
  if (t < kGroups) groups.placed[t] = own;  // whatever the count, which is on its way as well
  if (t < here) groups.start[t] = own.slot;
  const int lane = t - kGroups;  // of the warp without groups, which looks up all else meanwhile
  copy_uniforms(work, lane, groups);
  if (lane == 31 && here > 0) {
    const PlacedGroup last = work.placed[first + here - (left == here)];
    const int32_t* start = work.constants.group_start + last.group;
    groups.start[here] = left == here ? last.slot + start[1] - start[0] : last.slot;
  }
  __syncthreads();
  return here;
}

// The shape of the group that this thread looks at; of no class beyond the last group.
__device__ inline ShapeCode own_code(const GroupWork& work, const BlockGroups& groups, int here) {
  const int t = threadIdx.x;
  return {t < here ? work.constants.group_shape[groups.placed[t].group] : ~0u};
}

// Sorts groups [begin, end) by class, keeping their order and leaving large ones out. To be followed by a barrier.
__device__ inline void sort_groups(BlockGroups& groups, ShapeCode own, int begin, int end) {
  const int t = threadIdx.x, warp = t / 32;
  const unsigned before = (1u << (t & 31)) - 1;
  const bool present = t >= begin && t < end;
  if (present) groups.code[t] = own;
  int at = 0;
#pragma unroll
  for (int kind = 0; kind < kGroupClasses; ++kind) {
    const bool member = present && static_cast<int>(own.group_class()) == kind;
    const unsigned members = __ballot_sync(0xffffffffu, member);
    if ((t & 31) == 0 && t < kGroups) groups.count[warp][kind] = __popc(members);
    if (member) at = __popc(members & before);
  }
  __syncthreads();
  if (!present || own.group_class() == GroupClass::kLarge) return;
  const int kind = static_cast<int>(own.group_class());
  for (int w = 0; w < warp; ++w) at += groups.count[w][kind];
  groups.place[kind][at] = t;
}

// ---- Group types ---------------------------------------------------------------------------

// Values that lie in memory are not kept in registers across this.
__device__ inline void forget_registers() { asm volatile("" ::: "memory"); }

// A rigid water, moved where it lies: while constraints are solved registers hold little more than
// that takes, which is all there are if enough warps are to run.
struct ShapedWater {
  using Vectors = Vec3d[3];
  Vec3d *position, *velocity;
  Vectors force, noise;
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
                            ShapeCode code, ShapedWater& g) {
  g.shape = work.constants.shapes + code.shape();
  g.position = slots.position + placed.slot;
  g.velocity = slots.velocity + placed.slot;
  g.triangle = g.shape->triangle;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const int like = i == 0 ? 0 : 1;
    g.force[i] = total_force(slots, work.long_range_weight, placed.slot + i);
    g.mass[i] = g.shape->mass[like];
    g.inverse_mass[i] = g.shape->inverse_mass[like];
  }
}

__device__ inline void load(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                            ShapeCode code, ShapedStar& g) {
  g.shape = work.constants.shapes + code.shape();
  g.home = slots.velocity + placed.slot;
  g.taken = g.shape->atoms;
#pragma unroll
  for (int k = 0; k < kStarBonds; ++k) g.length[k] = g.shape->length[k];
#pragma unroll
  for (int i = 0; i < kStarAtoms; ++i) {
    const bool exists = i < g.taken;
    const int slot = placed.slot + i;
    g.position[i] = exists ? slots.position[slot] : Vec3d{0, 0, 0};
    g.velocity[i] = exists ? slots.velocity[slot] : Vec3d{0, 0, 0};
    g.force[i] = exists ? total_force(slots, work.long_range_weight, slot) : Vec3d{0, 0, 0};
    g.mass[i] = g.shape->mass[i];
    g.inverse_mass[i] = g.shape->inverse_mass[i];
  }
}

// Positions and velocities to where they came from.
__device__ inline void store(const Slots&, int, const ShapedWater&, bool, bool) {}
template <class Group>
__device__ void store(const Slots& slots, int slot, const Group& g, bool positions,
                      bool velocities) {
#pragma unroll
  for (int i = 0; i < Group::size(); ++i) {
    if (i >= g.atoms()) break;
    if (positions) slots.position[slot + i] = g.position[i];
    if (velocities) slots.velocity[slot + i] = g.velocity[i];
  }
}

// ---- Faults --------------------------------------------------------------------------------

__device__ inline void report_constraint(const GroupWork& work, int64_t step, PlacedGroup placed) {
  report_fault(*work.faults, &work.faults->constraint_step, &work.faults->constraint_atom, step,
               work.constants.group_start[placed.group]);
}

// Checks a displacement from the reference position of atom `i` of a group.
__device__ inline void check_displacement(const GroupWork& work, int64_t step, double displacement2,
                                          PlacedGroup placed, int i) {
  if (displacement2 <= work.buffer_limit2) return;
  if (!(displacement2 <= work.blowup2)) {
    report_fault(*work.faults, &work.faults->blowup_step, &work.faults->blowup_atom, step,
                 work.constants.group_start[placed.group] + i);
  } else {
    report_fault(*work.faults, &work.faults->violation_step, nullptr, step, 0);
  }
}

// Stores data that follow from the new position of atom `i` of a group.
__device__ inline void note_position(const GroupWork& work, const Slots& slots, int64_t step,
                                     PlacedGroup placed, ShapeCode code, Vec3d origin, int i,
                                     Vec3d position) {
  const int slot = placed.slot + i;
  const PlacedPosition at =
      placed_position(position, origin, slots.reference[slot], slots.local[slot].w);
  slots.local[slot] = at.local;
  if (code.in_terms()) slots.low[slot] = at.low;
  check_displacement(work, step, at.moved2, placed, i);
}

}  // namespace quiltmd
