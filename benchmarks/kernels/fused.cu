// SPDX-License-Identifier: Apache-2.0
// Probes of kernels of a step in one (benchmarks/notes/work-queue.md): planes, lines and planes back,
// whose blocks meet by a counter or as a cluster; gathering, integration and spreading, block by block.
//
//   python3 benchmarks/kernels/build.py fused && build/kernels/fused DUMP...
//
// Both are checked against the kernels that they replace (the same bits), timed alone and in loops of
// the kernels of a step without bonded terms.
#include "fused_mesh.cuh"
#define Piece        StagePiece  // names that the mesh has, too
#define kThreads     kStageThreads
#define kTileThreads kStageTileThreads
#include "integrators/cuda.cu"
#undef Piece
#undef kThreads
#undef kTileThreads
#include "computes/nonbonded/pair_memory.h"
#include "workshop.h"

namespace quiltmd {
namespace {

// ---- Gathering, integration, spreading ------------------------------------------------------

// A block's groups follow each other, so they are in one patch or two; the block has a brick of the
// potential and one of the charge grid for each.
constexpr int kBlockBricks = 2;

struct BlockPatches {
  mesh::Piece read[kBlockBricks], written[kBlockBricks];
  int first;
  int of_group[kGroups];
};

// The brick of a patch, of which nothing is reached yet.
__device__ void find_brick(const PlacedPatch& patch, const mesh::Bricks& b, const BoxOnMesh* box,
                           int d, mesh::Piece& found) {
  const mesh::Bricks::Axis& axis = b.axis[d];
  const int cell = patch.cell[d];
  const int twice = axis.points * (2 * cell + 1), base = axis.by_cells(twice / 2);
  found.base[d] = base;
  const float rest = static_cast<float>(twice - 2 * base * axis.cells) * axis.half_cell;
  const Vec3f per_nm = box->per_nm[d];
  found.axis[d] = {per_nm.x, per_nm.y, per_nm.z, rest};
  found.origin[d] = axis.by_cells(axis.points * cell) - axis.before;
  found.low[d] = axis.size;
  found.high[d] = 0;
}

__device__ mesh::Piece far_piece(const GatherForces& op, const mesh::Bricks& b, int patch) {
  mesh::Piece piece;
  for (int d = 0; d < 3; ++d) find_brick(op.patches[patch], b, op.box, d, piece);
  return piece;
}

// Ends with a barrier. Only rebuilds write what it reads.
__device__ void find_patches(const GroupWork& work, const GatherForces& op, const mesh::Bricks& b,
                             const LaneGroups& groups, int here, BlockPatches& patches) {
  const int t = threadIdx.x, brick = t / 32, d = t % 32;
  const auto patch_of = [&](int group) {
    return work.slots.patch[groups.placed[group].slot / kClusterSize];
  };
  if (here > 0) {
    const int first = patch_of(0);
    if (t == 0) patches.first = first;
    if (t < here) patches.of_group[t] = patch_of(t) - first;
    if (brick < kBlockBricks && d < 3) {
      const PlacedPatch patch = op.patches[min(first + brick, op.patch_count - 1)];
      find_brick(patch, b, op.box, d, patches.read[brick]);
      find_brick(patch, b, op.box, d, patches.written[brick]);
    }
  }
  __syncthreads();
}

// f(place in the brick, place on the grid), as mesh::over_points() for a block of any size.
template <class Brick, class Grid, class F>
__device__ void over_brick(const mesh::Bricks& b, const mesh::Piece& piece, Brick* brick,
                           Grid* grid, F f) {
  const int nx = b.axis[0].points, ny = b.axis[1].points, nz = b.axis[2].points;
  const int rows = piece.high[1] - piece.low[1], width = piece.high[2] - piece.low[2];
  const int64_t plane = static_cast<int64_t>(ny) * nz;
  if (rows <= 0 || width <= 0) return;
  const float inverse = __fdividef(1.0f, static_cast<float>(width));
  for (int i = threadIdx.x; i < rows * width; i += static_cast<int>(blockDim.x)) {
    const int row = static_cast<int>((static_cast<float>(i) + 0.5f) * inverse);
    const int y = piece.low[1] + row, z = piece.low[2] + (i - row * width);
    Grid* const line = grid + (mesh::wrapped(piece.origin[1] + y, ny) * nz +
                               mesh::wrapped(piece.origin[2] + z, nz));
#pragma unroll 4
    for (int x = piece.low[0]; x < piece.high[0]; ++x)
      f(brick + (x * b.plane + y * b.pitch + z),
        line + mesh::wrapped(piece.origin[0] + x, nx) * plane);
  }
}

struct FusedStep {
  GatherForces gather;
  SpreadCharges spread;
  mesh::Bricks bricks;
};

// What a lane knows of its atom.
struct MeshAtom {
  Float4 local;
  Vec3f force;  // of the long-range sum
  int group;    // of the block
  bool stores;
};

// Atoms outside their brick, or in a third patch.
template <int Order>
__device__ __noinline__ Vec3f gathered_far(const FusedStep& op, int patch, Float4 local) {
  const mesh::Piece piece = far_piece(op.gather, op.bricks, patch);
  const mesh::Place<Order> place(op.bricks, piece, local);
  return to_cartesian(piece, gradient_outside<Order>(op.gather, place.absolute(piece), place.t));
}
template <int Order>
__device__ __noinline__ void spread_far(const FusedStep& op, int patch, Float4 local) {
  const mesh::Piece piece = far_piece(op.gather, op.bricks, patch);
  const mesh::Place<Order> place(op.bricks, piece, local);
  spread_outside<Order>(op.spread, place.absolute(piece), place.t, local.w);
}

template <int Order>
__device__ Vec3f gathered(const FusedStep& op, const BlockPatches& patches, const MeshAtom& atom) {
  const mesh::Bricks& b = op.bricks;
  const int n = patches.of_group[atom.group];
  if (n < kBlockBricks) {
    const mesh::Place<Order> place(b, patches.read[n], atom.local);
    const float* const at = mesh::brick_memory<float>() + n * b.words() + place.offset(b);
    if (place.inside) {
      Footprint<Order> footprint(op.gather.window, place.t);
      const Vec3f gradient = footprint.template gradient<Order>(
          [&](int i, int j, int k) { return at[i * b.plane + j * b.pitch + k]; });
      return -atom.local.w * to_cartesian(patches.read[n], gradient);
    }
  }
  return -atom.local.w * gathered_far<Order>(op, patches.first + n, atom.local);
}

template <int Order>
__device__ void widen_by(const mesh::Bricks& b, mesh::Piece (&pieces)[kBlockBricks],
                         const BlockPatches& patches, const MeshAtom& atom) {
  const int n = patches.of_group[atom.group];
  if (n >= kBlockBricks) return;
  const mesh::Place<Order> place(b, pieces[n], atom.local);
  if (place.inside) mesh::widen<Order>(pieces[n], place.point);
}

template <int Order>
__device__ void spread_moved(const FusedStep& op, BlockPatches& patches, const MeshAtom& atom) {
  const mesh::Bricks& b = op.bricks;
  const int n = patches.of_group[atom.group];
  if (n < kBlockBricks) {
    const mesh::Place<Order> place(b, patches.written[n], atom.local);
    if (place.inside) {
      mesh::widen<Order>(patches.written[n], place.point);
      int* const at = mesh::brick_memory<int>() + (kBlockBricks + n) * b.words() + place.offset(b);
      return share_out<Order, Order>(op.spread.window, place.t, atom.local.w,
                                     [&](int i, int j, int k, int value) {
                                       atomicAdd(at + i * b.plane + j * b.pitch + k, value);
                                     });
    }
  }
  spread_far<Order>(op, patches.first + n, atom.local);
}

// All threads of a block together.
__device__ __forceinline__ void load_potential(const FusedStep& op, const BlockPatches& patches) {
  for (int n = 0; n < kBlockBricks; ++n)
    over_brick(op.bricks, patches.read[n], mesh::brick_memory<float>() + n * op.bricks.words(),
               op.gather.potential, [](float* to, const float* from) {
                 __pipeline_memcpy_async(to, from, sizeof(float));
               });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

// As run_lanes(), with the mesh before and after.
template <class Group, int Order, class Stage>
__device__ void run_mesh_lanes(const Stage& stage, const FusedStep& op, const LaneGroups& groups,
                               GroupClass c, int first, BlockPatches& patches, Sums& sums) {
  const GroupWork& work = stage.op.work;
  const Slots& slots = work.slots;
  const int kind = static_cast<int>(c), last = groups.total(kind) - 1;
  const int index = first + (threadIdx.x & 31) / kLanes, at = groups.place[kind][min(index, last)];
  const PlacedGroup placed = groups.placed[at];
  const ShapeCode code = groups.code[at];
  const GroupShape& shape = work.constants.shapes[code.shape()];
  const int taken = groups.atoms[at], place = threadIdx.x % kLanes;
  const int i = min(place, taken - 1), slot = placed.slot + i;
  const bool exists = place < taken, stores = exists && index <= last;
  MeshAtom atom{slots.local[slot], {0, 0, 0}, at, stores};
  Group g;
  g.place = place;
  g.position[0] = exists ? slots.position[slot] : Vec3d{0, 0, 0};
  g.velocity[0] = exists ? slots.velocity[slot] : Vec3d{0, 0, 0};
  g.mass[0] = shape.mass[place];
  g.inverse_mass[0] = shape.inverse_mass[place];
  g.root = shape.root_inverse_mass[place];
  const Vec3d origin = work.origin[blockIdx.x * kGroups + at], reference = slots.reference[slot];
  const Vec3d noise = noise_of(stage, groups.step, groups.first_atom[at] + i);
  g.noise[0] = exists ? noise : Vec3d{0, 0, 0};
  g.load_shape(shape);
  if (stores) widen_by<Order>(op.bricks, patches.read, patches, atom);
  __syncthreads();

  wait_for_forces(stage);
  release_next();
  const Vec3d near{from_fixed(slots.force[0][slot], kForceScale),
                   from_fixed(slots.force[1][slot], kForceScale),
                   from_fixed(slots.force[2][slot], kForceScale)};
  load_potential(op, patches);
  if (stores) {
    atom.force = gathered<Order>(op, patches, atom);
    for (int64_t* component : slots.force) component[slot] = 0;
  }
  const float weight = work.long_range_weight;
  const Vec3d force{near.x + weight * atom.force.x, near.y + weight * atom.force.y,
                    near.z + weight * atom.force.z};
  g.force[0] = exists ? force : Vec3d{0, 0, 0};
  Sums of_lane{};
  const Outcome outcome = apply_stage(stage, groups, placed, g, of_lane);
  if (stores) {
    slots.velocity[slot] = g.velocity[0];
    const PlacedPosition to = placed_position(g.position[0], origin, reference, atom.local.w);
    slots.position[slot] = g.position[0];
    slots.local[slot] = to.local;
    if (code.in_terms()) slots.low[slot] = to.low;
    check_displacement(work, groups.step, to.moved2, placed, i);
    if (!outcome.converged && place == 0) report_constraint(work, groups.step, placed);
    atom.local = to.local;
    spread_moved<Order>(op, patches, atom);
  }
  double heat = 0;
#pragma unroll
  for (int k = 0; k < kLanes; ++k) heat += of_place(exists ? outcome.heat : 0.0, k);
  if (stores && place == 0) sums.value[0] += to_fixed(heat, kEnergyScale);
}

// A warp without groups: its part of all that a block does together.
template <class Stage>
__device__ void follow(const Stage& stage, const FusedStep& op, BlockPatches& patches) {
  __syncthreads();
  wait_for_forces(stage);
  load_potential(op, patches);
}

template <class Stage, int Order>
__global__ void __launch_bounds__(kLaneThreads, 1)
    fused_step(const __grid_constant__ Stage stage, const __grid_constant__ FusedStep op,
               LaunchTimes* times) {
  const Timed timed(times);
  __shared__ LaneGroups groups;
  __shared__ BlockPatches patches;
  const mesh::Bricks& b = op.bricks;
  int* const charges = mesh::brick_memory<int>() + kBlockBricks * b.words();
#pragma unroll 4
  for (int i = threadIdx.x; i < kBlockBricks * b.words() / 4; i += kLaneThreads)
    reinterpret_cast<float4*>(charges)[i] = {0, 0, 0, 0};
  find_lane_groups(stage.op.work, groups);
  const int left =
      min(*stage.op.work.count, stage.op.work.capacity) - static_cast<int>(blockIdx.x) * kGroups;
  const int here = min(kGroups, max(0, left));
  find_patches(stage.op.work, op.gather, b, groups, here, patches);
  const auto warps = [&](GroupClass c) {
    return (groups.total(static_cast<int>(c)) + kGroupsPerWarp - 1) / kGroupsPerWarp;
  };
  const int waters = warps(GroupClass::kWater), stars = warps(GroupClass::kStar);
  const int warp = threadIdx.x / 32, first = warp * kGroupsPerWarp;
  Sums sums{};
  if (here == 0) {
    wait_for_forces(stage);
  } else if (warp < waters) {
    run_mesh_lanes<LaneWater, Order>(stage, op, groups, GroupClass::kWater, first, patches, sums);
  } else if (warp < waters + stars) {
    run_mesh_lanes<LaneStar, Order>(stage, op, groups, GroupClass::kStar,
                                    first - waters * kGroupsPerWarp, patches, sums);
  } else {
    follow(stage, op, patches);
  }
  __syncthreads();
  if (here > 0)
    for (int n = 0; n < kBlockBricks; ++n)
      over_brick(b, patches.written[n], charges + n * b.words(), op.spread.charges,
                 [](const int* at, int* point) {
                   if (*at) atomicAdd(point, *at);
                 });
  add_up<Stage, kLaneThreads>(stage, sums);
}

void launch_fused_step(const MeshMemory& m, const LangevinMiddle& move, CudaContext& context) {
  using Stage = LangevinStage<LangevinMiddle>;
  constexpr int kOwn = 8192;  // what the kernel declares itself, bytes
  const mesh::Bricks b(m.grid, 1, (context.shared_memory - kOwn) / 4 / (2 * kBlockBricks));
  const FusedStep op{m.gather_forces(), m.spread_charges(), b};
  const LaunchShape shape{"fused_step", blocks_for(move.work.capacity, kGroups), kLaneThreads,
                          2 * kBlockBricks * sizeof(int) * static_cast<size_t>(b.words()),
                          Start::kEarly};
  if (m.grid.order != 4 && m.grid.order != 5) throw Error("this probe knows orders 4 and 5");
  launch(context, shape, m.grid.order == 4 ? fused_step<Stage, 4> : fused_step<Stage, 5>,
         Stage{{}, move}, op);
}

}  // namespace
}  // namespace quiltmd

// ---- Checks and times -----------------------------------------------------------------------

namespace quiltmd {
namespace {

using namespace workshop;

constexpr FusedShape kMeshShapes[] = {
    {Meeting::kCounter, 84, 256, 0}, {Meeting::kCounter, 126, 256, 8},
    {Meeting::kCluster, 8, 512, 0},  {Meeting::kCluster, 16, 256, 0},
    {Meeting::kCluster, 16, 512, 0},
};

// A shape for a grid, with tiles that give each block one where nothing else is said.
FusedShape fitted(FusedShape shape, const PmeGrid& grid) {
  const int entries = grid.nz / 2 + 1;
  if (shape.width == 0) shape.width = shape.blocks == 84 ? (entries + 1) / 2 : entries;
  return shape;
}

struct Loop {
  Bench& b;
  CudaDevice& device;
  unsigned* counter;
  CudaContext& context = device.context(Stream::kMain);
  const MeshMemory& m = b.charges();

  // Steps of no length, so that atoms stay where they are however often it is called.
  LangevinMiddle move(double timestep) const {
    LangevinMiddle op{b.memory.group_work(b.list_age()),
                      timestep,
                      99,
                      b.slots.energy.data(),
                      ForcesAfter::kCleared,
                      nullptr};
    return op;
  }
  void transforms() const {
    device.launch(m.transform_planes(0, m.grid.nx));
    device.launch(m.convolve_lines(0, m.grid.ny, Energies::kSkip));
    device.launch(m.inverse_planes(0, m.grid.nx));
  }
  void ends(double timestep) const {
    device.launch(m.gather_forces());
    device.launch(move(timestep));
    device.launch(m.spread_charges());
  }
};

bool check_mesh(const Loop& l, const FusedShape& shape) {
  l.b.clear_sums();
  l.device.fill(l.m.charges.data(), 0, l.m.charges.bytes(), Stream::kMain);
  l.device.launch(l.m.spread_charges());
  l.transforms();
  const auto expected = l.m.potential.download();
  l.device.fill(l.m.potential.data(), 0xff, l.m.potential.bytes(), Stream::kMain);
  launch_fused_mesh(l.m, shape, l.counter, l.context);
  const auto found = l.m.potential.download();
  return std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0;
}

// Positions, velocities and charges after gathering, a step and spreading, by either way.
bool check_step(const Loop& l) {
  SlotMemory& w = l.b.slots;
  const auto position = w.position().download(), velocity = w.velocity().download();
  const auto local = w.local.download();
  const auto force = w.force.download();
  const auto after = [&](const std::function<void()>& launches) {
    w.position().upload(position), w.velocity().upload(velocity);
    w.local.upload(local);
    w.force.upload(force);
    l.device.fill(l.m.charges.data(), 0, l.m.charges.bytes(), Stream::kMain);
    launches();
    return std::tuple{l.b.positions(), l.b.velocities(), l.m.charges.download()};
  };
  const double dt = l.b.setup.plan.timestep;
  const auto [x, v, q] = after([&] { l.ends(dt); });
  const auto [y, u, p] = after([&] { launch_fused_step(l.m, l.move(dt), l.context); });
  const bool same = std::memcmp(x.data(), y.data(), x.size() * sizeof(Vec3d)) == 0 &&
                    std::memcmp(v.data(), u.data(), v.size() * sizeof(Vec3d)) == 0 && q == p;
  after([] {});
  return same;
}

// A step without bonded terms: what follows the integration on the main stream, pairs on the side.
double loop_time(const Loop& l, const FusedShape* mesh, bool fused_ends, bool with_pairs) {
  const PairForces pairs =
      l.b.family<PairMemory>().pair_forces(Part::kInterior, Energies::kSkip, l.b.list_age());
  int event = 0;
  return time_of(l.device, [&] {
    if (with_pairs) {
      l.device.signal(event, Stream::kMain);
      l.device.wait(event, Stream::kSide);
      l.device.launch(pairs, Stream::kSide);
    }
    if (!fused_ends) l.device.launch(l.m.spread_charges());
    if (mesh)
      launch_fused_mesh(l.m, *mesh, l.counter, l.context);
    else
      l.transforms();
    if (!fused_ends) l.device.launch(l.m.gather_forces());
    if (with_pairs) {
      l.device.signal(event + 1, Stream::kSide);
      l.device.wait(event + 1, Stream::kMain);
    }
    if (fused_ends)
      launch_fused_step(l.m, l.move(1e-9), l.context);
    else
      l.device.launch(l.move(1e-9));
    event = (event + 2) % 4;
  });
}

void print_loops(const Loop& l, const FusedShape& mesh) {
  for (const bool with_pairs : {false, true})
    std::printf("  a loop %s pairs: %.2f us; planes in one %.2f; ends in one %.2f; both %.2f\n",
                with_pairs ? "with" : "without", loop_time(l, nullptr, false, with_pairs),
                loop_time(l, &mesh, false, with_pairs), loop_time(l, nullptr, true, with_pairs),
                loop_time(l, &mesh, true, with_pairs));
}

void run(Bench& b, CudaDevice& device) {
  unsigned* counter = nullptr;
  cuda_check(cudaMalloc(&counter, 4096), "allocate counters");
  cuda_check(cudaMemset(counter, 0, 4096), "clear counters");
  Loop l{b, device, counter};
  device.set_placing(Placing::kByUrgency);
  std::printf("  planes, lines, planes back: %.2f us\n", time_of(device, [&] { l.transforms(); }));
  const FusedShape* best = nullptr;
  double least = 1e9;
  std::vector<FusedShape> shapes;
  for (const FusedShape& shape : kMeshShapes) shapes.push_back(fitted(shape, l.m.grid));
  for (size_t n = 0; n < shapes.size(); ++n) {
    const FusedShape& shape = shapes[n];
    FusedShape one = shape;
    try {
      l.counter = counter + 8 * n;  // each counts meetings of as many blocks
      const bool same = check_mesh(l, one);
      const double us = time_of(device, [&] { launch_fused_mesh(l.m, one, l.counter, l.context); });
      std::printf("  in one kernel, %s, %u blocks of %u threads, tiles of %d: %.2f us%s\n",
                  shape.meeting == Meeting::kCounter ? "a counter" : "a cluster", shape.blocks,
                  shape.threads, shape.width, us, verdict(same, "", " (OTHER BITS)"));
      if (us < least) least = us, best = &shape;
    } catch (const std::exception& error) {
      cudaGetLastError();
      std::printf("  %u blocks of %u threads: %s\n", shape.blocks, shape.threads, error.what());
    }
    std::fflush(stdout);
  }
  if (b.atoms() < 40000) {
    std::printf("  gathering, integration, spreading: %s; %.2f us, in one kernel %.2f\n",
                verdict(check_step(l), "the same bits", "OTHER BITS"),
                time_of(device, [&] { l.ends(1e-9); }),
                time_of(device, [&] { launch_fused_step(l.m, l.move(1e-9), l.context); }));
    if (best) {
      l.counter = counter + 8 * (best - shapes.data());
      print_loops(l, *best);
    }
  }
  cudaFree(counter);
}

}  // namespace
}  // namespace quiltmd

int main(int count, char** arguments) {
  return workshop::for_dumps(count, arguments, quiltmd::run);
}
