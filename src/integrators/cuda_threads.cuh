// SPDX-License-Identifier: Apache-2.0
// Stages on a GPU, one thread a group: the most groups at a time on a multiprocessor.
//
// In stages of every step all threads of a block draw noise while its slots travel to shared memory
// (see cuda_staging.cuh); then each group has one thread, since three would solve the same
// constraints three times in the double-precision units.
#pragma once

#include "integrators/cuda_general_groups.cuh"
#include "integrators/cuda_staging.cuh"

namespace quiltmd {

// Slots of a block's groups, and where to find noise that has been drawn for them (or null).
struct BlockSlots {
  Slots slots;
  const Vec3f* noise;
};

template <class Stage, class Group>
__device__ void set_noise(const Stage& stage, const Vec3f* drawn, int64_t step, PlacedGroup placed,
                          Group& g) {
#pragma unroll
  for (int i = 0; i < Group::size(); ++i) {
    Vec3d noise{0, 0, 0};
    if (i < g.atoms()) {
      if constexpr (Stage::kNoise == Noise::kThermostat) {
        const Vec3f n = drawn[placed.slot + i];
        noise = {n.x, n.y, n.z};
      } else {
        noise = noise_of(stage, step, stage.op.work.constants.group_start[placed.group] + i);
      }
    }
    g.noise[i] = noise;
  }
}

// One group through a stage; returns what it adds to the sums.
template <class Group, class Stage>
__device__ Sums run_group(const Stage& stage, const BlockSlots& block, const BlockGroups& groups,
                          int at) {
  const GroupWork& work = stage.op.work;
  const PlacedGroup placed = groups.placed[at];
  const ShapeCode code = groups.code[at];
  constexpr bool moves = kMoves<Stage>;
  Group g;
  Vec3d origin{};
  if constexpr (moves) origin = work.origin[blockIdx.x * kGroups + at];
  load(work, block.slots, placed, code, g);
  if constexpr (Stage::kNoise != Noise::kNone)
    set_noise(stage, block.noise, groups.step, placed, g);
  Sums sums{};
  const Outcome outcome = apply_stage(stage, groups, placed, g, sums);
  if (!outcome.converged) report_constraint(work, groups.step, placed);
  store(block.slots, placed.slot, g, moves, kSpeeds<Stage>);
  if constexpr (moves) {
#pragma unroll
    for (int i = 0; i < Group::size(); ++i) {
      if (i >= g.atoms()) break;
      note_position(work, block.slots, groups.step, placed, code, origin, i, g.position[i]);
    }
  }
  return sums;
}

// All groups that were sorted; a warp takes 32 of one class at a time.
template <class Stage>
__device__ void run_groups(const Stage& stage, const BlockSlots& block, const BlockGroups& groups,
                           Sums& sums) {
  const int lane = threadIdx.x & 31, warps = kThreads / 32;
  int turn = threadIdx.x / 32;
  const auto part = [&](GroupClass c, const auto& run) {
    const int kind = static_cast<int>(c), count = groups.total(kind), chunks = (count + 31) / 32;
    for (; turn < chunks; turn += warps) {
      const int at = turn * 32 + lane;
      if (at >= count) continue;
      const Sums own = run(groups.place[kind][at]);
      for (int k = 0; k < Stage::kSums; ++k) sums.value[k] += own.value[k];
    }
    turn -= chunks;
  };
  part(GroupClass::kWater,
       [&](int at) { return run_group<ShapedWater>(stage, block, groups, at); });
  part(GroupClass::kStar, [&](int at) { return run_group<ShapedStar>(stage, block, groups, at); });
  run_general_groups(stage, block.slots, groups, sums);
}

extern __shared__ float4 staged_memory[];

// The groups of the block as many at a time as have room in shared memory: all, unless they are
// large or lie scattered over small patches.
//
// What only stages and rebuilds write is read while the last kernel of the forces still runs: stages
// that may be followed by another one without forces between them (no kForcesFollow) do not let it
// start early.
template <class Stage>
__device__ void run_staged(const Stage& stage, BlockGroups& groups, int here, Sums& sums) {
  StagedSlots& staged = *reinterpret_cast<StagedSlots*>(staged_memory);
  const GroupWork& work = stage.op.work;
  constexpr bool moves = Stage::kStores == Stores::kBoth;
  const ShapeCode own = own_code(work, groups, here);
  for (int begin = 0, end; begin < here; begin = end) {
    end = end_of_staged(groups, begin, here);
    const SlotRun run{groups.start[begin], groups.start[end]};
    fetch_state(work.slots, run, moves, staged);
    if constexpr (Stage::kNoise == Noise::kThermostat)
      draw_noise(work.slots, run, stage.op.seed, static_cast<uint64_t>(groups.step), staged);
    sort_groups(groups, own, begin, end);
    if (begin == 0) wait_for_forces(stage);
    fetch_forces(work, run, staged);
    if (Stage::kForcesFollow && end == here) release_next();
    wait_for_fetched();
    if (stage.clears()) clear_forces_of(work.slots, run);
    run_groups(stage, {view_of(work.slots, run, staged), staged.noise - staged_begin(run)}, groups,
               sums);
    __syncthreads();
    store_slots(work.slots, run, moves, staged);
    if (end < here) __syncthreads();
  }
}

template <class Stage>
__device__ void run_unstaged(const Stage& stage, BlockGroups& groups, int here, Sums& sums) {
  sort_groups(groups, own_code(stage.op.work, groups, here), 0, here);
  __syncthreads();
  run_groups(stage, {stage.op.work.slots, nullptr}, groups, sums);
}

template <class Stage>
__global__ void __launch_bounds__(kThreads, Stage::kEveryStep ? kBlocksEveryStep : 1)
    over_threads(const __grid_constant__ Stage stage, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ BlockGroups groups;
  if constexpr (!Stage::kEveryStep) wait_for_previous();
  const int here = find_groups(stage.op.work, groups);
  Sums sums{};
  if constexpr (Stage::kEveryStep) {
    if (here == 0) wait_for_forces(stage);
    run_staged(stage, groups, here, sums);
  } else {
    run_unstaged(stage, groups, here, sums);
  }
  if constexpr (Stage::kSums != 0) add_up<Stage, kThreads>(stage, sums);
}

}  // namespace quiltmd
