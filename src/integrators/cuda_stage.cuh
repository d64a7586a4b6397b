// SPDX-License-Identifier: Apache-2.0
// What a stage is to the loops over groups on a GPU, and what those have in common.
#pragma once

#include "device/cuda/warp.cuh"
#include "integrators/cuda_groups.cuh"

namespace quiltmd {

// Noise that a stage reads, besides positions and velocities. kThermostat: for every step, drawn for a block
// of slots at a time.
enum class Noise { kNone, kThermostat, kVelocities, kCollisions };
enum class Stores { kNothing, kVelocities, kPositions, kBoth };

// A stage is a struct with
//   op: the operation, with its GroupWork
//   kNoise, kStores, kSums (how many integers it adds up over all groups)
//   apply(group, placed, sums) -> Outcome, for every group type; adds to sums.value. A stage with
//     kConditioned takes the heat bath in place of `placed`
//   kEveryStep: it starts early, and may have a lane an atom; kForcesFollow: no other stage comes
//     before forces
//   target(): where the sums go (null: nowhere); op.seed, where there is noise
//   clears(): whether to clear the forces that were read
//   counter(): null, or {step, 0}, to count the step once all blocks have read it

// Sums over groups, in fixed point.
struct Sums {
  int64_t value[kKineticSums];
};

template <class Stage>
inline constexpr bool kMoves =
    Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kPositions;
template <class Stage>
inline constexpr bool kSpeeds =
    Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kVelocities;

template <class Stage, class Group>
__device__ __forceinline__ Outcome apply_stage(const Stage& stage, const StageUniforms& uniforms,
                                               PlacedGroup placed, Group& g, Sums& sums) {
  if constexpr (Stage::kConditioned)
    return stage.apply(g, uniforms.bath, sums);
  else
    return stage.apply(g, placed, sums);
}

// The second word of a counter {step, 0} is two numbers that are 0 between kernels: of blocks that
// have read the step, and of tiles that have been drawn (cuda_tiles.cuh).
__device__ unsigned* readers_of(int64_t* counter) {
  return reinterpret_cast<unsigned*>(counter + 1);
}
__device__ int32_t* drawn_of(int64_t* counter) {
  return reinterpret_cast<int32_t*>(counter + 1) + 1;
}

// The step is counted by the last block to say that it has read it.
__device__ void count_when_all_have_read(int64_t* counter) {
  if (atomicAdd(readers_of(counter), 1u) + 1 < gridDim.x) return;
  counter[0] += 1;
  *readers_of(counter) = 0;
}

// The last warp, which is the least likely to have groups, waits for the answer.
template <class Stage>
__device__ void wait_for_forces(const Stage& stage) {
  wait_for_previous();
  if (threadIdx.x == blockDim.x - 1 && stage.counter()) count_when_all_have_read(stage.counter());
}

template <class Stage>
__device__ Vec3d noise_of(const Stage& stage, int64_t step, int atom) {
  constexpr bool of_start = Stage::kNoise == Noise::kVelocities;
  return gaussian3(stage.op.seed, of_start ? 0 : static_cast<uint64_t>(step),
                   static_cast<uint32_t>(atom),
                   of_start ? RandomStream::kVelocities : RandomStream::kThermostat);
}

// Adds what the threads of a block have to the target.
template <class Stage, int kBlockThreads>
__device__ void add_up(const Stage& stage, const Sums& sums) {
  __shared__ int64_t sums_of_warp[kBlockThreads / 32][Stage::kSums];
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < Stage::kSums; ++k) {
    const int64_t sum = warp_sum(sums.value[k]);
    if (lane == 0) sums_of_warp[warp][k] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0 || !stage.target()) return;
#pragma unroll
  for (int k = 0; k < Stage::kSums; ++k) {
    int64_t sum = 0;
    for (const auto& of_warp : sums_of_warp) sum += of_warp[k];
    if (sum != 0) add_fixed(stage.target() + k, sum);
  }
}

}  // namespace quiltmd
