// SPDX-License-Identifier: Apache-2.0
// Stages of every step on a GPU with many groups: warps that fetch the next groups while they work on
// these.
//
// A tile is 32 groups in a row, a lane each. Their slots are one run of memory, which hardware copies
// to shared memory and back; a lane finds its group there without bank conflicts. A warp goes from
// tile to tile and never waits for another one. The price: where there are waters and stars among the
// 32, it goes through the arithmetic of both, one after the other. Warps are in different places of
// the code, which should be short therefore: loops over atoms that are not unrolled spare more time
// in fetching instructions than they take.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "device/cuda/bulk_copy.cuh"
#include "integrators/cuda_general_groups.cuh"

namespace quiltmd {

// ---- Tiles ---------------------------------------------------------------------------------

inline constexpr int kTileGroups = 32;
// Warps of a block, and blocks on a multiprocessor: with a third warp for each of its four parts,
// registers would be spilled, to memory that has no room left in its cache.
inline constexpr int kTileWarps = 2, kTileThreads = 32 * kTileWarps, kTileBlocks = 4;
// Slots of a tile in shared memory. Of larger groups fewer are taken at a time.
inline constexpr int kTileSlots = 4 * kTileGroups;

// Data that copies bring. Each arrives once or more in a tile, in rounds whose parities are bits.
enum Arriving { kState, kOtherState, kReference };
struct Rounds {
  uint32_t parities = 0;
  __device__ uint32_t next(int which) {
    const uint32_t parity = parities >> which & 1;
    parities ^= 1u << which;
    return parity;
  }
};

struct TileState {
  Vec3d position[kTileSlots], velocity[kTileSlots];
  int64_t force[3][kTileSlots];
  Float4 long_range[kTileSlots];
};
struct alignas(16) TileMemory {
  TileState state[2];  // of these groups and of the next
  Vec3d reference[kTileSlots];
  Vec3f noise[kTileSlots];
  Arrival arrivals[3];
  uint32_t code[kTileGroups];  // shapes of the next groups,
  int32_t atom[kTileGroups];   // and their first atoms
};

__device__ inline int own_lane() { return threadIdx.x & 31; }

// A lane's group. Slots up to the next group's count as its own: padding is in nobody else's run.
struct TileGroup {
  PlacedGroup placed;
  int end;
};

__device__ inline int groups_of_tile(int tile, int count) {
  return max(0, min(kTileGroups, count - tile * kTileGroups));
}

__device__ inline TileGroup tile_group(const GroupWork& work, int tile, int count) {
  const int index = tile * kTileGroups + own_lane();
  TileGroup own{};
  if (index < count) own.placed = work.placed[index];
  if (index + 1 < count) own.end = work.placed[index + 1].slot;
  if (tile == (count - 1) / kTileGroups) {  // of all groups the last has none after it
    if (index + 1 == count) {
      const int32_t* start = work.constants.group_start + own.placed.group;
      own.end = own.placed.slot + start[1] - start[0];
    }
    __syncwarp();  // keeps other tiles from waiting for what is read here
  }
  return own;
}

// Lanes [first, last) of a tile, whose slots have room in shared memory.
struct Piece {
  int first, last;
  int begin, end;  // slots
  __device__ bool has_lane() const { return own_lane() >= first && own_lane() < last; }
  // The copy of a run starts at an even slot and has an even number of them. Arrays of slots start on
  // 16 bytes and have whole clusters, so there is always one more to read.
  __device__ int copied_begin() const { return begin & ~1; }
  __device__ int copied_count() const { return (end - copied_begin() + 1) & ~1; }
};

// From lane `first` on, of a tile with groups in `here` lanes.
__device__ inline Piece piece_of(const TileGroup& own, int first, int here) {
  Piece piece{first, first, __shfl_sync(kAllLanes, own.placed.slot, first), 0};
  const int limit = piece.copied_begin() + kTileSlots, lane = own_lane();
  const bool fits = lane >= first && lane < here && own.end <= limit;
  piece.last += __popc(__ballot_sync(kAllLanes, fits));
  piece.end = __shfl_sync(kAllLanes, own.end, max(piece.last - 1, 0));
  return piece;
}

// Which tiles a warp has: by its number two, and then, since stars take longer, whichever is next. A warp
// knows one tile ahead.
struct TileOrder {
  int tiles, warps;
  int32_t* drawn;  // by all warps, 0 before and after the kernel; null: all tiles go by number

  __device__ int first() const { return threadIdx.x / 32 * gridDim.x + blockIdx.x; }
  __device__ bool draws() const { return drawn && tiles > 2 * warps; }
  // For one lane: that after the second or after one that was drawn. Each warp draws until there is
  // none. Of atomicAdd() the compiler would wait for the result at once.
  __device__ int after(int tile) const {
    if (!draws()) return tile + warps;
    if (tile >= tiles) return tile;
    int draw;
    asm volatile("atom.global.add.s32 %0, [%1], 1;" : "=r"(draw) : "l"(drawn) : "memory");
    return 2 * warps + draw;
  }
  __device__ void clear_after_last(int tile) const {
    if (draws() && tile == tiles + warps - 1) *drawn = 0;
  }
};

// ---- Copies --------------------------------------------------------------------------------

// Start to fetch what is looked up of a lane's group.
__device__ inline void fetch_lookups(const GroupWork& work, PlacedGroup placed,
                                     TileMemory& memory) {
  __pipeline_memcpy_async(&memory.code[own_lane()], work.constants.group_shape + placed.group, 4);
  __pipeline_memcpy_async(&memory.atom[own_lane()], work.slots.atom + placed.slot, 4);
}

// The functions below are for the lane that starts copies.
__device__ inline void fetch_state(const GroupWork& work, const Piece& piece, TileMemory& memory,
                                   int buffer) {
  const int begin = piece.copied_begin(), count = piece.copied_count();
  const size_t forces = sizeof(int64_t[3]) + (work.long_range_weight != 0 ? sizeof(Float4) : 0);
  TileState& to = memory.state[buffer];
  Arrival& here = memory.arrivals[buffer];
  here.expect(count * static_cast<int>(2 * sizeof(Vec3d) + forces));
  here.fetch(to.position, work.slots.position + begin, count);
  here.fetch(to.velocity, work.slots.velocity + begin, count);
}

__device__ inline void fetch_forces(const GroupWork& work, const Piece& piece, TileMemory& memory,
                                    int buffer) {
  const int begin = piece.copied_begin(), count = piece.copied_count();
  TileState& to = memory.state[buffer];
  Arrival& here = memory.arrivals[buffer];
  if (work.long_range_weight != 0) here.fetch(to.long_range, work.slots.long_range + begin, count);
#pragma unroll
  for (int d = 0; d < 3; ++d) here.fetch(to.force[d], work.slots.force[d] + begin, count);
}

// All of a piece, once nobody needs what was in the buffer.
__device__ inline void fetch_piece(const GroupWork& work, const Piece& piece, TileMemory& memory,
                                   int buffer) {
  wait_for_sent();
  fetch_state(work, piece, memory, buffer);
  fetch_forces(work, piece, memory, buffer);
}

__device__ inline void fetch_reference(const Slots& s, const Piece& piece, TileMemory& memory) {
  const int count = piece.copied_count();
  Arrival& here = memory.arrivals[kReference];
  here.expect(count * static_cast<int>(sizeof(Vec3d)));
  here.fetch(memory.reference, s.reference + piece.copied_begin(), count);
}

// View of copied data as if there were no others: slots count from the beginning of the copy.
__device__ inline Slots view_of(const Slots& s, const Piece& piece, TileMemory& memory,
                                TileState& state) {
  Slots view{};
  view.position = state.position;
  view.velocity = state.velocity;
  view.reference = memory.reference;
  view.local = s.local + piece.copied_begin();
  view.low = s.low + piece.copied_begin();
  for (int d = 0; d < 3; ++d) view.force[d] = state.force[d];
  view.long_range = state.long_range;
  return view;
}

// State to where it came from, and zeros to the forces: whole pairs of slots by copies, the first and
// the last slot by lanes where they are of a pair with another tile's.
template <class Stage>
__device__ void send_back(const Stage& stage, const Piece& piece, const TileState& state,
                          const int64_t* zeros) {
  const Slots& slots = stage.op.work.slots;
  const int begin = (piece.begin + 1) & ~1, end = piece.end & ~1, lane = own_lane();
  if (begin < end && starts_copies()) {
    const int at = begin - piece.copied_begin(), count = end - begin;
    send(slots.velocity + begin, state.velocity + at, count);
    if constexpr (kMoves<Stage>) send(slots.position + begin, state.position + at, count);
    if (stage.clears()) {
#pragma unroll
      for (int d = 0; d < 3; ++d) send(slots.force[d] + begin, zeros, count);
    }
  }
  const bool at_begin = lane < 3 && piece.begin < begin;
  const bool at_end = lane >= 3 && lane < 6 && end < piece.end;
  if (!at_begin && !at_end) return;
  const int d = lane % 3, slot = at_end ? end : piece.begin, at = slot - piece.copied_begin();
  slots.velocity[slot][d] = state.velocity[at][d];
  if constexpr (kMoves<Stage>) slots.position[slot][d] = state.position[at][d];
  if (stage.clears()) slots.force[d][slot] = 0;
}

// ---- A lane's group ------------------------------------------------------------------------

struct LaneGroup {
  PlacedGroup placed;  // slots count from the beginning of the copy
  ShapeCode code;
  int atoms;  // none where the group is neither a water nor a star, or not of the piece
  __device__ bool is(GroupClass c) const { return code.group_class() == c; }
};

// Number of atoms of a group; for a water, without reading its shape.
template <bool kOthers>
__device__ inline int atoms_of(const GroupWork& work, ShapeCode code) {
  if (code.group_class() == GroupClass::kWater) return 3;
  if (kOthers && code.group_class() == GroupClass::kGeneral) return 0;
  return work.constants.shapes[code.shape()].atoms;
}

template <class Stage>
__device__ void draw_noise(const Stage& stage, int64_t step, int first_atom, const LaneGroup& own,
                           Vec3f* noise) {
#pragma unroll 1
  for (int i = 0; i < own.atoms; ++i)
    noise[own.placed.slot + i] =
        gaussian3f(stage.op.seed, static_cast<uint64_t>(step),
                   static_cast<uint32_t>(first_atom + i), RandomStream::kThermostat);
}

__device__ inline Vec3d widened(Vec3f v) { return {v.x, v.y, v.z}; }

template <class Group, class Stage>
__device__ void move_group(const Stage& stage, const Slots& slots, const Vec3f* noise,
                           const StageUniforms& uniforms, const LaneGroup& own, Sums& sums) {
  const GroupWork& work = stage.op.work;
  Group g;
  load(work, slots, own.placed, own.code, g);
  if constexpr (Stage::kNoise != Noise::kNone) {
#pragma unroll
    for (int i = 0; i < Group::size(); ++i) {
      g.noise[i] = {0, 0, 0};
      if (i < g.atoms()) g.noise[i] = widened(noise[own.placed.slot + i]);
    }
  }
  const Outcome outcome = apply_stage(stage, uniforms, own.placed, g, sums);
  if (!outcome.converged) report_constraint(work, uniforms.step, own.placed);
  store(slots, own.placed.slot, g, kMoves<Stage>, kSpeeds<Stage>);
}

// Data that belong to positions of atoms and are needed only when atoms have moved.
struct PlaceData {
  Vec3d origin;
  float charge[kStarAtoms];
};

__device__ inline PlaceData place_data(const GroupWork& work, int index, int slot, int atoms) {
  PlaceData data{};
  if (atoms > 0) data.origin = work.origin[index];
#pragma unroll
  for (int i = 0; i < kStarAtoms; ++i)
    if (i < atoms) data.charge[i] = work.slots.local[slot + i].w;
  return data;
}

__device__ inline void note_positions(const GroupWork& work, const Slots& slots, int64_t step,
                                      const LaneGroup& own, const PlaceData& data) {
#pragma unroll 1
  for (int i = 0; i < own.atoms; ++i) {
    const int slot = own.placed.slot + i;
    const auto& [c0, c1, c2, c3] = data.charge;  // in registers, which have no index
    const float charge = i == 0 ? c0 : (i == 1 ? c1 : (i == 2 ? c2 : c3));
    const PlacedPosition at =
        placed_position(slots.position[slot], data.origin, slots.reference[slot], charge);
    slots.local[slot] = at.local;
    if (own.code.in_terms()) slots.low[slot] = at.low;
    check_displacement(work, step, at.moved2, own.placed, i);
  }
}

// Groups of a piece that are neither waters nor stars, four at a time. `index`: of the tile's first.
template <class Stage>
__device__ void run_general_groups(const Stage& stage, const Slots& slots,
                                   const StageUniforms& uniforms, const Piece& piece, int index,
                                   const LaneGroup& own, Sums& sums) {
  unsigned left = __ballot_sync(kAllLanes, piece.has_lane() && own.is(GroupClass::kGeneral));
  while (left) {
    int lane = -1;  // of the group that this lane works on
    for (int turn = 0; turn < 32 / kGroupLanes; ++turn) {
      if (own_lane() / kGroupLanes == turn) lane = __ffs(left) - 1;
      left &= left - 1;
    }
    const int from = max(lane, 0);
    const PlacedGroup placed{__shfl_sync(kAllLanes, own.placed.slot, from),
                             __shfl_sync(kAllLanes, own.placed.group, from)};
    const ShapeCode code{__shfl_sync(kAllLanes, own.code.bits, from)};
    if (lane >= 0) run_general_group(stage, slots, uniforms, placed, code, index + lane, sums);
    __syncwarp();
  }
}

// The groups of a piece through a stage, once their state is there, and back to where they came from.
// `index`: of the tile's first group.
template <bool kOthers, class Stage>
__device__ void move_piece(const Stage& stage, const StageUniforms& uniforms, const Piece& piece,
                           int index, const LaneGroup& own, const PlaceData& data,
                           TileMemory& memory, TileState& state, Rounds& rounds,
                           const int64_t* zeros, Sums& sums) {
  const GroupWork& work = stage.op.work;
  const Slots view = view_of(work.slots, piece, memory, state);
  if (own.atoms > 0 && own.is(GroupClass::kWater))
    move_group<ShapedWater>(stage, view, memory.noise, uniforms, own, sums);
  __syncwarp();
  if (own.atoms > 0 && own.is(GroupClass::kStar))
    move_group<ShapedStar>(stage, view, memory.noise, uniforms, own, sums);
  __syncwarp();
  if constexpr (kMoves<Stage>) {
    memory.arrivals[kReference].wait(rounds.next(kReference));
    note_positions(work, view, uniforms.step, own, data);
  }
  if constexpr (kOthers) run_general_groups(stage, view, uniforms, piece, index, own, sums);
  order_before_copies();
  __syncwarp();
  send_back(stage, piece, state, zeros);
  __syncwarp();
}

// ---- The loop ------------------------------------------------------------------------------

extern __shared__ float4 tile_memory[];

// Data that only stages and rebuilds write are read while the last kernel of the forces still runs; see
// run_staged(). kOthers: there are groups other than waters and stars.
template <bool kOthers, class Stage>
__device__ void run_tiles(const Stage& stage, const StageUniforms& uniforms, const int64_t* zeros,
                          int count, const TileOrder& order, Sums& sums) {
  TileMemory& memory = reinterpret_cast<TileMemory*>(tile_memory)[threadIdx.x / 32];
  const GroupWork& work = stage.op.work;
  const int lane = own_lane();
  int tile = order.first();
  TileGroup group = tile_group(work, tile, count);
  if (lane < groups_of_tile(tile, count)) fetch_lookups(work, group.placed, memory);
  __pipeline_commit();
  Piece piece = piece_of(group, 0, groups_of_tile(tile, count));
  if (starts_copies()) {
    for (Arrival& here : memory.arrivals) here.set_up();
    order_before_copies();
    fetch_state(work, piece, memory, 0);
  }
  __syncwarp();

  bool waits = true;  // for the forces, once
  Rounds rounds;
  int drawn = tile + order.warps, next_tile = 0;
  for (int buffer = 0; tile < order.tiles; tile = next_tile, buffer ^= 1) {
    next_tile = __shfl_sync(kAllLanes, drawn, 0);
    if (lane == 0) order.clear_after_last(next_tile);
    const int here = groups_of_tile(tile, count), next_here = groups_of_tile(next_tile, count);
    __pipeline_wait_prior(0);
    LaneGroup own{group.placed, {~0u}, 0};
    if (lane < here) own.code = {memory.code[lane]};
    const int first_atom = memory.atom[lane];
    const TileGroup next_group = tile_group(work, next_tile, count);
    for (;;) {
      own.placed.slot = group.placed.slot - piece.copied_begin();
      own.atoms = piece.has_lane() ? atoms_of<kOthers>(work, own.code) : 0;
      PlaceData data;
      if constexpr (kMoves<Stage>) {
        data = place_data(work, tile * kTileGroups + lane, group.placed.slot, own.atoms);
        if (starts_copies()) fetch_reference(work.slots, piece, memory);
      }
      if constexpr (Stage::kNoise == Noise::kThermostat)
        draw_noise(stage, uniforms.step, first_atom, own, memory.noise);
      if (waits) {
        wait_for_forces(stage);
        if (starts_copies()) fetch_forces(work, piece, memory, 0);
        waits = false;
      }
      memory.arrivals[buffer].wait(rounds.next(buffer));
      __syncwarp();
      if (piece.first == 0 && next_here > 0) {  // of the next tile what has room
        if (lane < next_here) fetch_lookups(work, next_group.placed, memory);
        const Piece next = piece_of(next_group, 0, next_here);
        if (starts_copies()) fetch_piece(work, next, memory, buffer ^ 1);
      } else if (Stage::kForcesFollow && next_here == 0) {
        release_next();
      }
      __pipeline_commit();
      if (lane == 0 && piece.first == 0) drawn = order.after(next_tile);
      move_piece<kOthers>(stage, uniforms, piece, tile * kTileGroups, own, data, memory,
                          memory.state[buffer], rounds, zeros, sums);
      if (piece.last == here) break;
      piece = piece_of(group, piece.last, here);
      if (starts_copies()) fetch_piece(work, piece, memory, buffer);
    }
    group = next_group;
    piece = piece_of(group, 0, next_here);
  }
  if (starts_copies()) wait_for_sent();
}

template <bool kOthers, class Stage>
__global__ void __launch_bounds__(kTileThreads, kTileBlocks)
    over_tiles(const __grid_constant__ Stage stage, LaunchTimes* times) {
  const Timed timed(times);
#if __CUDA_ARCH__ >= 900
  __shared__ StageUniforms uniforms;
  __shared__ alignas(16) int64_t zeros[kTileSlots];
  const GroupWork& work = stage.op.work;
  const int count = min(*work.count, work.capacity);
  copy_uniforms(work, threadIdx.x, uniforms);
  for (int k = threadIdx.x; k < kTileSlots; k += kTileThreads) zeros[k] = 0;
  order_before_copies();
  __syncthreads();
  const TileOrder order{(count + kTileGroups - 1) / kTileGroups,
                        static_cast<int>(gridDim.x) * kTileWarps,
                        stage.counter() ? drawn_of(stage.counter()) : nullptr};
  Sums sums{};
  if (order.first() < order.tiles) {
    run_tiles<kOthers>(stage, uniforms, zeros, count, order, sums);
  } else {
    wait_for_forces(stage);
  }
  if constexpr (Stage::kSums != 0) add_up<Stage, kTileThreads>(stage, sums);
#endif
}

}  // namespace quiltmd
