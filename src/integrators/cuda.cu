// SPDX-License-Identifier: Apache-2.0
// Stages of a step on a GPU, state in double precision. Everything that an atom needs in a step passes
// through the multiprocessor once: forces are summed, the group moves, and what the force kernels
// read is written.
//
// Stages of every step have two kernels. While the machine works on all groups at once the time of one
// block counts, and atoms have a lane each (cuda_lanes.cuh). With more groups it is the time of many
// blocks on a multiprocessor, and groups have a thread each (cuda_threads.cuh), as in all other stages
// and where double precision is slow. Both give the same bits.
#include "device/cuda/kernels.h"
#include "integrators/cell_rescaling.h"
#include "integrators/cuda_lanes.cuh"
#include "integrators/cuda_threads.cuh"
#include "integrators/monte_carlo.h"
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

struct LangevinMiddleStage : EveryStep {
  LangevinMiddle op;
  __device__ bool clears() const { return op.forces_after == ForcesAfter::kCleared; }
  __device__ int64_t* counter() const { return op.counter; }
  static constexpr bool kConditioned = true;
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
  __device__ int64_t* target() const { return op.energy + kHeat; }
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
    for (int i = 0; i < g.size(); ++i) {
      sums.value[0] += to_fixed(g.mass[i] * g.velocity[i].x, kForceScale);
      sums.value[1] += to_fixed(g.mass[i] * g.velocity[i].y, kForceScale);
      sums.value[2] += to_fixed(g.mass[i] * g.velocity[i].z, kForceScale);
    }
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

// ---- Without stages ------------------------------------------------------------------------

__global__ void __launch_bounds__(kGroups)
    scale_groups_kernel(const __grid_constant__ ScaleGroups op) {
  wait_for_previous();
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at < min(*op.work.count, op.work.capacity)) scale_group(op, op.work.placed[at]);
}

__global__ void rescale_cell_kernel(const __grid_constant__ RescaleCell op) { rescale_cell(op); }

__global__ void __launch_bounds__(kGroups)
    rescale_groups_kernel(const __grid_constant__ RescaleGroups op) {
  const int at = blockIdx.x * kGroups + threadIdx.x;
  const bool present = at < min(*op.work.count, op.work.capacity);
  const int64_t heat = present ? to_fixed(rescale_group(op, op.work.placed[at]), kEnergyScale) : 0;
  const int64_t sum = warp_sum(heat);
  if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.energy + kHeat, sum);
}

__global__ void count_potential_kernel(const __grid_constant__ CountPotential op) {
  count_potential(op);
}

// Rare, like those above: the few sums of large molecules are contended, which costs microseconds.
__global__ void __launch_bounds__(kGroups)
    sum_molecules_kernel(const __grid_constant__ SumMolecules op) {
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at >= min(*op.work.count, op.work.capacity)) return;
  const PlacedGroup placed = op.work.placed[at];
  const int molecule = op.molecules.of_group[placed.group];
  if (molecule < 0) return;
  int64_t sums[3] = {0, 0, 0};
  sum_molecule(op, placed, sums);
  for (int d = 0; d < 3; ++d) add_fixed(op.sums + 3 * molecule + d, sums[d]);
}

__global__ void propose_cell_kernel(const __grid_constant__ ProposeCell op) { propose_cell(op); }

__global__ void __launch_bounds__(kGroups)
    move_molecules_kernel(const __grid_constant__ MoveMolecules op) {
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at < min(*op.work.count, op.work.capacity)) move_molecule(op, at);
}

__global__ void decide_cell_kernel(const __grid_constant__ DecideCell op) { decide_cell(op); }

__global__ void __launch_bounds__(kGroups)
    restore_positions_kernel(const __grid_constant__ RestorePositions op) {
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (*op.accepted != 0 || at >= min(*op.work.count, op.work.capacity)) return;
  restore_group(op, op.work.placed[at]);
}

__global__ void __launch_bounds__(kGroups) set_state_kernel(const __grid_constant__ SetState op) {
  const int at = blockIdx.x * kGroups + threadIdx.x;
  if (at < min(*op.work.count, op.work.capacity)) set_group(op, at);
}

__global__ void __launch_bounds__(kGroups)
    place_sites_kernel(const __grid_constant__ PlaceSites op) {
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
    spread_site_forces_kernel(const __grid_constant__ SpreadSiteForces op) {
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

__global__ void count_step_kernel(int64_t* step) {
  wait_for_previous();
  *step += 1;
}

__global__ void draw_rescaling_kernel(const __grid_constant__ DrawRescaling op) {
  wait_for_previous();
  *op.factor = rescaling_factor(op);
}

__global__ void __launch_bounds__(256) clear_forces_kernel(const __grid_constant__ ClearForces op) {
  wait_for_previous();
  const int slot = blockIdx.x * 256 + threadIdx.x;
  if (slot >= min(*op.slot_count, op.slot_capacity)) return;
  for (int64_t* component : op.slots.force) component[slot] = 0;
}

// ---- Launchers -----------------------------------------------------------------------------

// Blocks on a multiprocessor up to which atoms have lanes of their own.
constexpr int kMostLaneBlocks = 2;

template <class Stage>
void launch_stage(CudaContext& context, const Stage& stage) {
  const unsigned blocks = blocks_for(stage.op.work.capacity, kGroups);
  if constexpr (Stage::kEveryStep) {
    const unsigned each = blocks_for(blocks, context.sm_count);
    if (context.fast_doubles && each <= kMostLaneBlocks) {
      launch(context, {decltype(stage.op)::kName, blocks, kLaneThreads, 0, Start::kEarly},
             each <= 1 ? over_lanes<Stage, 1> : over_lanes<Stage, 2>, stage);
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

void count_step(const CountStep& op, CudaContext& context) {
  launch(context, {CountStep::kName, 1, 1, 0, Start::kEarly}, count_step_kernel, op.step);
}

void draw_rescaling(const DrawRescaling& op, CudaContext& context) {
  launch(context, {DrawRescaling::kName, 1, 1, 0, Start::kEarly}, draw_rescaling_kernel, op);
}

void scale_groups(const ScaleGroups& op, CudaContext& context) {
  launch(context,
         {ScaleGroups::kName, blocks_for(op.work.capacity, kGroups), kGroups, 0, Start::kEarly},
         scale_groups_kernel, op);
}

// These are rare, and wait for all that is before them.
void rescale_cell_alone(const RescaleCell& op, CudaContext& context) {
  launch(context, {RescaleCell::kName, 1, 1}, rescale_cell_kernel, op);
}

void rescale_groups(const RescaleGroups& op, CudaContext& context) {
  launch(context, {RescaleGroups::kName, blocks_for(op.work.capacity, kGroups), kGroups},
         rescale_groups_kernel, op);
}

void count_potential_alone(const CountPotential& op, CudaContext& context) {
  launch(context, {CountPotential::kName, 1, 1}, count_potential_kernel, op);
}

void sum_molecules(const SumMolecules& op, CudaContext& context) {
  launch(context, {SumMolecules::kName, blocks_for(op.work.capacity, kGroups), kGroups},
         sum_molecules_kernel, op);
}

void propose_cell_alone(const ProposeCell& op, CudaContext& context) {
  launch(context, {ProposeCell::kName, 1, 1}, propose_cell_kernel, op);
}

void move_molecules(const MoveMolecules& op, CudaContext& context) {
  launch(context, {MoveMolecules::kName, blocks_for(op.work.capacity, kGroups), kGroups},
         move_molecules_kernel, op);
}

void decide_cell_alone(const DecideCell& op, CudaContext& context) {
  launch(context, {DecideCell::kName, 1, 1}, decide_cell_kernel, op);
}

void restore_positions(const RestorePositions& op, CudaContext& context) {
  launch(context, {RestorePositions::kName, blocks_for(op.work.capacity, kGroups), kGroups},
         restore_positions_kernel, op);
}

void set_state(const SetState& op, CudaContext& context) {
  launch(context, {SetState::kName, blocks_for(op.work.capacity, kGroups), kGroups},
         set_state_kernel, op);
}

void place_sites(const PlaceSites& op, CudaContext& context) {
  launch(context,
         {PlaceSites::kName, blocks_for(op.work.capacity, kGroups), kGroups, 0, Start::kEarly},
         place_sites_kernel, op);
}

void spread_site_forces(const SpreadSiteForces& op, CudaContext& context) {
  launch(
      context,
      {SpreadSiteForces::kName, blocks_for(op.work.capacity, kGroups), kGroups, 0, Start::kEarly},
      spread_site_forces_kernel, op);
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
  table.add<LangevinMiddle, run_stage<LangevinMiddleStage, LangevinMiddle>>();
  table.add<CountStep, count_step>();
  table.add<ClearForces, clear_forces>();
  table.add<KineticEnergy, run_stage<KineticEnergyStage, KineticEnergy>>();
  table.add<SumKineticEnergy, run_stage<SumKineticEnergyStage, SumKineticEnergy>>();
  table.add<DrawRescaling, draw_rescaling>();
  table.add<ScaleVelocities, run_stage<ScaleVelocitiesStage, ScaleVelocities>>();
  table.add<SumMomentum, run_stage<SumMomentumStage, SumMomentum>>();
  table.add<RemoveMomentum, run_stage<RemoveMomentumStage, RemoveMomentum>>();
  table.add<DrawVelocities, run_stage<DrawVelocitiesStage, DrawVelocities>>();
  table.add<ScaleGroups, scale_groups>();
  table.add<RescaleCell, rescale_cell_alone>();
  table.add<RescaleGroups, rescale_groups>();
  table.add<CountPotential, count_potential_alone>();
  table.add<SumMolecules, sum_molecules>();
  table.add<ProposeCell, propose_cell_alone>();
  table.add<MoveMolecules, move_molecules>();
  table.add<DecideCell, decide_cell_alone>();
  table.add<RestorePositions, restore_positions>();
  table.add<SetState, set_state>();
  table.add<PlaceSites, place_sites>();
  table.add<SpreadSiteForces, spread_site_forces>();
}

}  // namespace quiltmd
