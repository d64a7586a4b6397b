// SPDX-License-Identifier: Apache-2.0
// Stages of a step on a GPU: one thread a group, state in double precision. Everything that an atom
// needs in a step passes through the multiprocessor once: forces are summed, the group moves, and
// what the force kernels read is written.
//
// A stage of every step is a chain of dependent instructions, and on a small system one wave of
// them: what counts is that it is short. While the block's slots travel to shared memory (see
// cuda_staging.cuh) all its threads draw noise; then each group has one thread, since three would
// solve the same constraints three times in the double-precision units.
#include <type_traits>

#include "device/cuda/kernels.h"
#include "integrators/cuda_staging.cuh"

namespace quiltmd {
namespace {

// ---- The loop over groups ------------------------------------------------------------------

// What a stage reads and writes besides positions and velocities.
enum class Noise { kNone, kThermostat, kVelocities };
enum class Stores { kNothing, kVelocities, kPositions, kBoth };

// A stage is a struct with
//   op: the operation, with its GroupWork
//   kMasses, kNoise, kStores, kSums (how many integers it adds up over all groups)
//   apply(group, placed, sums) -> Outcome, for every group type; adds to sums.value
//   kEveryStep: slots pass through shared memory; kForcesFollow: no other stage comes before forces
//   target(): where the sums go (null: nowhere); op.seed, where there is noise
//   clears(): whether to clear the forces that were read
//   counter(): null, or {step, 0}, to count the step when all groups are done

// What groups add up, in fixed point.
struct Sums {
  int64_t value[kKineticSums];
};

// Slots of a block's groups, and where to find noise that has been drawn for them (or null).
struct BlockSlots {
  Slots slots;
  const Vec3f* noise;
};

template <class Stage, class Group>
__device__ void set_noise(const Stage& stage, const Vec3f* drawn, PlacedGroup placed, Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i) {
    if (i >= g.size()) break;
    Vec3d noise{0, 0, 0};
    if (i < g.atoms()) {
      if constexpr (Stage::kNoise == Noise::kThermostat) {
        const Vec3f n = drawn[placed.slot + i];
        noise = {n.x, n.y, n.z};
      } else {
        const int atom = stage.op.work.constants.group_start[placed.group] + i;
        noise = gaussian3(stage.op.seed, 0, static_cast<uint32_t>(atom), RandomStream::kVelocities);
      }
    }
    g.noise[i] = noise;
  }
}

// What follows from new positions.
template <class Group>
__device__ void note_positions(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                               ShapeCode code, Vec3d origin, const Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i) {
    if (i >= g.atoms()) break;
    const int slot = placed.slot + i;
    const PlacedPosition at =
        placed_position(g.position[i], origin, slots.reference[slot], slots.local[slot].w);
    slots.local[slot] = at.local;
    if (code.in_terms()) slots.low[slot] = at.low;
    judge(work, at.moved2, placed, i);
  }
}

// One group through a stage; returns what it adds to the sums.
template <class Group, class Stage>
__device__ Sums run_group(const Stage& stage, const BlockSlots& block, const BlockGroups& groups,
                          int at) {
  const GroupWork& work = stage.op.work;
  const PlacedGroup placed = groups.placed[at];
  const ShapeCode code = groups.code[at];
  constexpr bool moves = Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kPositions;
  Group g;
  Vec3d origin{};
  if constexpr (moves) origin = work.origin[blockIdx.x * kGroups + at];
  load(work, block.slots, placed, code, Stage::kMasses, g);
  if constexpr (Stage::kNoise != Noise::kNone) set_noise(stage, block.noise, placed, g);
  Sums sums{};
  const Outcome outcome = stage.apply(g, placed, sums);
  if (!outcome.converged)
    report(*work.faults, &work.faults->constraint_step, &work.faults->constraint_atom, *work.step,
           work.constants.group_start[placed.group]);
  store(block.slots, placed.slot, g, moves,
        Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kVelocities);
  if constexpr (moves) note_positions(work, block.slots, placed, code, origin, g);
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
  part(GroupClass::kOther, [&](int at) { return run_group<SmallGroup>(stage, block, groups, at); });
}

extern __shared__ float4 staged_memory[];

// The groups of the block as many at a time as have room in shared memory: all, unless they are
// large or lie scattered over small patches.
//
// What only stages and rebuilds write is read while the last kernel of the forces still runs: stages
// that may be followed by another one without forces between them (kForcesFollow) do not let it
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
      draw_noise(work.slots, run, stage.op.seed, static_cast<uint64_t>(*work.step), staged);
    sort_groups(groups, own, begin, end);
    if (begin == 0) wait_for_previous();
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

// The last block to come here counts the step: all others have read it by then.
__device__ void count_when_all_done(int64_t* counter) {
  auto* const tickets = reinterpret_cast<unsigned long long*>(counter + 1);
  if (atomicAdd(tickets, 1ull) + 1 < gridDim.x) return;
  counter[0] += 1;
  counter[1] = 0;
}

template <class Stage>
__global__ void __launch_bounds__(kThreads, Stage::kEveryStep ? kBlocksEveryStep : 1)
    over_groups(const __grid_constant__ Stage stage) {
  __shared__ BlockGroups groups;
  __shared__ Sums sums_of_warp[kThreads / 32];
  if constexpr (!Stage::kEveryStep) wait_for_previous();
  const int here = find_groups(stage.op.work, groups);
  Sums sums{};
  if constexpr (Stage::kEveryStep) {
    if (here == 0) wait_for_previous();
    run_staged(stage, groups, here, sums);
  } else {
    run_unstaged(stage, groups, here, sums);
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < Stage::kSums; ++k) {
    const int64_t sum = sum_over_warp(sums.value[k]);
    if (lane == 0) sums_of_warp[warp].value[k] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll
  for (int k = 0; k < Stage::kSums; ++k) {
    int64_t sum = 0;
    for (const auto& of_warp : sums_of_warp) sum += of_warp.value[k];
    if (stage.target() && sum != 0) add_fixed(stage.target() + k, sum);
  }
  if (stage.counter()) count_when_all_done(stage.counter());
}

template <class Stage>
void launch_stage(CudaContext& context, const Stage& stage) {
  launch(context,
         {decltype(stage.op)::kName, blocks_for(stage.op.work.capacity, kGroups), kThreads,
          Stage::kEveryStep ? sizeof(StagedSlots) : 0, Start::kEarly},
         over_groups<Stage>, stage);
}

// ---- Stages --------------------------------------------------------------------------------

struct Plain {
  static constexpr Masses kMasses = Masses::kReal;
  static constexpr Noise kNoise = Noise::kNone;
  static constexpr int kSums = 0;
  static constexpr bool kEveryStep = false;
  __device__ bool clears() const { return false; }
  __device__ int64_t* target() const { return nullptr; }
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
  static constexpr Noise kNoise = Noise::kThermostat;
  static constexpr Stores kStores = Stores::kBoth;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy + kHeat; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums& sums) const {
    const Outcome outcome = langevin_middle(op, g);
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

struct DisplaceAlongForceStage : Plain {
  DisplaceAlongForce op;
  static constexpr Masses kMasses = Masses::kUnit;
  static constexpr Stores kStores = Stores::kPositions;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, Sums&) const {
    for (int i = 0; i < g.size(); ++i)
      if (i < g.atoms()) g.position[i] = op.from[placed.slot + i];
    return displace_along_force(op, g);
  }
};

// The largest is found first, then the lowest atom that has it.
struct LargestForceStage : Plain {
  LargestForce op;
  static constexpr Masses kMasses = Masses::kUnit;
  static constexpr Stores kStores = Stores::kNothing;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, Sums&) const {
    const Outcome outcome = project_force(op.work.constraint_tolerance, g);
    for (int i = 0; i < g.size(); ++i)
      if (i < g.atoms())
        atomicMax(
            reinterpret_cast<unsigned long long*>(op.largest2),
            static_cast<unsigned long long>(__double_as_longlong(dot(g.force[i], g.force[i]))));
    return outcome;
  }
};
struct LargestForceAtomStage : Plain {
  LargestForce op;
  static constexpr Masses kMasses = Masses::kUnit;
  static constexpr Stores kStores = Stores::kNothing;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, Sums&) const {
    const Outcome outcome = project_force(op.work.constraint_tolerance, g);
    for (int i = 0; i < g.size(); ++i)
      if (i < g.atoms() && __double_as_longlong(dot(g.force[i], g.force[i])) == *op.largest2)
        atomicMin(op.atom, op.work.slots.atom[placed.slot + i]);
    return outcome;
  }
};

struct SetStateStage : Plain {
  SetState op;
  static constexpr Stores kStores = Stores::kBoth;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, Sums&) const {
    for (int i = 0; i < g.size(); ++i) {
      if (i >= g.atoms()) continue;
      g.position[i] = op.position[placed.slot + i];
      g.velocity[i] = op.velocity[placed.slot + i];
    }
    return {};
  }
};

// ---- Without groups ------------------------------------------------------------------------

__global__ void count_step_kernel(int64_t* step) {
  wait_for_previous();
  *step += 1;
}

__global__ void __launch_bounds__(256) clear_forces_kernel(const __grid_constant__ ClearForces op) {
  wait_for_previous();
  const int slot = blockIdx.x * 256 + threadIdx.x;
  if (slot >= min(*op.slot_count, op.slot_capacity)) return;
  for (int64_t* component : op.slots.force) component[slot] = 0;
}

// ---- Launchers -----------------------------------------------------------------------------

template <class Stage, class Op>
void run_stage(const Op& op, CudaContext& context) {
  launch_stage(context, Stage{{}, op});
}

void count_step(const CountStep& op, CudaContext& context) {
  launch(context, {CountStep::kName, 1, 1, 0, Start::kEarly}, count_step_kernel, op.step);
}

void clear_forces(const ClearForces& op, CudaContext& context) {
  launch(context, {ClearForces::kName, blocks_for(op.slot_capacity, 256), 256, 0, Start::kEarly},
         clear_forces_kernel, op);
}

__global__ void start_atom_search(int32_t* atom) {
  wait_for_previous();
  *atom = INT32_MAX;
}

void largest_force(const LargestForce& op, CudaContext& context) {
  launch(context, {LargestForce::kName, 1, 1}, start_atom_search, op.atom);
  launch_stage(context, LargestForceStage{{}, op});
  launch_stage(context, LargestForceAtomStage{{}, op});
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
  table.add<SumMomentum, run_stage<SumMomentumStage, SumMomentum>>();
  table.add<RemoveMomentum, run_stage<RemoveMomentumStage, RemoveMomentum>>();
  table.add<DrawVelocities, run_stage<DrawVelocitiesStage, DrawVelocities>>();
  table.add<DisplaceAlongForce, run_stage<DisplaceAlongForceStage, DisplaceAlongForce>>();
  table.add<LargestForce, largest_force>();
  table.add<SetState, run_stage<SetStateStage, SetState>>();
}

}  // namespace quiltmd
