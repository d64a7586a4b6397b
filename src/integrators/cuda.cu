// SPDX-License-Identifier: Apache-2.0
// Stages of a step on a GPU: one thread a group, state in double precision. Everything that an atom
// needs in a step passes through the multiprocessor once: forces are summed, the group moves, and
// what the force kernels read is written.
//
// A thread that read its group's three atoms from global memory would touch a sector for every
// number. The slots of a block's groups are one run of memory, so stages of every step copy that run
// to shared memory and back in whole lines; a thread finds its group there without bank conflicts. A
// thread an atom would need no copies but repeat the constraints of a water three times, in the
// double-precision units.
#include <cuda_pipeline_primitives.h>

#include <type_traits>

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
//   kStaged: slots pass through shared memory; kBlocks: of a multiprocessor, which limits registers
//   target(): where the sums go (null: nowhere); seed(), where there is noise
//   clears(): whether to clear the forces that were read
//   counter(): null, or {step, 0}, to count the step when all groups are done

template <class Group>
__device__ void draw_noise(uint64_t seed, uint64_t step, RandomStream stream, int atom, Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i)
    if (i < g.size()) g.noise[i] = gaussian3(seed, step, static_cast<uint32_t>(atom + i), stream);
}

template <class Group>
__device__ void store_velocities(const Slots& s, int slot, const Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i)
    if (i < atoms_of(g)) s.velocity[slot + i] = g.velocity[i];
}

template <class Group>
__device__ void store_positions(const GroupWork& work, const Slots& slots, PlacedGroup placed,
                                ShapeCode code, Vec3d origin, const Group& g) {
#pragma unroll
  for (int i = 0; i < Group::kCapacity; ++i) {
    if (i >= atoms_of(g)) break;
    const int slot = placed.slot + i;
    const PlacedPosition at =
        placed_position(g.position[i], origin, slots.reference[slot], slots.local[slot].w);
    slots.position[slot] = g.position[i];
    slots.local[slot] = at.local;
    if (code.in_terms()) slots.low[slot] = at.low;
    judge(work, at.moved2, work.constants.group_start[placed.group] + i);
  }
}

// ---- Slots in shared memory ----------------------------------------------------------------

// A run of slots, and whether a block has a copy of them.
struct SlotRun {
  int begin, count;
  bool staged;
};

// Patches end in up to seven empty slots, so that a run may be longer than its groups need; a block
// with too long a one works in global memory.
constexpr int kStagedSlots = 4 * kGroups;
struct StagedSlots {
  Float4 local[kStagedSlots], long_range[kStagedSlots];
  Vec3d position[kStagedSlots], velocity[kStagedSlots], reference[kStagedSlots];
  int64_t force[3][kStagedSlots];
};

template <class T>
__device__ void fetch(T* to, const T* from, int count) {
  constexpr int kBytes = sizeof(T) % 16 == 0 ? 16 : 8;
  for (int i = threadIdx.x; i < count * static_cast<int>(sizeof(T)) / kBytes; i += kThreads)
    __pipeline_memcpy_async(reinterpret_cast<char*>(to) + i * kBytes,
                            reinterpret_cast<const char*>(from) + i * kBytes, kBytes);
}
template <class T>
__device__ void put_back(T* to, const T* from, int count) {
  using Word = std::conditional_t<sizeof(T) % 16 == 0, float4, double>;
  for (int i = threadIdx.x; i < count * static_cast<int>(sizeof(T) / sizeof(Word)); i += kThreads)
    reinterpret_cast<Word*>(to)[i] = reinterpret_cast<const Word*>(from)[i];
}

// Start to fetch a run of slots. The view of them is as if they lay in global memory.
template <class Stage>
__device__ Slots fetch_slots(const Slots& s, SlotRun run, StagedSlots& staged) {
  if (!run.staged) return s;
  fetch(staged.position, s.position + run.begin, run.count);
  fetch(staged.velocity, s.velocity + run.begin, run.count);
  fetch(staged.long_range, s.long_range + run.begin, run.count);
  for (int d = 0; d < 3; ++d) fetch(staged.force[d], s.force[d] + run.begin, run.count);
  if constexpr (Stage::kStores == Stores::kBoth) {
    fetch(staged.reference, s.reference + run.begin, run.count);
    fetch(staged.local, s.local + run.begin, run.count);
  }
  Slots view = s;
  view.position = staged.position - run.begin;
  view.velocity = staged.velocity - run.begin;
  view.reference = staged.reference - run.begin;
  view.local = staged.local - run.begin;
  view.long_range = staged.long_range - run.begin;
  for (int d = 0; d < 3; ++d) view.force[d] = staged.force[d] - run.begin;
  return view;
}

template <class Stage>
__device__ void store_slots(const Slots& s, SlotRun run, const StagedSlots& staged) {
  if (!run.staged) return;
  __syncthreads();
  put_back(s.velocity + run.begin, staged.velocity, run.count);
  if constexpr (Stage::kStores == Stores::kBoth) {
    put_back(s.position + run.begin, staged.position, run.count);
    put_back(s.local + run.begin, staged.local, run.count);
  }
}

// Forces of a run of slots to zero, once all threads have read them.
__device__ void clear_forces_of(const Slots& s, SlotRun run) {
  for (int64_t* component : s.force)
    for (int i = threadIdx.x; i < run.count; i += kThreads) component[run.begin + i] = 0;
}

// ---- Groups of a block ---------------------------------------------------------------------

struct BlockGroups {
  PlacedGroup placed[kGroups];
  ShapeCode code[kGroups];
  int begin, end;                          // slots
  int count[kGroups / 32][kGroupClasses];  // of each warp that looked at 32 groups
  int place[kGroupClasses][kGroups];       // by class: which of the block's groups

  __device__ int total(int kind) const {
    int sum = 0;
    for (const auto& of_warp : count) sum += of_warp[kind];
    return sum;
  }
};

// Looks up the groups of the block; returns how many. Ends with a barrier.
__device__ int find_groups(const GroupWork& work, BlockGroups& groups) {
  const int t = threadIdx.x, first = blockIdx.x * kGroups;
  const int here = min(kGroups, max(0, min(*work.count, work.capacity) - first));
  if (here == 0 && t == 0) groups.begin = groups.end = 0;
  if (t < here) {
    const PlacedGroup placed = work.placed[first + t];
    groups.placed[t] = placed;
    groups.code[t] = {work.constants.group_shape[placed.group]};
    if (t == 0) groups.begin = placed.slot;
    if (t == here - 1) {
      const int32_t* start = work.constants.group_start + placed.group;
      groups.end = placed.slot + start[1] - start[0];
    }
  }
  __syncthreads();
  return here;
}

// Sorts the block's groups by class, keeping their order. Ends with a barrier.
__device__ void sort_groups(BlockGroups& groups, int here) {
  const int t = threadIdx.x, warp = t / 32;
  const unsigned before = (1u << (t & 31)) - 1;
  const int own = t < here ? static_cast<int>(groups.code[t].group_class()) : -1;
  unsigned members[kGroupClasses];
#pragma unroll
  for (int kind = 0; kind < kGroupClasses; ++kind) {
    members[kind] = __ballot_sync(0xffffffffu, own == kind);
    if (t < kGroups && (t & 31) == 0) groups.count[warp][kind] = __popc(members[kind]);
  }
  __syncthreads();
#pragma unroll
  for (int kind = 0; kind < kGroupClasses; ++kind) {
    if (own != kind) continue;
    int at = __popc(members[kind] & before);
    for (int w = 0; w < warp; ++w) at += groups.count[w][kind];
    groups.place[kind][at] = t;
  }
  __syncthreads();
}

// One group through a stage.
template <class Group, class Stage>
__device__ void run_group(const Stage& stage, const Slots& slots, const BlockGroups& groups, int at,
                          int64_t* sums) {
  const GroupWork& work = stage.op.work;
  const PlacedGroup placed = groups.placed[at];
  const ShapeCode code = groups.code[at];
  constexpr bool moves = Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kPositions;
  Group g;
  Vec3d origin{};
  if constexpr (moves) origin = work.origin[blockIdx.x * kGroups + at];
  load(work, slots, placed, code, Stage::kMasses, g);
  const int first = work.constants.group_start[placed.group];
  if constexpr (Stage::kNoise != Noise::kNone) {
    const bool thermostat = Stage::kNoise == Noise::kThermostat;
    draw_noise(stage.op.seed, thermostat ? static_cast<uint64_t>(*work.step) : 0,
               thermostat ? RandomStream::kThermostat : RandomStream::kVelocities, first, g);
  }
  const Outcome outcome = stage.apply(g, placed, sums);
  if (!outcome.converged)
    report(&work.faults->constraint_step, &work.faults->constraint_atom, *work.step, first);
  if constexpr (Stage::kStores == Stores::kBoth || Stage::kStores == Stores::kVelocities)
    store_velocities(slots, placed.slot, g);
  if constexpr (moves) store_positions(work, slots, placed, code, origin, g);
}

// All groups of the block; a warp takes 32 of one class at a time.
template <class Stage>
__device__ void run_groups(const Stage& stage, const Slots& slots, const BlockGroups& groups,
                           int64_t* sums) {
  const int lane = threadIdx.x & 31, warps = kThreads / 32;
  int turn = threadIdx.x / 32;
  const auto part = [&]<class Group>(GroupClass c, Group*) {
    const int kind = static_cast<int>(c), count = groups.total(kind), chunks = (count + 31) / 32;
    for (; turn < chunks; turn += warps) {
      const int at = turn * 32 + lane;
      if (at < count) run_group<Group>(stage, slots, groups, groups.place[kind][at], sums);
    }
    turn -= chunks;
  };
  part(GroupClass::kWater, static_cast<ShapedWater*>(nullptr));
  part(GroupClass::kStar, static_cast<StarGroup*>(nullptr));
  part(GroupClass::kOther, static_cast<SmallGroup*>(nullptr));
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

extern __shared__ float4 staged_memory[];

template <class Stage>
__global__ void __launch_bounds__(kThreads, Stage::kBlocks)
    over_groups(const __grid_constant__ Stage stage) {
  __shared__ BlockGroups groups;
  StagedSlots& staged = *reinterpret_cast<StagedSlots*>(staged_memory);
  const Slots& all = stage.op.work.slots;
  wait_for_previous();
  const int here = find_groups(stage.op.work, groups);
  const int span = groups.end - groups.begin;
  const SlotRun run{groups.begin, span, Stage::kStaged && span <= kStagedSlots};
  const Slots slots = fetch_slots<Stage>(all, run, staged);
  __pipeline_commit();
  sort_groups(groups, here);
  __pipeline_wait_prior(0);
  __syncthreads();
  if (run.staged && stage.clears()) clear_forces_of(all, run);

  int64_t sums[Stage::kSums > 0 ? Stage::kSums : 1] = {};
  run_groups(stage, slots, groups, sums);
  release_next();
  store_slots<Stage>(all, run, staged);
  if (!run.staged && stage.clears()) {
    __syncthreads();
    clear_forces_of(all, run);
  }
  __syncwarp();
#pragma unroll
  for (int k = 0; k < Stage::kSums; ++k)
    if (stage.target()) add_over_warp(stage.target() + k, sums[k]);
  if (stage.counter()) count_when_all_done(stage.counter());
}

template <class Stage>
void launch_stage(CudaContext& context, const Stage& stage) {
  launch(context,
         {decltype(stage.op)::kName, blocks_for(stage.op.work.capacity, kGroups), kThreads,
          Stage::kStaged ? sizeof(StagedSlots) : 0, Start::kEarly},
         over_groups<Stage>, stage);
}

// ---- Stages --------------------------------------------------------------------------------

struct Plain {
  static constexpr Masses kMasses = Masses::kReal;
  static constexpr Noise kNoise = Noise::kNone;
  static constexpr int kSums = 0;
  static constexpr bool kStaged = false;
  static constexpr int kBlocks = 1;
  __device__ bool clears() const { return false; }
  __device__ int64_t* target() const { return nullptr; }
  __device__ int64_t* counter() const { return nullptr; }
};

struct EveryStep : Plain {
  static constexpr bool kStaged = true;
  static constexpr int kBlocks = 5;
};

struct VerletStartStage : EveryStep {
  VerletStart op;
  static constexpr Stores kStores = Stores::kBoth;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    return verlet_start(op, g);
  }
};

struct VerletFinishStage : EveryStep {
  VerletFinish op;
  static constexpr Stores kStores = Stores::kVelocities;
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
    return verlet_finish(op, g);
  }
};

struct VerletStepStage : EveryStep {
  VerletStep op;
  static constexpr Stores kStores = Stores::kBoth;
  __device__ bool clears() const { return op.forces_after == ForcesAfter::kCleared; }
  __device__ int64_t* counter() const { return op.counter; }
  template <class Group>
  __device__ Outcome apply(Group& g, PlacedGroup, int64_t*) const {
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
