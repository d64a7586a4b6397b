// SPDX-License-Identifier: Apache-2.0
// Stages of a step on a GPU, state in double precision. Everything that an atom needs in a step passes
// through the multiprocessor once: forces are summed, the group moves, and what the force kernels
// read is written.
//
// Stages of every step have three kernels. While the machine works on all groups at once the time of
// one block counts, and atoms have a lane each (cuda_lanes.cuh). With more groups it is how much a
// multiprocessor does at a time, and warps fetch the next groups while they work on these
// (cuda_tiles.cuh). Where shared memory has no room for that or double precision is slow, groups have a
// thread each and a block comes after the other (cuda_threads.cuh), as in all other stages. All give
// the same bits.
#include <algorithm>
#include <type_traits>

#include "device/cuda/kernels.h"
#include "integrators/andersen.h"
#include "integrators/cell_rescaling.h"
#include "integrators/cuda_lanes.cuh"
#include "integrators/cuda_large_groups.cuh"
#include "integrators/cuda_threads.cuh"
#include "integrators/cuda_tiles.cuh"
#include "integrators/monte_carlo.h"
#include "integrators/nose_hoover.h"
#include "integrators/site_physics.h"
#include "integrators/velocity_rescaling.h"

namespace quiltmd {
namespace {

// ---- Stages --------------------------------------------------------------------------------

struct Plain {
  static constexpr Noise kNoise = Noise::kNone;
  static constexpr int kSums = 0;
  static constexpr bool kEveryStep = false, kConditioned = false;
  __device__ bool clears() const { return false; }
  __device__ int64_t* counter() const { return nullptr; }
};

struct EveryStep : Plain {
  static constexpr bool kEveryStep = true, kForcesFollow = true;
};

struct VerletStartStage : EveryStep {
  VerletStart op;
  static constexpr Stores kStores = Stores::kBoth;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums&) const {
    return verlet_start(op, g);
  }
};

struct VerletFinishStage : EveryStep {
  VerletFinish op;
  static constexpr bool kForcesFollow = false;
  static constexpr Stores kStores = Stores::kVelocities;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums&) const {
    return verlet_finish(op, g);
  }
};

struct VerletStepStage : EveryStep {
  VerletStep op;
  static constexpr Stores kStores = Stores::kBoth;
  __device__ bool clears() const { return op.forces_after == ForcesAfter::kCleared; }
  __device__ int64_t* counter() const { return op.counter; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums&) const {
    return verlet_step(op, g);
  }
};

// For one heat bath, which is in the block's shared memory, or for those of groups.
template <class Op>
struct LangevinStage : EveryStep {
  Op op;
  __device__ bool clears() const { return op.forces_after == ForcesAfter::kCleared; }
  __device__ int64_t* counter() const { return op.counter; }
  static constexpr bool kConditioned = std::is_same_v<Op, LangevinMiddle>;
  static constexpr Noise kNoise = Noise::kThermostat;
  static constexpr Stores kStores = Stores::kBoth;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy + kHeat; }
  template <class Group>
  __device__ Outcome apply(Group& g, const HeatBath& bath, Sums& sums) const {
    const Outcome outcome = langevin_middle(op, bath, g);
    sums.value[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, Sums& sums) const {
    const HeatBath bath = op.baths.of(placed.group);
    return apply(g, bath, sums);
  }
};

struct KineticEnergyStage : Plain {
  KineticEnergy op;
  static constexpr Stores kStores = Stores::kNothing;
  static constexpr int kSums = kKineticSums;
  __device__ int64_t* target() const { return op.energy + kKinetic; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums& sums) const {
    add_kinetic(g, sums.value);
    return {};
  }
};

struct SumKineticEnergyStage : Plain {
  SumKineticEnergy op;
  static constexpr Stores kStores = Stores::kNothing;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.sum; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums& sums) const {
    sums.value[0] += to_fixed(kinetic_energy(g), kEnergyScale);
    return {};
  }
};

struct ScaleVelocitiesStage : Plain {
  ScaleVelocities op;
  static constexpr Stores kStores = Stores::kVelocities;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy ? op.energy + kHeat : nullptr; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums& sums) const {
    const Outcome outcome = scale_velocities(*op.factor, g);
    sums.value[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  }
};

struct SumMomentumStage : Plain {
  SumMomentum op;
  static constexpr Stores kStores = Stores::kNothing;
  static constexpr int kSums = 3;
  __device__ int64_t* target() const { return op.momentum; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums& sums) const {
    add_momentum(g, sums.value);
    return {};
  }
};

struct RemoveMomentumStage : Plain {
  RemoveMomentum op;
  static constexpr Stores kStores = Stores::kVelocities;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy ? op.energy + kHeat : nullptr; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums& sums) const {
    const Outcome outcome = remove_momentum(op, g);
    sums.value[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  }
};

struct DrawVelocitiesStage : Plain {
  DrawVelocities op;
  static constexpr Noise kNoise = Noise::kVelocities;
  static constexpr Stores kStores = Stores::kVelocities;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums&) const {
    return draw_velocities(op, g);
  }
};

struct CollideStage : Plain {
  Collide op;
  static constexpr Noise kNoise = Noise::kCollisions;
  static constexpr Stores kStores = Stores::kVelocities;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy + kHeat; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, Sums& sums) const {
    const Outcome outcome = collide(op, placed, g);
    sums.value[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  }
};

// ---- Without stages ------------------------------------------------------------------------

__global__ void __launch_bounds__(kGroups)
    scale_groups_kernel(const __grid_constant__ ScaleGroups op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at < min(*op.work.count, op.work.capacity)) scale_group(op, op.work.placed[at]);
}

__global__ void rescale_cell_kernel(const __grid_constant__ RescaleCell op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  rescale_cell(op);
}

__global__ void __launch_bounds__(kGroups)
    rescale_groups_kernel(const __grid_constant__ RescaleGroups op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  const bool present = at < min(*op.work.count, op.work.capacity);
  const int64_t heat = present ? to_fixed(rescale_group(op, op.work.placed[at]), kEnergyScale) : 0;
  const int64_t sum = warp_sum(heat);
  if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.energy + kHeat, sum);
}

__global__ void __launch_bounds__(kGroups)
    sum_kinetic_energy_groups_kernel(const __grid_constant__ SumKineticEnergyGroups op,
                                     LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  int own = -1;
  int64_t kinetic = 0;
  if (at < min(*op.work.count, op.work.capacity)) {
    const PlacedGroup placed = op.work.placed[at];
    own = op.table.of_group[placed.group];
    kinetic = to_fixed(kinetic_energy(op.work, placed), kEnergyScale);
  }
  for (int bath = 0; bath < op.baths; ++bath) {
    const int64_t sum = warp_sum(own == bath ? kinetic : 0);
    if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.sums + bath, sum);
  }
}

__global__ void __launch_bounds__(kGroups)
    scale_velocities_groups_kernel(const __grid_constant__ ScaleVelocitiesGroups op,
                                   LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  const bool present = at < min(*op.work.count, op.work.capacity);
  const int64_t heat =
      present ? to_fixed(scale_velocities(op, op.work.placed[at]), kEnergyScale) : 0;
  if (!op.energy) return;
  const int64_t sum = warp_sum(heat);
  if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.energy + kHeat, sum);
}

__global__ void count_potential_kernel(const __grid_constant__ CountPotential op,
                                       LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  count_potential(op);
}

// Rare, like those above: the few sums of large molecules are contended, which costs microseconds.
__global__ void __launch_bounds__(kGroups)
    sum_molecules_kernel(const __grid_constant__ SumMolecules op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at >= min(*op.work.count, op.work.capacity)) return;
  const PlacedGroup placed = op.work.placed[at];
  const int molecule = op.molecules.of_group[placed.group];
  if (molecule < 0) return;
  int64_t sums[3] = {0, 0, 0};
  sum_molecule(op, placed, sums);
  for (int d = 0; d < 3; ++d) add_fixed(op.sums + 3 * molecule + d, sums[d]);
}

__global__ void propose_cell_kernel(const __grid_constant__ ProposeCell op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  propose_cell(op);
}

__global__ void __launch_bounds__(kGroups)
    move_molecules_kernel(const __grid_constant__ MoveMolecules op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at < min(*op.work.count, op.work.capacity)) move_molecule(op, at);
}

__global__ void decide_cell_kernel(const __grid_constant__ DecideCell op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  decide_cell(op);
}

__global__ void __launch_bounds__(kGroups)
    restore_positions_kernel(const __grid_constant__ RestorePositions op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (*op.accepted != 0 || at >= min(*op.work.count, op.work.capacity)) return;
  restore_group(op, op.work.placed[at]);
}

__global__ void __launch_bounds__(kGroups)
    set_state_kernel(const __grid_constant__ SetState op, LaunchTimes* times) {
  const Timed timed(times);
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at < min(*op.work.count, op.work.capacity)) set_group(op, at);
}

__global__ void __launch_bounds__(kGroups)
    place_sites_kernel(const __grid_constant__ PlaceSites op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const GroupWork& work = op.work;
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at >= min(*work.count, work.capacity)) return;
  const PlacedGroup placed = work.placed[at];
  const SiteSet set = sites_of_group(op.sites, placed.group);
  for (const Site* site = set.begin; site != set.end; ++site)
    check_displacement(work, *work.step - 1, place_site(op, *site, at), placed, site->atom);
}

__global__ void __launch_bounds__(kGroups)
    spread_site_forces_kernel(const __grid_constant__ SpreadSiteForces op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  Symmetric virial{};
  if (at < min(*op.work.count, op.work.capacity)) virial = spread_sites(op, op.work.placed[at]);
  if (!op.energy) return;
#pragma unroll
  for (int k = 0; k < Symmetric::kParts; ++k) {
    const int64_t sum = warp_sum(to_fixed(virial[k], kEnergyScale));
    if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.energy + kVirial + k, sum);
  }
}

__global__ void count_step_kernel(const __grid_constant__ CountStep op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  *op.step += 1;
}

__global__ void draw_rescaling_kernel(const __grid_constant__ DrawRescaling op,
                                      LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  *op.factor = rescaling_factor(op);
}

__global__ void __launch_bounds__(kMaxHeatBaths)
    draw_rescaling_groups_kernel(const __grid_constant__ DrawRescalingGroups op,
                                 LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int bath = threadIdx.x;
  if (bath < op.baths) op.factor[bath] = rescaling_factor(op, bath);
}

__global__ void advance_chain_kernel(const __grid_constant__ AdvanceChain op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  advance_chain(op);
}

__global__ void __launch_bounds__(kMaxHeatBaths)
    advance_chains_kernel(const __grid_constant__ AdvanceChains op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int bath = threadIdx.x;
  if (bath >= op.baths) return;
  const int64_t heat = advance_chain(op, bath);
  if (op.heat) add_fixed(op.heat, heat);
}

__global__ void __launch_bounds__(256)
    clear_forces_kernel(const __grid_constant__ ClearForces op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int slot = blockIdx.x * 256 + threadIdx.x;
  if (slot >= min(*op.slot_count, op.slot_capacity)) return;
  for (int64_t* component : op.slots.force) component[slot] = 0;
}

// ---- Launchers -----------------------------------------------------------------------------

// Blocks on a multiprocessor up to which atoms have lanes of their own.
constexpr int kMaxLaneBlocks = 2;

constexpr size_t kTileBlockMemory = kTileWarps * sizeof(TileMemory);

// Whether tiles are faster than a thread a group, of which there would be `each` blocks on a
// multiprocessor. They are slower where more than a few groups are neither waters nor stars, and where
// all blocks are there at once and atoms stay where they are.
template <class Stage>
bool tiles_serve(const CudaContext& context, const Stage& stage, unsigned each) {
  const GroupWork& work = stage.op.work;
  const auto room = static_cast<size_t>(context.shared_memory);
  return context.early_start && kTileBlocks * kTileBlockMemory <= room &&
         work.other_groups <= work.capacity / 1000 && (kMoves<Stage> || each > kBlocksEveryStep);
}

// Blocks that look for large groups, a warp each: all of them at once on a large machine.
constexpr unsigned kLargeBlocks = 2048;

template <class Stage>
void launch_stage(CudaContext& context, const Stage& stage) {
  const unsigned blocks = blocks_for(stage.op.work.capacity, kGroups);
  const LargeGroups& large = stage.op.work.large;
  if (large.groups > 0)
    launch(context,
           {decltype(stage.op)::kName,
            std::min(static_cast<unsigned>(stage.op.work.capacity), kLargeBlocks), kWarp,
            LargeRoom::bytes(large), Start::kEarly},
           over_large_groups<Stage>, stage);
  if constexpr (Stage::kEveryStep) {
    // Of all kernels of every step this one leaves slots between its groups alone.
    if (large.groups > 0) {
      launch(context, {decltype(stage.op)::kName, blocks, kLaneThreads, 0, Start::kEarly},
             over_lanes<Stage, 2>, stage);
      return;
    }
    const unsigned each = blocks_for(blocks, context.sm_count);
    if (context.fast_doubles && each <= kMaxLaneBlocks) {
      launch(context, {decltype(stage.op)::kName, blocks, kLaneThreads, 0, Start::kEarly},
             each <= 1 ? over_lanes<Stage, 1> : over_lanes<Stage, 2>, stage);
      return;
    }
    if (tiles_serve(context, stage, each)) {
      const unsigned needed = blocks_for(stage.op.work.capacity, kTileGroups * kTileWarps);
      launch(context,
             {decltype(stage.op)::kName,
              std::min(needed, static_cast<unsigned>(kTileBlocks * context.sm_count)), kTileThreads,
              kTileBlockMemory, Start::kEarly},
             stage.op.work.other_groups > 0 ? over_tiles<true, Stage> : over_tiles<false, Stage>,
             stage);
      return;
    }
  }
  launch(context,
         {decltype(stage.op)::kName, blocks, kThreads, Stage::kEveryStep ? sizeof(StagedSlots) : 0,
          Start::kEarly},
         over_threads<Stage>, stage);
}

template <class Stage, class Op>
void run_stage(const Op& op, CudaContext& context) {
  launch_stage(context, Stage{{}, op});
}

// A kernel of one thread, one with a thread for each heat bath, and one with a thread for each hydrogen group.
template <class Op, void (*kKernel)(Op, LaunchTimes*)>
void run_single(const Op& op, CudaContext& context) {
  launch(context, {Op::kName, 1, 1, 0, Start::kEarly}, kKernel, op);
}

template <class Op, void (*kKernel)(Op, LaunchTimes*)>
void run_by_bath(const Op& op, CudaContext& context) {
  launch(context, {Op::kName, 1, kMaxHeatBaths, 0, Start::kEarly}, kKernel, op);
}

template <class Op, void (*kKernel)(Op, LaunchTimes*)>
void run_by_group(const Op& op, CudaContext& context) {
  launch(context, {Op::kName, blocks_for(op.work.capacity, kGroups), kGroups, 0, Start::kEarly},
         kKernel, op);
}

void clear_forces(const ClearForces& op, CudaContext& context) {
  launch(context, {ClearForces::kName, blocks_for(op.slot_capacity, 256), 256, 0, Start::kEarly},
         clear_forces_kernel, op);
}

}  // namespace

void add_integrator_kernels(CudaKernels& table) {
  table.add<VerletStart, run_stage<VerletStartStage, VerletStart>>();
  table.add<VerletFinish, run_stage<VerletFinishStage, VerletFinish>>();
  table.add<VerletStep, run_stage<VerletStepStage, VerletStep>>();
  table.add<LangevinMiddle, run_stage<LangevinStage<LangevinMiddle>, LangevinMiddle>>();
  table.add<LangevinMiddleGroups,
            run_stage<LangevinStage<LangevinMiddleGroups>, LangevinMiddleGroups>>();
  table.add<CountStep, run_single<CountStep, count_step_kernel>>();
  table.add<ClearForces, clear_forces>();
  table.add<KineticEnergy, run_stage<KineticEnergyStage, KineticEnergy>>();
  table.add<SumKineticEnergy, run_stage<SumKineticEnergyStage, SumKineticEnergy>>();
  table.add<SumKineticEnergyGroups,
            run_by_group<SumKineticEnergyGroups, sum_kinetic_energy_groups_kernel>>();
  table.add<DrawRescaling, run_single<DrawRescaling, draw_rescaling_kernel>>();
  table.add<DrawRescalingGroups, run_by_bath<DrawRescalingGroups, draw_rescaling_groups_kernel>>();
  table.add<AdvanceChain, run_single<AdvanceChain, advance_chain_kernel>>();
  table.add<AdvanceChains, run_by_bath<AdvanceChains, advance_chains_kernel>>();
  table.add<ScaleVelocities, run_stage<ScaleVelocitiesStage, ScaleVelocities>>();
  table.add<ScaleVelocitiesGroups,
            run_by_group<ScaleVelocitiesGroups, scale_velocities_groups_kernel>>();
  table.add<SumMomentum, run_stage<SumMomentumStage, SumMomentum>>();
  table.add<RemoveMomentum, run_stage<RemoveMomentumStage, RemoveMomentum>>();
  table.add<DrawVelocities, run_stage<DrawVelocitiesStage, DrawVelocities>>();
  table.add<Collide, run_stage<CollideStage, Collide>>();
  table.add<ScaleGroups, run_by_group<ScaleGroups, scale_groups_kernel>>();
  table.add<RescaleCell, run_single<RescaleCell, rescale_cell_kernel>>();
  table.add<RescaleGroups, run_by_group<RescaleGroups, rescale_groups_kernel>>();
  table.add<CountPotential, run_single<CountPotential, count_potential_kernel>>();
  table.add<SumMolecules, run_by_group<SumMolecules, sum_molecules_kernel>>();
  table.add<ProposeCell, run_single<ProposeCell, propose_cell_kernel>>();
  table.add<MoveMolecules, run_by_group<MoveMolecules, move_molecules_kernel>>();
  table.add<DecideCell, run_single<DecideCell, decide_cell_kernel>>();
  table.add<RestorePositions, run_by_group<RestorePositions, restore_positions_kernel>>();
  table.add<SetState, run_by_group<SetState, set_state_kernel>>();
  table.add<PlaceSites, run_by_group<PlaceSites, place_sites_kernel>>();
  table.add<SpreadSiteForces, run_by_group<SpreadSiteForces, spread_site_forces_kernel>>();
}

}  // namespace quiltmd
