// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups on a GPU that are neither waters nor stars: eight lanes have one.
//
// Constraints name atoms by number. One thread would have to keep arrays by atom in local memory,
// and of that a GPU sets aside what the kernel with most of it would need if it ran on all threads:
// 420 MiB on a large one, for groups that most systems do not have. So each lane keeps the numbers
// of an atom in registers, and arrays are spread over lanes. Apart from that all lanes do what one
// thread would, so bits are those of a host. The price: an eighth of the groups at a time.
#pragma once

#include <utility>

#include "integrators/cuda_stage.cuh"

namespace quiltmd {

// ---- Arrays spread over lanes --------------------------------------------------------------

inline constexpr int kGroupLanes = kSmallGroupSize;

__device__ inline int own_place() { return threadIdx.x % kGroupLanes; }

// Value of the lane of atom `i` of the same group. All lanes of the group call this together.
__device__ inline double of_atom(double own, int i) {
  const unsigned first = threadIdx.x & 31u & ~(kGroupLanes - 1u);
  return __shfl_sync(((1u << kGroupLanes) - 1) << first, own, i, kGroupLanes);
}

struct SpreadNumbers {
  double own;
  __device__ double operator[](int i) const { return of_atom(own, i); }
};

struct SpreadVectors {
  Vec3d own{0, 0, 0};

  // An element as it was, and where to put what it becomes.
  struct Element : Vec3d {
    SpreadVectors& array;
    int i;

    __device__ void operator=(Vec3d v) const {
      if (i == own_place()) array.own = v;
    }
    __device__ void operator+=(Vec3d v) const { *this = *this + v; }
    __device__ void operator-=(Vec3d v) const { *this = *this - v; }
  };
  __device__ Vec3d operator[](int i) const {
    return {of_atom(own.x, i), of_atom(own.y, i), of_atom(own.z, i)};
  }
  __device__ Element operator[](int i) { return {std::as_const(*this)[i], *this, i}; }
};

// Without reading the element first, because only its lane needs it.
__device__ inline void add(SpreadVectors& to, int i, Vec3d v) {
  if (i == own_place()) to.own += v;
}

using SpreadGroup = AnyGroup<SpreadNumbers, SpreadVectors>;

// ---- The loop ------------------------------------------------------------------------------

// A group through a stage, the `index`th of the rank. A lane without an atom has what the last one
// has; nobody asks for it.
template <class Stage>
__device__ void run_general_group(const Stage& stage, const Slots& slots,
                                  const StageUniforms& uniforms, PlacedGroup placed, ShapeCode code,
                                  int index, Sums& sums) {
  const GroupWork& work = stage.op.work;
  SpreadGroup g;
  const GroupShape& shape = work.constants.shapes[code.shape()];
  g.taken = shape.atoms;
  g.constraint_count = shape.constraints;
  g.constraints = work.constants.constraints + shape.first_constraint;
  const int i = min(own_place(), g.taken - 1), slot = placed.slot + i;
  g.position.own = slots.position[slot];
  g.velocity.own = slots.velocity[slot];
  g.force.own = total_force(slots, work.long_range_weight, slot);
  g.mass.own = work.constants.mass[shape.first_mass + i];
  g.inverse_mass.own = work.constants.inverse_mass[shape.first_mass + i];
  if constexpr (Stage::kNoise != Noise::kNone)
    g.noise.own = noise_of(stage, uniforms.step, work.constants.group_start[placed.group] + i);

  Sums of_group{};
  const Outcome outcome = apply_stage(stage, uniforms, placed, g, of_group);
  if (own_place() == 0) {
    for (int k = 0; k < Stage::kSums; ++k) sums.value[k] += of_group.value[k];
    if (!outcome.converged) report_constraint(work, uniforms.step, placed);
  }
  if (own_place() >= g.taken) return;
  if (kSpeeds<Stage>) slots.velocity[slot] = g.velocity.own;
  if constexpr (kMoves<Stage>) {
    slots.position[slot] = g.position.own;
    note_position(work, slots, uniforms.step, placed, code, work.origin[index], i, g.position.own);
  }
  if (stage.clears())  // where slots are a staged copy this does no harm: all of the run is cleared
    for (int64_t* component : slots.force) component[slot] = 0;
}

// All such groups that were sorted, from the last warp on, which is the least likely to have others.
template <class Stage>
__device__ void run_general_groups(const Stage& stage, const Slots& slots,
                                   const BlockGroups& groups, Sums& sums) {
  const int kind = static_cast<int>(GroupClass::kGeneral), count = groups.total(kind);
  const int first = (blockDim.x - 1 - threadIdx.x) / kGroupLanes;
  for (int k = first; k < count; k += blockDim.x / kGroupLanes) {
    const int at = groups.place[kind][k];
    run_general_group(stage, slots, groups, groups.placed[at], groups.code[at],
                      blockIdx.x * kGroups + at, sums);
  }
}

}  // namespace quiltmd
