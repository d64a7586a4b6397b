// SPDX-License-Identifier: Apache-2.0
// Stages of a step on a GPU: one thread a group, state in double precision. Everything that an atom
// needs in a step passes through registers once: forces are summed, the group moves, and what the
// force kernels read is written.
//
// A thread an atom would load in fewer transactions but repeat the constraints of a water three
// times, in the double-precision units that are the scarcer resource.
#include "device/cuda/kernels.h"
#include "integrators/cuda_groups.cuh"

namespace quiltmd {
namespace {

// Groups per block: few, so that a small system spreads over the machine. One warp more than
// waters need takes the other groups meanwhile.
constexpr int kGroups = 64;
constexpr int kThreads = kGroups + 32;

// ---- The loop over groups ------------------------------------------------------------------

// What a stage reads and writes besides positions and velocities.
enum class Noise { kNone, kThermostat, kVelocities };
enum class Stores { kNothing, kVelocities, kPositions, kBoth };

// A stage is a struct with
//   op: the operation, with its GroupWork
//   kMasses, kNoise, kStores, kSums (how many integers it adds up over all groups)
//   apply(group, placed, sums) -> Outcome, for every group type
//   target(): where the sums go (null: nowhere); seed(), where there is noise
//   clears(): whether to clear the forces that were read
//   counter(): null, or {step, 0}, to count the step when all groups are done

template <class Group>
__device__ void draw_noise(uint64_t seed, uint64_t step, RandomStream stream, int atom, Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i)
    if (i < g.size())
      g.noise[i] = gaussian3(seed, step, static_cast<uint32_t>(atom + i), stream);
}

template <class Group>
__device__ void store_velocities(const Slots& s, int slot, const Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i)
    if (i < atoms_of(g)) s.velocity[slot + i] = g.velocity[i];
}

template <class Group>
__device__ void store_positions(const GroupWork& work, PlacedGroup placed, Vec3d origin,
                                const Group& g, const OldPlaces<Group>& old) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i) {
    if (i >= atoms_of(g)) break;
    const PlacedPosition at =
        placed_position(g.position[i], origin, old.reference[i], old.charge[i]);
    const int slot = placed.slot + i;
    work.slots.position[slot] = g.position[i];
    work.slots.local[slot] = at.local;
    work.slots.low[slot] = at.low;
    judge(work, at.moved2, work.constants.group_start[placed.group] + i);
  }
}

template <class Group>
__device__ void clear_forces_of(const Slots& s, int slot, const Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i)
    if (i < atoms_of(g))
      for (int64_t* component : s.force) component[slot + i] = 0;
}

// One group through a stage.
template <class Group, class Stage>
__device__ void run_group(const Stage& stage, int index, int64_t* sums) {
  const GroupWork& work = stage.op.work;
  const PlacedGroup placed = work.placed[index];
  constexpr bool moves = Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kPositions;
  Group g;
  OldPlaces<Group> old;
  Vec3d origin{};
  load(work, placed, Stage::kMasses, g);
  if constexpr (moves) {
    load(work.slots, placed.slot, g, old);
    origin = work.origin[index];
  }
  const int first = work.constants.group_start[placed.group];
  if constexpr (Stage::kNoise != Noise::kNone) {
    const bool thermostat = Stage::kNoise == Noise::kThermostat;
    draw_noise(stage.op.seed, thermostat ? static_cast<uint64_t>(*work.step) : 0,
               thermostat ? RandomStream::kThermostat : RandomStream::kVelocities, first, g);
  }
  if (stage.clears()) clear_forces_of(work.slots, placed.slot, g);
  const Outcome outcome = stage.apply(g, placed, sums);
  if (!outcome.converged)
    report(&work.faults->constraint_step, &work.faults->constraint_atom, *work.step, first);
  if constexpr (Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kVelocities)
    store_velocities(work.slots, placed.slot, g);
  if constexpr (moves) store_positions(work, placed, origin, g, old);
}

// Indices of a block's groups, by class.
struct SortedGroups {
  int count[kGroupClasses];
  int index[kGroupClasses][kGroups];
};

// All threads; ends with a barrier. Within a class the order is of no consequence.
__device__ void sort_groups(const GroupWork& work, SortedGroups& sorted) {
  const int t = threadIdx.x, index = blockIdx.x * kGroups + t;
  if (t < kGroupClasses) sorted.count[t] = 0;
  __syncthreads();
  if (t < kGroups && index < min(*work.count, work.capacity)) {
    const int kind = static_cast<int>(class_of(work.constants, work.placed[index].group));
    sorted.index[kind][atomicAdd(&sorted.count[kind], 1)] = index;
  }
  __syncthreads();
}

// The last block to come here counts the step: all others have read it by then.
__device__ void count_when_all_done(int64_t* counter) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  auto* const tickets = reinterpret_cast<unsigned long long*>(counter + 1);
  if (atomicAdd(tickets, 1ull) + 1 < gridDim.x) return;
  counter[0] += 1;
  counter[1] = 0;
}

template <class Stage>
__global__ void __launch_bounds__(kThreads)
    over_groups(const __grid_constant__ Stage stage) {
  __shared__ SortedGroups sorted;
  wait_for_previous();
  sort_groups(stage.op.work, sorted);
  int64_t sums[Stage::kSums > 0 ? Stage::kSums : 1] = {};
  const int lane = threadIdx.x & 31, warps = kThreads / 32;
  int turn = threadIdx.x / 32;  // of this warp, counted in chunks of 32 groups of one class
  const auto chunks = [&](GroupClass c) { return (sorted.count[static_cast<int>(c)] + 31) / 32; };
  const auto part = [&]<class Group>(GroupClass c, Group*) {
    const int kind = static_cast<int>(c);
    for (; turn < chunks(c); turn += warps) {
      const int at = turn * 32 + lane;
      if (at < sorted.count[kind]) run_group<Group>(stage, sorted.index[kind][at], sums);
    }
    turn -= chunks(c);
  };
  part(GroupClass::kWater, static_cast<RigidWater*>(nullptr));
  part(GroupClass::kStar, static_cast<StarGroup*>(nullptr));
  part(GroupClass::kOther, static_cast<SmallGroup*>(nullptr));
  release_next();
  __syncwarp();
#pragma unroll
  for (int k = 0; k < Stage::kSums; ++k)
    if (stage.target()) add_over_warp(stage.target() + k, sums[k]);
  if (stage.counter()) count_when_all_done(stage.counter());
}

template <class Stage>
void launch_stage(CudaContext& context, const Stage& stage) {
  launch(context,
         {decltype(stage.op)::kName, blocks_for(stage.op.work.capacity, kGroups), kThreads, 0, Start::kEarly},
         over_groups<Stage>, stage);
}

// ---- Stages --------------------------------------------------------------------------------

struct Plain {
  static constexpr Masses kMasses = Masses::kReal;
  static constexpr Noise kNoise = Noise::kNone;
  static constexpr int kSums = 0;
  __device__ bool clears() const { return false; }
  __device__ int64_t* target() const { return nullptr; }
  __device__ int64_t* counter() const { return nullptr; }
};

struct VerletStartStage : Plain {
  VerletStart op;
  static constexpr Stores kStores = Stores::kBoth;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    return verlet_start(op, g);
  }
};

struct VerletFinishStage : Plain {
  VerletFinish op;
  static constexpr Stores kStores = Stores::kVelocities;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    return verlet_finish(op, g);
  }
};

struct VerletStepStage : Plain {
  VerletStep op;
  static constexpr Stores kStores = Stores::kBoth;
  __device__ bool clears() const { return op.forces_after == ForcesAfter::kCleared; }
  __device__ int64_t* counter() const { return op.counter; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    return verlet_step(op, g);
  }
};

struct LangevinMiddleStage : Plain {
  LangevinMiddle op;
  __device__ bool clears() const { return op.forces_after == ForcesAfter::kCleared; }
  __device__ int64_t* counter() const { return op.counter; }
  static constexpr Noise kNoise = Noise::kThermostat;
  static constexpr Stores kStores = Stores::kBoth;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy + kHeat; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t* sums) const {
    const Outcome outcome = langevin_middle(op, g);
    sums[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  }
};

struct KineticEnergyStage : Plain {
  KineticEnergy op;
  static constexpr Stores kStores = Stores::kNothing;
  static constexpr int kSums = 1;
  __device__ int64_t* target() const { return op.energy + kKinetic; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t* sums) const {
    for (int i = 0; i < g.size(); ++i)
      sums[0] += to_fixed(0.5 * g.mass[i] * dot(g.velocity[i], g.velocity[i]), kEnergyScale);
    return {};
  }
};

struct SumMomentumStage : Plain {
  SumMomentum op;
  static constexpr Stores kStores = Stores::kNothing;
  static constexpr int kSums = 3;
  __device__ int64_t* target() const { return op.momentum; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t* sums) const {
    for (int i = 0; i < g.size(); ++i) {
      sums[0] += to_fixed(g.mass[i] * g.velocity[i].x, kForceScale);
      sums[1] += to_fixed(g.mass[i] * g.velocity[i].y, kForceScale);
      sums[2] += to_fixed(g.mass[i] * g.velocity[i].z, kForceScale);
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
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t* sums) const {
    const Outcome outcome = remove_momentum(op, g);
    sums[0] += to_fixed(outcome.heat, kEnergyScale);
    return outcome;
  }
};

struct DrawVelocitiesStage : Plain {
  DrawVelocities op;
  static constexpr Noise kNoise = Noise::kVelocities;
  static constexpr Stores kStores = Stores::kVelocities;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    return draw_velocities(op, g);
  }
};

struct DisplaceAlongForceStage : Plain {
  DisplaceAlongForce op;
  static constexpr Masses kMasses = Masses::kUnit;
  static constexpr Stores kStores = Stores::kPositions;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, int64_t*) const {
    for (int i = 0; i < g.size(); ++i)
      if (i < atoms_of(g)) g.position[i] = op.from[placed.slot + i];
    return displace_along_force(op, g);
  }
};

// The largest is found first, then the lowest atom that has it.
struct LargestForceStage : Plain {
  LargestForce op;
  static constexpr Masses kMasses = Masses::kUnit;
  static constexpr Stores kStores = Stores::kNothing;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    const Outcome outcome = project_force(op.work.constraint_tolerance, g);
    for (int i = 0; i < g.size(); ++i)
      if (i < atoms_of(g))
        atomicMax(reinterpret_cast<unsigned long long*>(op.largest2),
                  static_cast<unsigned long long>(__double_as_longlong(dot(g.force[i], g.force[i]))));
    return outcome;
  }
};
struct LargestForceAtomStage : Plain {
  LargestForce op;
  static constexpr Masses kMasses = Masses::kUnit;
  static constexpr Stores kStores = Stores::kNothing;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, int64_t*) const {
    const Outcome outcome = project_force(op.work.constraint_tolerance, g);
    for (int i = 0; i < g.size(); ++i)
      if (i < atoms_of(g) && __double_as_longlong(dot(g.force[i], g.force[i])) == *op.largest2)
        atomicMin(op.atom, op.work.slots.atom[placed.slot + i]);
    return outcome;
  }
};

struct SetStateStage : Plain {
  SetState op;
  static constexpr Stores kStores = Stores::kBoth;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup placed, int64_t*) const {
    for (int i = 0; i < g.size(); ++i) {
      if (i >= atoms_of(g)) continue;
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
