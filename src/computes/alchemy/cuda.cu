// SPDX-License-Identifier: Apache-2.0
// Alchemical atoms on a GPU, in double precision as on the host: a lane for one pair. When atoms have been laid
// out a few blocks take an alchemical atom: their warps look at the atoms of the patches that it meets, side by
// side, and those within reach go to a queue in shared memory, and from there to the list 32 at a time. So a
// warp of a step has one alchemical atom, adds up the forces on it, and ends when it has evaluated one pair a
// lane: a step waits for no more than that.
//
// Whatever is added is in fixed point, pair by pair, so no result depends on the order of pairs.
#include <algorithm>

#include "computes/alchemy/alchemical_pair.h"
#include "computes/alchemy/alchemical_placement.h"
#include "computes/alchemy/cuda_terms.h"
#include "decomposition/cuda_faults.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace {

// Small blocks find room beside others: pair lists are built at the same time, and forces in steps.
constexpr int kPlacers = 64, kPlacingWarps = kPlacers / kWarp;
constexpr int kThreads = 64, kWarps = kThreads / kWarp;
constexpr int kBlocksPerProcessor = 16;  // at most; warps take one group of pairs after the other

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

// A pair that waits to be listed, as entries.
struct Waiting {
  uint32_t first, second;
};

// Up to one pair for each lane.
__device__ __forceinline__ void list(const PlaceAlchemy& op, const AlchemicalPlacer& placer,
                                     const Waiting* queue, int count) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  int place = 0;
  if (lane == 0) place = atomicAdd(op.placed.counts + kNearPairs, kWarp);
  place = __shfl_sync(kAllLanes, place, 0);
  if (place > op.placed.near_capacity - kWarp) {
    if (lane == 0) atomicMax(&op.faults->room_needed[kListEntries], 1);
    return;
  }
  PlacedPair pair{};
  if (lane < count) pair = placer.near_pair(queue[lane].first, queue[lane].second);
  op.placed.near[place + lane] = pair;
}

// Pairs that a warp has found, one after the other in memory: at most those of a warp, and what is found next.
struct Queue {
  Waiting* pairs;
  int count;
};

// The next pair of each lane that has one; all lanes of the warp. Whole warps of pairs are listed.
__device__ __forceinline__ void append(const PlaceAlchemy& op, const AlchemicalPlacer& placer,
                                       Queue& queue, bool has, const Waiting& pair) {
  const unsigned lanes = __ballot_sync(kAllLanes, has), lane = threadIdx.x % kWarp;
  if (has) queue.pairs[queue.count + __popc(lanes & ((1u << lane) - 1))] = pair;
  queue.count += __popc(lanes);
  __syncwarp();
  if (queue.count < kWarp) return;
  queue.count -= kWarp;
  list(op, placer, queue.pairs + queue.count, kWarp);
  __syncwarp();
}

// The pairs of one meeting; all lanes of a warp. Each looks at the bounds of one cluster, then at an atom of
// one of four clusters that may have some within reach.
__device__ __forceinline__ void place_meeting(const PlaceAlchemy& op,
                                              const AlchemicalPlacer& placer,
                                              const Meeting& meeting, Queue& queue) {
  const PlacedPatch patch = op.patches[meeting.patch];
  const Vec3f from = placer.from_patch(meeting);
  const int lane = static_cast<int>(threadIdx.x % kWarp), clusters = clusters_of(patch);
  for (int base = 0; base < clusters; base += kWarp) {
    const int first = patch.start / kClusterSize + base;
    const bool reaches = base + lane < clusters && placer.may_reach(from, first + lane);
    for (unsigned near = __ballot_sync(kAllLanes, reaches); near != 0;) {
      int cluster = -1;
      for (int quarter = 0; quarter < kWarp / kClusterSize; ++quarter, near &= near - 1)
        if (lane / kClusterSize == quarter) cluster = __ffs(static_cast<int>(near)) - 1;
      const int slot = (first + cluster) * kClusterSize + lane % kClusterSize;
      const bool meets =
          cluster >= 0 && slot < patch.start + patch.atoms && placer.meet(meeting, from, slot);
      append(op, placer, queue, meets, {meeting.atom, meeting.entry_of(slot)});
    }
  }
}

// The pairs that an alchemical atom has in one of every kBlocksOfAtom meetings, from `part` on; all threads of a
// block.
__device__ __forceinline__ void place_pairs(const PlaceAlchemy& op, const AlchemicalPlacer& placer,
                                            int atom, int part) {
  __shared__ Meeting meetings[kPlacers];
  __shared__ Waiting queues[kPlacingWarps][2 * kWarp], rest[kPlacers];  // left over in all
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  Queue queue{queues[warp], 0};
  constexpr int kBlocks = PlaceAlchemy::kBlocksOfAtom;
  for (int first = part; first < placer.meetings_of_one(); first += kBlocks * kPlacers) {
    Meeting own;
    const int which = first + kBlocks * thread;
    const bool found = which < placer.meetings_of_one() && placer.find_meeting(atom, which, own);
    int count;
    const int place = block_sum(found ? 1 : 0, &count);
    if (found) meetings[place] = own;
    __syncthreads();
    for (int m = warp; m < count; m += kPlacingWarps) place_meeting(op, placer, meetings[m], queue);
    __syncthreads();
  }
  int left;
  const int before = block_sum(lane < queue.count ? 1 : 0, &left);
  if (lane < queue.count) rest[before] = queue.pairs[lane];
  __syncthreads();
  const int begin = warp * kWarp;
  if (begin < left) list(op, placer, rest + begin, min(left - begin, kWarp));
}

// Blocks of alchemical atoms come first, then those of excluded pairs.
__global__ void __launch_bounds__(kPlacers)
    place_alchemy_kernel(const __grid_constant__ PlaceAlchemy op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (op.faults->refused) return;
  const AlchemicalPlacer placer(op);
  const int block = static_cast<int>(blockIdx.x);
  const int of_atoms = op.atom_count * PlaceAlchemy::kBlocksOfAtom;
  if (block < of_atoms)
    return place_pairs(op, placer, block / PlaceAlchemy::kBlocksOfAtom,
                       block % PlaceAlchemy::kBlocksOfAtom);
  const int number = (block - of_atoms) * kPlacers + static_cast<int>(threadIdx.x);
  PlacedPair pair{};
  const Found where =
      number < op.excluded_pairs ? placer.find_excluded(number, pair) : Found::kElsewhere;
  if (where == Found::kTooWide)
    report_fault(*op.faults, &op.faults->blowup_step, &op.faults->blowup_atom, *op.step,
                 op.excluded_atoms[2 * number]);
  const int at = next_place(op.placed.counts + kExcludedPairs, where == Found::kHere);
  if (where == Found::kHere) op.placed.excluded[at] = pair;
}

void place_alchemy(const PlaceAlchemy& op, CudaContext& context) {
  launch(context, {PlaceAlchemy::kName, 1, kPlacedKinds, 0, Start::kEarly}, clear_counts,
         op.placed.counts, op.faults);
  const unsigned of_atoms = static_cast<unsigned>(op.atom_count * PlaceAlchemy::kBlocksOfAtom);
  launch(context,
         {PlaceAlchemy::kName, of_atoms + blocks_for(op.excluded_pairs, kPlacers), kPlacers, 0,
          Start::kEarly},
         place_alchemy_kernel, op);
}

// ---- Forces --------------------------------------------------------------------------------

// Quantities that a block sums in steps with energies, in this order.
struct BlockSum {
  static constexpr int kLennardJones = 0, kCoulomb = 1, kVirial = 2;
  static constexpr int kSlopes = kVirial + Symmetric::kParts, kStates = kSlopes + kLambdas;
};

extern __shared__ long long block_sums[];

// Lanes without a pair bring zero.
__device__ __forceinline__ void add_to_block(int sum, double value, int lane) {
  const long long all = warp_sum(to_fixed(value, kEnergyScale));
  if (lane == 0) add_fixed(reinterpret_cast<int64_t*>(block_sums + sum), all);
}

// Forces on the alchemical atoms of a warp's pairs, which are one where these are near pairs, and on the others.
__device__ __forceinline__ void add_forces(const AlchemicalForces& op, bool counts, int i, int j,
                                           const Vec3d& force, int lane) {
  const int first = __shfl_sync(kAllLanes, i, 0);
  const bool is_one = __all_sync(kAllLanes, !counts || i == first);
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const long long component = counts ? to_fixed(force[d], kForceScale) : 0;
    if (counts) add_fixed(op.slots.force[d] + j, -component);
    const long long all = is_one ? warp_sum(component) : component;
    if (is_one ? lane == 0 : counts) add_fixed(op.slots.force[d] + i, all);
  }
}

template <bool kEnergy, class Form>
__device__ __forceinline__ void add(const AlchemicalForces& op, const Scales& now, bool counts,
                                    const AlchemicalPair<Form>& pair, const PlacedPair& placed) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const Vec3d force = counts ? pair.force() * pair.way : Vec3d{0, 0, 0};
  add_forces(op, counts, slot_of(placed.first), slot_of(placed.second), force, lane);
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

__device__ __forceinline__ int64_t* total(const AlchemicalForces& op, int sum) {
  if (sum == BlockSum::kLennardJones) return op.energy + kPairForm;
  if (sum == BlockSum::kCoulomb) return op.energy + kCoulombDirect;
  if (sum < BlockSum::kSlopes) return op.energy + kVirial + (sum - BlockSum::kVirial);
  return op.sums + (sum - BlockSum::kSlopes);
}

// Warps of near pairs come first, then those of excluded pairs.
template <bool kEnergy, class Form>
__global__ void __launch_bounds__(kThreads)
    alchemical_forces_kernel(const __grid_constant__ AlchemicalForces op, LaunchTimes* times) {
  const Timed timed(times);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int warp = static_cast<int>(blockIdx.x) * kWarps + thread / kWarp;
  const int warps = static_cast<int>(gridDim.x) * kWarps, sums = BlockSum::kStates + op.state_count;
  if constexpr (kEnergy)
    for (int k = thread; k < sums; k += kThreads) block_sums[k] = 0;
  __syncthreads();
  wait_for_previous();
  const AlchemicalPairs<Form> pairs(op);
  const PlacedAlchemy& placed = op.placed;
  const int near = min(placed.counts[kNearPairs], placed.near_capacity) / kWarp;
  const int excluded = placed.counts[kExcludedPairs], all = near + (excluded + kWarp - 1) / kWarp;
  for (int group = warp; group < all; group += warps) {
    const bool is_near = group < near;
    const int number = (is_near ? group : group - near) * kWarp + lane;
    const PlacedPair one = is_near             ? placed.near[number]
                           : number < excluded ? placed.excluded[number]
                                               : PlacedPair{};
    AlchemicalPair<Form> pair;
    const bool counts = is_near ? pairs.near(one, pair) : pairs.excluded(one, pair);
    add<kEnergy>(op, pairs.now, counts, pair, one);
  }
  if constexpr (kEnergy) {
    __syncthreads();
    for (int k = thread; k < sums; k += kThreads)
      if (block_sums[k] != 0) add_fixed(total(op, k), block_sums[k]);
  }
}

void alchemical_forces(const AlchemicalForces& op, CudaContext& context) {
  const int64_t groups = op.placed.near_capacity / kWarp + blocks_for(op.most_excluded, kWarp);
  const unsigned blocks = std::min(blocks_for(groups, kWarps),
                                   static_cast<unsigned>(kBlocksPerProcessor * context.sm_count));
  const size_t shared =
      op.energy ? (BlockSum::kStates + static_cast<size_t>(op.state_count)) * sizeof(int64_t) : 0;
  SoftForms::with(op.core.form, [&]<class Form>(Form) {
    launch(context,
           {.name = AlchemicalForces::kName,
            .blocks = blocks,
            .threads = kThreads,
            .shared = shared,
            .start = Start::kEarly,
            .urgency = Urgency::kLow},
           op.energy ? alchemical_forces_kernel<true, Form> : alchemical_forces_kernel<false, Form>,
           op);
  });
}

}  // namespace

void add_alchemy_kernels(CudaKernels& table) {
  table.add<PlaceAlchemy, place_alchemy>();
  table.add<AlchemicalForces, alchemical_forces>();
  table.add<ChangedTermEnergies, changed_term_energies>();
}

}  // namespace quiltmd
