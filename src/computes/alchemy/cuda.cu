// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms on a GPU, in double precision as on the host: one warp for one meeting of an atom with a
// patch. Its lanes look at the atoms of the patch side by side; the few that are near go to a queue in
// shared memory, across meetings, so that lanes have pairs to evaluate 32 at a time.
//
// Whatever is added is in fixed point, pair by pair, so no result depends on the order of pairs.
#include <algorithm>

#include "computes/alchemy/alchemical_pair.h"
#include "computes/alchemy/alchemical_placement.h"
#include "decomposition/cuda_faults.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / kWarp;
constexpr int kBlocksPerProcessor = 8;  // at most; warps take one meeting after the other

// ---- Placement -----------------------------------------------------------------------------

__global__ void clear_counts(int32_t* counts, const Faults* faults, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (!faults->refused) counts[threadIdx.x] = 0;
}

// The next place of a list for each lane that has found something.
__device__ __forceinline__ int next_place(int32_t* count, bool found) {
  const unsigned finders = __ballot_sync(kAllLanes, found), lane = threadIdx.x % kWarp;
  int first = 0;
  if (lane == 0 && finders) first = atomicAdd(count, __popc(finders));
  return __shfl_sync(kAllLanes, first, 0) + __popc(finders & ((1u << lane) - 1));
}

// Blocks of meetings come first, then those of excluded pairs.
__global__ void __launch_bounds__(kThreads)
    place_alchemy_kernel(const __grid_constant__ PlaceAlchemy op, int meeting_blocks,
                         LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (op.faults->refused) return;
  const AlchemicalPlacer placer(op);
  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  if (block < meeting_blocks) {
    const int number = block * kThreads + thread;
    Meeting meeting;
    const bool found = number < placer.meetings() && placer.find_meeting(number, meeting);
    const int at = next_place(op.placed.counts + kMeetings, found);
    if (found) op.placed.meetings[at] = meeting;
    return;
  }
  const int pair = (block - meeting_blocks) * kThreads + thread;
  uint32_t entry[3];
  const Found where =
      pair < op.excluded_pairs ? placer.find_excluded(pair, entry) : Found::kElsewhere;
  if (where == Found::kTooWide)
    report_fault(*op.faults, &op.faults->blowup_step, &op.faults->blowup_atom, *op.step,
                 op.excluded_atoms[2 * pair]);
  const int at = next_place(op.placed.counts + kExcludedPairs, where == Found::kHere);
  if (where == Found::kHere)
    for (int k = 0; k < 3; ++k) op.placed.excluded[3 * static_cast<int64_t>(at) + k] = entry[k];
}

void place_alchemy(const PlaceAlchemy& op, CudaContext& context) {
  const int64_t meetings = static_cast<int64_t>(op.atom_count) * (2 * op.grid.codes - 1);
  const unsigned of_meetings = blocks_for(meetings, kThreads);
  launch(context, {PlaceAlchemy::kName, 1, kPlacedKinds, 0, Start::kEarly}, clear_counts,
         op.placed.counts, op.faults);
  launch(context,
         {PlaceAlchemy::kName, of_meetings + blocks_for(op.excluded_pairs, kThreads), kThreads, 0,
          Start::kEarly},
         place_alchemy_kernel, op, static_cast<int>(of_meetings));
}

// ---- Forces --------------------------------------------------------------------------------

// What a block sums up in steps with energies, in this order.
struct BlockSum {
  static constexpr int kLennardJones = 0, kCoulomb = 1, kVirial = 2;
  static constexpr int kSlopes = kVirial + Symmetric::kParts, kStates = kSlopes + kLambdas;
};

extern __shared__ long long block_sums[];

// Pairs that wait to be evaluated: at most a warp's, and what it finds next.
struct Queue {
  uint32_t first[2 * kWarp], second[2 * kWarp];
};

// Lanes without a pair bring zero.
__device__ __forceinline__ void add_to_block(int sum, double value, int lane) {
  const long long all = warp_sum(to_fixed(value, kEnergyScale));
  if (lane == 0) add_fixed(reinterpret_cast<int64_t*>(block_sums + sum), all);
}

// Forces on the alchemical atoms of a warp's pairs, which are one for the most part, and on the others.
__device__ __forceinline__ void add_forces(const AlchemicalForces& op, bool counts, int i, int j,
                                           const Vec3d& force, int lane) {
  const int first = __shfl_sync(kAllLanes, i, 0);
  const bool is_one = __all_sync(kAllLanes, !counts || i == first);
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const long long component = counts ? to_fixed(force[d], kForceScale) : 0;
    const long long all = is_one ? warp_sum(component) : component;
    if (is_one ? lane == 0 : counts) add_fixed(op.slots.force[d] + i, all);
    if (counts) add_fixed(op.slots.force[d] + j, -component);
  }
}

template <bool kEnergy>
__device__ __forceinline__ void add(const AlchemicalForces& op, const Scales& now, bool counts,
                                    const AlchemicalPair& pair, uint32_t first, uint32_t second) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const Vec3d force = counts ? pair.force() * pair.way : Vec3d{0, 0, 0};
  add_forces(op, counts, AlchemicalPairs::slot_of(first), AlchemicalPairs::slot_of(second), force,
             lane);
  if constexpr (kEnergy) {
    Symmetric virial{};
    if (counts) virial.add_product(force, pair.way);
#pragma unroll
    for (int v = 0; v < Symmetric::kParts; ++v)
      add_to_block(BlockSum::kVirial + v, virial[v], lane);
    add_to_block(BlockSum::kLennardJones, counts ? pair.soft.energy : 0, lane);
    add_to_block(BlockSum::kCoulomb, counts ? pair.coulomb() : 0, lane);
    for (int l = 0; l < kLambdas; ++l)
      add_to_block(BlockSum::kSlopes + l, counts ? pair.slope(static_cast<Lambda>(l), now) : 0,
                   lane);
    for (int k = 0; k < op.state_count; ++k) {
      const double change = counts ? pair.change(op.core, now, Scales(op.states[k])) : 0;
      add_to_block(BlockSum::kStates + k, change, lane);
    }
  }
}

// Each lane one pair, of those queued from place `begin` on.
template <bool kEnergy>
__device__ __forceinline__ void evaluate(const AlchemicalForces& op, const AlchemicalPairs& pairs,
                                         const Queue& queue, int begin, int end) {
  const int lane = static_cast<int>(threadIdx.x % kWarp), at = min(begin + lane, end - 1);
  const uint32_t first = queue.first[at], second = queue.second[at];
  AlchemicalPair pair;
  const bool counts = pairs.find(first, second, pair) && begin + lane < end;
  add<kEnergy>(op, pairs.now, counts, pair, first, second);
}

template <bool kEnergy>
__device__ __forceinline__ void meet(const AlchemicalForces& op, const AlchemicalPairs& pairs,
                                     Queue& queue, int warp, int warps) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int meetings = op.placed.counts[kMeetings];
  int waiting = 0;
  for (int m = warp; m < meetings; m += warps) {
    const Meeting meeting = op.placed.meetings[m];
    const PlacedPatch patch = op.patches[meeting.patch];
    const Vec3f from = pairs.from_patch(meeting);
    for (int begin = 0; begin < patch.atoms; begin += kWarp) {
      const int slot = patch.start + begin + lane;
      const bool near = begin + lane < patch.atoms && pairs.meet(meeting, from, slot);
      const unsigned nears = __ballot_sync(kAllLanes, near);
      if (near) {
        const int at = waiting + __popc(nears & ((1u << lane) - 1));
        queue.first[at] = meeting.atom;
        queue.second[at] = static_cast<uint32_t>(slot) | static_cast<uint32_t>(meeting.code)
                                                             << kSlotBits;
      }
      waiting += __popc(nears);
      __syncwarp();
      if (waiting < kWarp) continue;
      waiting -= kWarp;
      evaluate<kEnergy>(op, pairs, queue, waiting, waiting + kWarp);
      __syncwarp();
    }
  }
  if (waiting) evaluate<kEnergy>(op, pairs, queue, 0, waiting);
}

__device__ __forceinline__ int64_t* total(const AlchemicalForces& op, int sum) {
  if (sum == BlockSum::kLennardJones) return op.energy + kPairForm;
  if (sum == BlockSum::kCoulomb) return op.energy + kCoulombDirect;
  if (sum < BlockSum::kSlopes) return op.energy + kVirial + (sum - BlockSum::kVirial);
  return op.sums + (sum - BlockSum::kSlopes);
}

template <bool kEnergy>
__global__ void __launch_bounds__(kThreads)
    alchemical_forces_kernel(const __grid_constant__ AlchemicalForces op, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ Queue queues[kWarps];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int warp = static_cast<int>(blockIdx.x) * kWarps + thread / kWarp;
  const int warps = static_cast<int>(gridDim.x) * kWarps, sums = BlockSum::kStates + op.state_count;
  if constexpr (kEnergy)
    for (int k = thread; k < sums; k += kThreads) block_sums[k] = 0;
  __syncthreads();
  wait_for_previous();
  const AlchemicalPairs pairs(op);
  meet<kEnergy>(op, pairs, queues[thread / kWarp], warp, warps);
  const int excluded = op.placed.counts[kExcludedPairs];
  for (int begin = warp * kWarp; begin < excluded; begin += warps * kWarp) {
    const bool counts = begin + lane < excluded;
    const uint32_t* entry =
        op.placed.excluded + 3 * static_cast<int64_t>(counts ? begin + lane : 0);
    add<kEnergy>(op, pairs.now, counts, pairs.excluded(entry), entry[0], entry[1]);
  }
  if constexpr (kEnergy) {
    __syncthreads();
    for (int k = thread; k < sums; k += kThreads)
      if (block_sums[k] != 0) add_fixed(total(op, k), block_sums[k]);
  }
}

void alchemical_forces(const AlchemicalForces& op, CudaContext& context) {
  const int64_t most = std::max<int64_t>(op.most_meetings, (op.most_excluded + kWarp - 1) / kWarp);
  const unsigned blocks = std::min(blocks_for(most, kWarps),
                                   static_cast<unsigned>(kBlocksPerProcessor * context.sm_count));
  const size_t shared =
      op.energy ? (BlockSum::kStates + static_cast<size_t>(op.state_count)) * sizeof(int64_t) : 0;
  launch(context, {AlchemicalForces::kName, blocks, kThreads, shared, Start::kEarly},
         op.energy ? alchemical_forces_kernel<true> : alchemical_forces_kernel<false>, op);
}

}  // namespace

void add_alchemy_kernels(CudaKernels& table) {
  table.add<PlaceAlchemy, place_alchemy>();
  table.add<AlchemicalForces, alchemical_forces>();
}

}  // namespace quiltmd
