// SPDX-License-Identifier: Apache-2.0
// Large hydrogen groups on a GPU, in a kernel of their own before that of the other groups: a warp has one, a
// lane two of its atoms.
//
// Stages see a lane's atoms as a group; what constraints make of all atoms lies in shared memory. The factor of
// coupled.h is found column by column instead of row by row, which leaves the order of the sums for each element:
// positions and velocities have the bits of a host. Places without an atom have no mass and are at rest at the
// origin. Systems with large groups are few, so other kernels know nothing of them but to leave them alone.
#pragma once

#include "computes/constraints/coupled.h"
#include "integrators/cuda_stage.cuh"

namespace quiltmd {

inline constexpr int kAtomsOfLane = kMaxGroupSize / kWarp;

// Shared memory for the group of the warp.
struct LargeRoom {
  Vec3d* vector;              // by atom
  double* inverse_mass;       // likewise
  Vec3d* edge;                // by constraint, before the step
  double *multiplier, *rows;  // by constraint; of the factor

  static size_t bytes(const LargeGroups& large) {
    return kMaxGroupSize * (sizeof(Vec3d) + sizeof(double)) +
           static_cast<size_t>(large.constraints) * (sizeof(Vec3d) + sizeof(double)) +
           static_cast<size_t>(large.elements) * sizeof(double);
  }
  __device__ LargeRoom(const LargeGroups& large, double* memory) {
    vector = reinterpret_cast<Vec3d*>(memory);
    inverse_mass = memory + 3 * kMaxGroupSize;
    edge = reinterpret_cast<Vec3d*>(inverse_mass + kMaxGroupSize);
    multiplier = inverse_mass + kMaxGroupSize + 3 * large.constraints;
    rows = multiplier + large.constraints;
  }
};

// ---- The group -----------------------------------------------------------------------------

struct WarpGroup {
  using Vectors = Vec3d[kAtomsOfLane];
  Vectors position, velocity, force, noise;
  double mass[kAtomsOfLane], inverse_mass[kAtomsOfLane];
  int taken, lane;
  ConstraintSet set;
  LargeRoom room;

  __device__ explicit WarpGroup(const LargeRoom& shared)
      : lane(threadIdx.x % kWarp), room(shared) {}

  __device__ static constexpr int size() { return kAtomsOfLane; }
  __device__ int atom(int i) const { return lane + kWarp * i; }
  __device__ double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  __device__ double* row(int k) const { return room.rows + set.constraints[k].row; }
  __device__ bool reaches(int k, int l) const { return set.constraints[k].column <= l; }
  __device__ double element(int k, int l) const {
    return coupling(set, k, l) * dot(room.edge[k], room.edge[l]);
  }
  __device__ Vec3d growth(int k) const {
    return room.vector[set.first(k)] - room.vector[set.second(k)];
  }

  __device__ void share(const Vec3d* own) const {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kAtomsOfLane; ++i)
      if (atom(i) < taken) room.vector[atom(i)] = own[i];
    __syncwarp();
  }
  template <class Body>
  __device__ void over_constraints(int first, const Body& body) const {
    for (int k = first + lane; k < set.count; k += kWarp) body(k);
    __syncwarp();
  }

  __device__ void make_shape() const {
    share(position);
    over_constraints(0, [&](int k) { room.edge[k] = growth(k); });
    over_constraints(0, [&](int k) {
      for (int l = set.constraints[k].column; l <= k; ++l) row(k)[l] = element(k, l);
    });
    for (int l = 0; l < set.count; ++l) {
      const double left = row(l)[l];
      const double inverse = left > kDependentPart * element(l, l) ? 1 / std::sqrt(left) : 0.0;
      __syncwarp();
      if (lane == 0) row(l)[l] = inverse;
      over_constraints(l + 1, [&](int k) {
        if (reaches(k, l)) row(k)[l] *= inverse;
      });
      over_constraints(l + 1, [&](int k) {
        if (!reaches(k, l)) return;
        for (int j = l + 1; j <= k; ++j)
          if (reaches(j, l)) row(k)[j] -= row(k)[l] * row(j)[l];
      });
    }
  }

  // From what the lengths grow by, times these, to the multipliers.
  __device__ void solve() const {
    for (int l = 0; l < set.count; ++l) {
      const double own = row(l)[l] * room.multiplier[l];
      __syncwarp();
      if (lane == 0) room.multiplier[l] = own;
      over_constraints(l + 1, [&](int k) {
        if (reaches(k, l)) room.multiplier[k] -= row(k)[l] * own;
      });
    }
    for (int k = set.count - 1; k >= 0; --k) {
      const double own = room.multiplier[k] * row(k)[k];
      __syncwarp();
      if (lane == 0) room.multiplier[k] = own;
      for (int l = set.constraints[k].column + lane; l < k; l += kWarp)
        room.multiplier[l] -= row(k)[l] * own;
      __syncwarp();
    }
  }

  __device__ bool pull(Vec3d* vectors) const {
    bool sane = true;
    for (int k = 0; k < set.count; ++k) {
      const double multiplier = room.multiplier[k];
      sane = sane && std::fabs(multiplier) < 1e30;
#pragma unroll
      for (int i = 0; i < kAtomsOfLane; ++i) {
        if (set.first(k) == atom(i)) vectors[i] -= (inverse_mass[i] * multiplier) * room.edge[k];
        if (set.second(k) == atom(i)) vectors[i] += (inverse_mass[i] * multiplier) * room.edge[k];
      }
    }
    return sane;
  }

  __device__ bool project(Vec3d* vectors, double /*rate*/) const {
    share(vectors);
    over_constraints(0, [&](int k) { room.multiplier[k] = dot(room.edge[k], growth(k)); });
    solve();
    return pull(vectors);
  }

  __device__ bool constrain(const Vec3d* moved, Vec3d* correction, double tolerance) const {
#pragma unroll
    for (int i = 0; i < kAtomsOfLane; ++i) correction[i] = {0, 0, 0};
    for (int step = 0; step < kMaxCoupledSteps; ++step) {
      Vectors in_all;
#pragma unroll
      for (int i = 0; i < kAtomsOfLane; ++i) in_all[i] = moved[i] + correction[i];
      share(in_all);
      bool holds = true, sane = true;
      over_constraints(0, [&](int k) {
        const Vec3d now = room.edge[k] + growth(k);
        const double length2 = set.length(k) * set.length(k), excess = dot(now, now) - length2;
        holds = holds && std::fabs(excess) <= 2 * tolerance * length2;
        sane = sane && dot(now, room.edge[k]) >= 1e-3 * length2;
        room.multiplier[k] = 0.5 * excess;
      });
      holds = __all_sync(kAllLanes, holds);
      if (holds || !__all_sync(kAllLanes, sane)) return holds;
      solve();
      if (!pull(correction)) return false;
    }
    return false;
  }
};

// Of all lanes, the same bits in each.
__device__ inline double sum_of_lanes(double value) {
#pragma unroll
  for (int bit = kWarp / 2; bit > 0; bit /= 2) value += __shfl_xor_sync(kAllLanes, value, bit);
  return value;
}
__device__ inline Vec3d sum_of_lanes(Vec3d v) {
  return {sum_of_lanes(v.x), sum_of_lanes(v.y), sum_of_lanes(v.z)};
}

// As add_kinetic() of stage_physics.h; each lane adds the part of its atoms.
__device__ inline void add_kinetic(const WarpGroup& g, int64_t* sums) {
  double mass = 0;
  Vec3d momentum{0, 0, 0}, lever{0, 0, 0}, first = g.position[0];
  first = {__shfl_sync(kAllLanes, first.x, 0), __shfl_sync(kAllLanes, first.y, 0),
           __shfl_sync(kAllLanes, first.z, 0)};
#pragma unroll
  for (int i = 0; i < kAtomsOfLane; ++i) {
    sums[0] += to_fixed(0.5 * g.mass[i] * dot(g.velocity[i], g.velocity[i]), kEnergyScale);
    mass += g.mass[i];
    momentum += g.mass[i] * g.velocity[i];
    lever += g.mass[i] * (g.position[i] - first);
  }
  const double per_mass = 1 / sum_of_lanes(mass);
  momentum = sum_of_lanes(momentum);
  const Vec3d centre = first + per_mass * sum_of_lanes(lever);
  Symmetric virial{}, kinetic{};
#pragma unroll
  for (int i = 0; i < kAtomsOfLane; ++i) virial.add_product(centre - g.position[i], g.force[i]);
  if (g.lane == 0) kinetic.add_product(per_mass * momentum, momentum);
#pragma unroll
  for (int k = 0; k < Symmetric::kParts; ++k) {
    sums[1 + k] += to_fixed(virial[k], kEnergyScale);
    sums[1 + Symmetric::kParts + k] += to_fixed(kinetic[k], kEnergyScale);
  }
}

// ---- The loop ------------------------------------------------------------------------------

// A group through a stage, the `index`th of the rank.
template <class Stage>
__device__ void run_large_group(const Stage& stage, const StageUniforms& uniforms,
                                PlacedGroup placed, int index, const LargeRoom& room, Sums& sums) {
  const GroupWork& work = stage.op.work;
  const Slots& slots = work.slots;
  const ShapeCode code = work.constants.code(placed.group);
  const GroupShape& shape = work.constants.shapes[code.shape()];
  WarpGroup g(room);
  g.taken = shape.atoms;
  g.set = {work.constants.constraints + shape.first_constraint, shape.constraints,
           room.inverse_mass};
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kAtomsOfLane; ++i) {
    const int atom = g.atom(i), slot = placed.slot + atom;
    const bool exists = atom < g.taken;
    g.position[i] = exists ? slots.position[slot] : Vec3d{0, 0, 0};
    g.velocity[i] = exists ? slots.velocity[slot] : Vec3d{0, 0, 0};
    g.force[i] = exists ? total_force(slots, work.long_range_weight, slot) : Vec3d{0, 0, 0};
    g.mass[i] = exists ? work.constants.mass[shape.first_mass + atom] : 0.0;
    g.inverse_mass[i] = exists ? work.constants.inverse_mass[shape.first_mass + atom] : 0.0;
    if (exists) room.inverse_mass[atom] = g.inverse_mass[i];
    g.noise[i] = {0, 0, 0};
    if constexpr (Stage::kNoise != Noise::kNone)
      if (exists)
        g.noise[i] =
            noise_of(stage, uniforms.step, work.constants.group_start[placed.group] + atom);
  }
  Sums of_lane{};
  const Outcome outcome = apply_stage(stage, uniforms, placed, g, of_lane);
  for (int k = 0; k < Stage::kSums; ++k) sums.value[k] += of_lane.value[k];
  if (!outcome.converged && g.lane == 0) report_constraint(work, uniforms.step, placed);
#pragma unroll
  for (int i = 0; i < kAtomsOfLane; ++i) {
    const int atom = g.atom(i), slot = placed.slot + atom;
    if (atom >= g.taken) break;
    if (kSpeeds<Stage>) slots.velocity[slot] = g.velocity[i];
    if constexpr (kMoves<Stage>) {
      slots.position[slot] = g.position[i];
      note_position(work, slots, uniforms.step, placed, code, work.origin[index], atom,
                    g.position[i]);
    }
    if (stage.clears())
      for (int64_t* component : slots.force) component[slot] = 0;
  }
}

extern __shared__ double large_memory[];

// A block is a warp, with its share of all placed groups.
template <class Stage>
__global__ void __launch_bounds__(kWarp)
    over_large_groups(const __grid_constant__ Stage stage, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const GroupWork& work = stage.op.work;
  const LargeRoom room(work.large, large_memory);
  const StageUniforms uniforms{*work.step, work.conditions->bath};
  const int share = (work.capacity + static_cast<int>(gridDim.x) - 1) / gridDim.x;
  const int begin = blockIdx.x * share;
  const int end = min(begin + share, min(*work.count, work.capacity));
  Sums sums{};
  for (int base = begin; base < end; base += kWarp) {
    const int own = base + static_cast<int>(threadIdx.x);
    const bool is_large = own < end && work.constants.code(work.placed[own].group).group_class() ==
                                           GroupClass::kLarge;
    for (unsigned left = __ballot_sync(kAllLanes, is_large); left; left &= left - 1) {
      const int index = base + __ffs(left) - 1;
      run_large_group(stage, uniforms, work.placed[index], index, room, sums);
    }
  }
  if constexpr (Stage::kSums != 0) add_up<Stage, kWarp>(stage, sums);
}

}  // namespace quiltmd
