// SPDX-License-Identifier: Apache-2.0
// Hydrogen groups on a GPU for the stages of every step: four lanes have one group, each an atom of
// it.
//
// What counts on a small system is the way from the last force to the last position. An atom's lane
// has everything but its force in registers before that is there, what constraints need of the old
// positions included; then come loads that wait for nothing, the rest of the arithmetic, and stores.
// No lane waits for another warp. The price: all lanes of a water solve its constraints, where one
// could, and groups take twice the registers.
#pragma once

#include "integrators/cuda_general_groups.cuh"

namespace quiltmd {

inline constexpr int kLanes = 4, kGroupsPerWarp = 32 / kLanes;
static_assert(kStarAtoms == kLanes);

// The value of the lane of atom `place` of the same group. All lanes of a warp come here together.
__device__ inline double of_place(double value, int place) {
  return __shfl_sync(0xffffffffu, value, place, kLanes);
}
__device__ inline Vec3d of_place(Vec3d v, int place) {
  return {of_place(v.x, place), of_place(v.y, place), of_place(v.z, place)};
}
// Whether something is so in all lanes of the group.
__device__ inline bool in_all_places(bool own) {
  const unsigned lanes = __ballot_sync(0xffffffffu, own) >> (threadIdx.x & 31u & ~(kLanes - 1u));
  return (lanes & ((1u << kLanes) - 1)) == (1u << kLanes) - 1;
}

// A group of one, as stages see it.
struct LaneAtom {
  using Vectors = Vec3d[1];
  Vectors position, velocity, force, noise;
  double mass[1], inverse_mass[1], root;
  int place;

  __device__ static constexpr int size() { return 1; }
  __device__ double root_inverse_mass(int) const { return root; }
  __device__ void make_shape() {}
};

// An atom of a rigid water; the fourth lane follows the third.
struct LaneWater : LaneAtom {
  Triangle triangle;
  OldTriangle old;

  __device__ Vec3d own(const Vec3d* of_atoms) const {
    return place == 0 ? of_atoms[0] : (place == 1 ? of_atoms[1] : of_atoms[2]);
  }
  __device__ static void gather(Vec3d own, Vec3d* of_atoms) {
#pragma unroll
    for (int i = 0; i < 3; ++i) of_atoms[i] = of_place(own, i);
  }
  // To be called before the first of the functions below.
  __device__ void load_shape(const GroupShape& shape) {
    triangle = shape.triangle;
    Vec3d at[3];
    gather(position[0], at);
    old = old_triangle(at);
  }
  __device__ bool project(Vec3d* vector, double /*rate*/) const {
    Vec3d all[3];
    gather(*vector, all);
    quiltmd::project(triangle, old, all);
    *vector = own(all);
    return true;
  }
  __device__ bool constrain(const Vec3d* moved, Vec3d* correction, double /*tolerance*/) const {
    Vec3d all[3], corrections[3];
    gather(*moved, all);
    settle(triangle, old, all, corrections);
    *correction = own(corrections);
    return true;
  }
};

// An atom of a star, and the bond from the heavy atom to it; places without an atom have no mass and
// are at rest at the origin. See star.h.
struct LaneStar : LaneAtom {
  Vec3d edge[kStarBonds], own_edge;
  double length2, heavy;
  bool bonded;
  StarInverse inverse;

  __device__ Vec3d growth(Vec3d vector) const {
    const Vec3d change = vector - of_place(vector, 0);
    return bonded ? change : Vec3d{0, 0, 0};
  }
  __device__ static Vec3d gather(double of_bond) {
    return {of_place(of_bond, 1), of_place(of_bond, 2), of_place(of_bond, 3)};
  }
  __device__ StarInverse inverse_along(Vec3d along) const {
    const Vec3d own = star_row(place - 1, bonded, heavy, inverse_mass[0], along, edge);
    Vec3d row[kStarBonds];
#pragma unroll
    for (int k = 0; k < kStarBonds; ++k) row[k] = of_place(own, k + 1);
    return star_inverse(row);
  }
  // Effect of multipliers on the heavy atom, and, with the opposite sign, on the atom of the own bond.
  __device__ Vec3d impulse_of_heavy(Vec3d from, Vec3d multiplier) const {
#pragma unroll
    for (int k = 0; k < kStarBonds; ++k) from += (heavy * multiplier[k]) * edge[k];
    return from;
  }
  __device__ Vec3d own_impulse(Vec3d multiplier) const {
    const double own = place == 1 ? multiplier.x : (place == 2 ? multiplier.y : multiplier.z);
    return (inverse_mass[0] * own) * own_edge;
  }
  __device__ void load_shape(const GroupShape& shape) {
    bonded = place > 0 && place < shape.atoms;
    const double length = bonded ? shape.length[place - 1] : 0.0;
    length2 = length * length;
    heavy = shape.inverse_mass[0];
    own_edge = growth(position[0]);
#pragma unroll
    for (int k = 0; k < kStarBonds; ++k) edge[k] = of_place(own_edge, k + 1);
    inverse = inverse_along(own_edge);
  }
  __device__ bool project(Vec3d* vector, double /*rate*/) const {
    const Vec3d multiplier = star_multipliers(inverse, gather(dot(own_edge, growth(*vector))));
    if (place == 0) {
      *vector = impulse_of_heavy(*vector, multiplier);
    } else {
      *vector -= own_impulse(multiplier);
    }
    return dot(multiplier, multiplier) < 1e60;
  }
  __device__ bool constrain(const Vec3d* moved, Vec3d* correction, double tolerance) const {
    Vec3d now = own_edge + growth(*moved), total{0, 0, 0};
    bool holds = false, sane = true;
    for (int step = 0; step < kMaxNewtonSteps; ++step) {
      const double excess = dot(now, now) - length2;
      const bool ends = holds || !sane;
      const bool fits = in_all_places(std::fabs(excess) <= 2 * tolerance * length2);
      const bool turned = !in_all_places(dot(now, own_edge) >= 1e-3 * length2);
      if (!ends) holds = fits, sane = !turned;
      if (__all_sync(0xffffffffu, holds || ends)) break;
      const Vec3d multiplier = 0.5 * star_multipliers(inverse_along(now), gather(excess));
      if (holds || ends) continue;
      total += multiplier;
      if (bonded) now -= impulse_of_heavy({0, 0, 0}, multiplier) + own_impulse(multiplier);
    }
    *correction = place == 0 ? impulse_of_heavy({0, 0, 0}, total) : -own_impulse(total);
    return holds;
  }
};

// ---- The loop ------------------------------------------------------------------------------

// A warp has groups of one class. One warp more than full ones would be, so that each has its turn at
// once.
inline constexpr int kLaneThreads = kLanes * kGroups + 32;

// Data that lanes would otherwise find only when they have their group's shape.
struct LaneGroups : BlockGroups {
  int first_atom[kGroups], atoms[kGroups];
};

// Looks up the groups of the block and sorts them. Ends with a barrier.
__device__ inline void find_lane_groups(const GroupWork& work, LaneGroups& groups) {
  const int here = find_groups(work, groups), t = threadIdx.x;
  const ShapeCode code = own_code(work, groups, here);
  if (t < here) {
    const int32_t group = groups.placed[t].group;
    groups.first_atom[t] = work.constants.group_start[group];
    groups.atoms[t] = work.constants.mass_end[group] - groups.first_atom[t];
  }
  sort_groups(groups, code, 0, here);
  __syncthreads();
}

// The warp's share of a class through a stage: the groups from `first` on. Lanes without a group
// follow the last one and store nothing. Noise is drawn while the state is on its way.
template <class Group, class Stage>
__device__ void run_lanes(const Stage& stage, const LaneGroups& groups, GroupClass c, int first,
                          Sums& sums) {
  const GroupWork& work = stage.op.work;
  const Slots& slots = work.slots;
  const int kind = static_cast<int>(c), last = groups.total(kind) - 1;
  const int index = first + (threadIdx.x & 31) / kLanes, at = groups.place[kind][min(index, last)];
  const PlacedGroup placed = groups.placed[at];
  const ShapeCode code = groups.code[at];
  const GroupShape& shape = work.constants.shapes[code.shape()];
  const int taken = groups.atoms[at], place = threadIdx.x % kLanes;
  const int i = min(place, taken - 1), slot = placed.slot + i;
  const bool exists = place < taken, stores = exists && index <= last;
  Group g;
  g.place = place;
  g.position[0] = exists ? slots.position[slot] : Vec3d{0, 0, 0};
  g.velocity[0] = exists ? slots.velocity[slot] : Vec3d{0, 0, 0};
  g.mass[0] = shape.mass[place];
  g.inverse_mass[0] = shape.inverse_mass[place];
  g.root = shape.root_inverse_mass[place];
  Vec3d origin{}, reference{};
  float charge = 0;
  if constexpr (kMoves<Stage>) {
    origin = work.origin[blockIdx.x * kGroups + at];
    reference = slots.reference[slot];
    charge = slots.local[slot].w;
  }
  if constexpr (Stage::kNoise == Noise::kThermostat) {
    const Vec3d noise = noise_of(stage, groups.step, groups.first_atom[at] + i);
    g.noise[0] = exists ? noise : Vec3d{0, 0, 0};
  }
  g.load_shape(shape);

  wait_for_forces(stage);
  if (Stage::kForcesFollow) release_next();
  g.force[0] = exists ? total_force(slots, work.long_range_weight, slot) : Vec3d{0, 0, 0};
  if (stores && stage.clears())
    for (int64_t* component : slots.force) component[slot] = 0;
  Sums of_lane{};
  const Outcome outcome = apply_stage(stage, groups, placed, g, of_lane);
  if (stores) {
    if (kSpeeds<Stage>) slots.velocity[slot] = g.velocity[0];
    if constexpr (kMoves<Stage>) {
      const PlacedPosition to = placed_position(g.position[0], origin, reference, charge);
      slots.position[slot] = g.position[0];
      slots.local[slot] = to.local;
      if (code.in_terms()) slots.low[slot] = to.low;
      check_displacement(work, groups.step, to.moved2, placed, i);
    }
    if (!outcome.converged && place == 0) report_constraint(work, groups.step, placed);
  }
  if constexpr (Stage::kSums != 0) {  // the heat, added up as one thread would
    double heat = 0;
#pragma unroll
    for (int k = 0; k < kLanes; ++k) heat += of_place(exists ? outcome.heat : 0.0, k);
    if (stores && place == 0) sums.value[0] += to_fixed(heat, kEnergyScale);
  }
}

// With `kBlocks` on a multiprocessor; two have some registers spilled. What only stages and rebuilds
// write is read while the last kernel of the forces still runs; see run_staged().
template <class Stage, int kBlocks>
__global__ void __launch_bounds__(kLaneThreads, kBlocks)
    over_lanes(const __grid_constant__ Stage stage, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ LaneGroups groups;
  find_lane_groups(stage.op.work, groups);
  const auto warps = [&](GroupClass c) {
    return (groups.total(static_cast<int>(c)) + kGroupsPerWarp - 1) / kGroupsPerWarp;
  };
  const int waters = warps(GroupClass::kWater), stars = warps(GroupClass::kStar);
  const int warp = threadIdx.x / 32;
  Sums sums{};
  if (warp < waters) {
    run_lanes<LaneWater>(stage, groups, GroupClass::kWater, warp * kGroupsPerWarp, sums);
  } else if (warp < waters + stars) {
    run_lanes<LaneStar>(stage, groups, GroupClass::kStar, (warp - waters) * kGroupsPerWarp, sums);
  } else {
    wait_for_forces(stage);
  }
  run_general_groups(stage, stage.op.work.slots, groups, sums);
  if constexpr (Stage::kSums != 0) add_up<Stage, kLaneThreads>(stage, sums);
}

}  // namespace quiltmd
