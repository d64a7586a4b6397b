// SPDX-License-Identifier: Apache-2.0
// The groups of a block and their slots in shared memory.
//
// A thread that read its group's three atoms from global memory would touch a sector for every
// number. The slots of a block's groups are one run of memory, so stages of every step copy that run
// to shared memory and back in whole lines; a thread finds its group there without bank conflicts.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "integrators/cuda_groups.cuh"

namespace quiltmd {

// One warp more than waters need draws noise and copies, and takes the other groups meanwhile.
inline constexpr int kThreads = kGroups + 32;
// Blocks on a multiprocessor, which limits registers: one more would have registers spilled.
inline constexpr int kBlocksEveryStep = 4;

// ---- Slots in shared memory ----------------------------------------------------------------

struct SlotRun {
  int begin, end;
};

inline constexpr int kStagedSlots = 4 * kGroups;
struct StagedSlots {
  Float4 local[kStagedSlots], long_range[kStagedSlots];
  Vec3d position[kStagedSlots], velocity[kStagedSlots], reference[kStagedSlots];
  int64_t force[3][kStagedSlots];
  Vec3f noise[kStagedSlots];
};

// Copies are of 16 bytes, so the copy of a run starts at an even slot and has an even number of them.
// Arrays of slots start on 16 bytes and have whole clusters, so there is always one more to read.
__device__ inline int staged_begin(SlotRun run) { return run.begin & ~1; }

// The end of the groups from `begin` on that have room in shared memory.
__device__ inline int end_of_staged(const BlockGroups& groups, int begin, int here) {
  const int t = threadIdx.x, limit = staged_begin({groups.start[begin], 0}) + kStagedSlots;
  if (groups.start[here] <= limit) return here;
  return begin + __syncthreads_count(t >= begin && t < here && groups.start[t + 1] <= limit);
}

// `count` of the array at `from`, even.
template <class T>
__device__ inline void fetch(T* to, const T* from, int count) {
  constexpr int kMaxPieces = kStagedSlots * static_cast<int>(sizeof(T)) / 16;
  const int chunks = count * static_cast<int>(sizeof(T)) / 16;
  auto* const target = reinterpret_cast<Float4*>(to) + threadIdx.x;
  auto* const source = reinterpret_cast<const Float4*>(from) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kMaxPieces; k += kThreads)
    if (static_cast<int>(threadIdx.x) + k < chunks)
      __pipeline_memcpy_async(target + k, source + k, 16);
}

// Start to fetch the state of a run of slots; those that move need more.
__device__ inline void fetch_state(const Slots& s, SlotRun run, bool moves, StagedSlots& staged) {
  const int begin = staged_begin(run), count = (run.end - begin + 1) & ~1;
  fetch(staged.position, s.position + begin, count);
  fetch(staged.velocity, s.velocity + begin, count);
  if (moves) {
    fetch(staged.reference, s.reference + begin, count);
    fetch(staged.local, s.local + begin, count);
  }
}

__device__ inline void fetch_forces(const GroupWork& work, SlotRun run, StagedSlots& staged) {
  const Slots& s = work.slots;
  const int begin = staged_begin(run), count = (run.end - begin + 1) & ~1;
  if (work.long_range_weight != 0) fetch(staged.long_range, s.long_range + begin, count);
  for (int d = 0; d < 3; ++d) fetch(staged.force[d], s.force[d] + begin, count);
}

__device__ inline void wait_for_fetched() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

// The copy as if it lay in global memory.
__device__ inline Slots view_of(const Slots& s, SlotRun run, StagedSlots& staged) {
  const int begin = staged_begin(run);
  Slots view = s;
  view.position = staged.position - begin;
  view.velocity = staged.velocity - begin;
  view.reference = staged.reference - begin;
  view.local = staged.local - begin;
  view.long_range = staged.long_range - begin;
  for (int d = 0; d < 3; ++d) view.force[d] = staged.force[d] - begin;
  return view;
}

// Noise of the thermostat, one thread an atom.
__device__ inline void draw_noise(const Slots& s, SlotRun run, uint64_t seed, uint64_t step,
                                  StagedSlots& staged) {
  const int begin = staged_begin(run);
#pragma unroll 1
  for (int slot = run.begin + threadIdx.x; slot < run.end; slot += kThreads)
    staged.noise[slot - begin] =
        gaussian3f(seed, step, static_cast<uint32_t>(s.atom[slot]), RandomStream::kThermostat);
}

// Copy slots [begin, end) of the run back, two numbers at a time where both are in it.
__device__ inline void put_back(Vec3d* to, const Vec3d* from, SlotRun run) {
  const int shift = 3 * staged_begin(run), begin = 3 * run.begin - shift, end = 3 * run.end - shift;
  auto* const target = reinterpret_cast<double*>(to) + shift;
  const auto* const source = reinterpret_cast<const double*>(from);
#pragma unroll
  for (int k = 0; k < 3 * kStagedSlots / 2; k += kThreads) {
    const int i = 2 * (static_cast<int>(threadIdx.x) + k);
    if (i >= begin && i + 1 < end) {
      *reinterpret_cast<double2*>(target + i) = *reinterpret_cast<const double2*>(source + i);
    } else if (i + 1 == begin || i + 1 == end) {
      const int odd = i + 1 == end ? i : i + 1;
      target[odd] = source[odd];
    }
  }
}

__device__ inline void store_slots(const Slots& s, SlotRun run, bool moves,
                                   const StagedSlots& staged) {
  put_back(s.velocity, staged.velocity, run);
  if (!moves) return;
  put_back(s.position, staged.position, run);
  const int begin = staged_begin(run);
  for (int slot = run.begin + threadIdx.x; slot < run.end; slot += kThreads)
    s.local[slot] = staged.local[slot - begin];
}

// Forces of a run of slots to zero, once all threads have read them.
__device__ inline void clear_forces_of(const Slots& s, SlotRun run) {
  for (int slot = run.begin + threadIdx.x; slot < run.end; slot += kThreads)
    for (int64_t* component : s.force) component[slot] = 0;
}

}  // namespace quiltmd
