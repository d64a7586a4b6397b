// SPDX-License-Identifier: Apache-2.0
// Charges onto the grid and forces off it, on a GPU.
//
// A block takes a brick of patches and keeps the part of the grid that their atoms reach in shared
// memory: charges are added there by native integer atomics, then every grid point goes to memory
// by one addition; for forces the brick's potential is read once. Neighbouring bricks overlap by the
// width of the spline, so larger bricks mean less traffic and smaller ones more blocks. An atom that
// has left its brick goes to memory directly: slower, the same sums.
#include <cuda_pipeline_primitives.h>

#include <cmath>

#include "computes/pme/cuda_bricks.cuh"
#include "computes/pme/cuda_kernels.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

using namespace mesh;

// ---- Spreading -----------------------------------------------------------------------------

template <int Order>
__device__ __forceinline__ void spread_atom(const SpreadCharges& op, const MeshFrame& frame,
                                            const Bricks& b, const Share<Order>& share,
                                            const float* footprint) {
  using L = Layout<false>;
  float words[8];
  read_words(footprint, words);
  const int start = __float_as_int(words[L::kBase]);
  if (start == kNobody || share.idle) return;
  const float weight = footprint[L::kY + share.y] * footprint[L::kZ + share.z];
  const int plane = b.size.y * b.pitch;
  int* at = brick_memory<int>() + start + share.part * plane + share.y * b.pitch + share.z;
#pragma unroll
  for (int i = 0; i < Share<Order>::kPlanes; ++i) {
    const int value = __float2int_rn(share.of(words + L::kX, i) * weight);
    if (start >= 0) {
      atomicAdd(at + i * Share<Order>::kParts * plane, value);
    } else {
      atomicAdd(op.charges + grid_place(frame, b.grid, footprint + L::kPoint, share.plane(i),
                                        share.y, share.z),
                value);
    }
  }
}

template <int Order, int Threads>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    spread_bricks(const __grid_constant__ SpreadCharges op, const __grid_constant__ MeshFrame frame,
                  const __grid_constant__ Bricks b) {
  __shared__ BrickPatches patches;
  const Int3 brick = brick_of_block(b);
  int* const memory = brick_memory<int>();
  for (int i = threadIdx.x; i < b.words() / 4; i += Threads) mesh_memory[i] = {0, 0, 0, 0};
  const Stamper<Order, false> stamper(frame, b, brick);
  const Share<Order> share;
  wait_for_previous();
  find_patches(op, frame, b, brick, patches);
  if (patches.first[patches.count] == 0) return;

  float* const footprints = warp_footprints<false>(b);
  for (Walk walk; !walk.at_end(patches); walk.step()) {
    stamper.stamp(op.slots, walk.slot(patches), patches.end[walk.patch], patches.centre[walk.patch],
                  footprints);
#pragma unroll 4
    for (int a = 0; a < kClusterSize; ++a)
      spread_atom<Order>(op, frame, b, share, footprints + a * Layout<false>::kWords);
  }
  __syncthreads();
  release_next();
  over_points(b, brick, [&](int within, int64_t point) {
    const int value = memory[within];
    if (value) atomicAdd(op.charges + point, value);
  });
}

// ---- Gathering -----------------------------------------------------------------------------

// The share of a lane in the gradient of one atom, in grid coordinates.
template <int Order>
__device__ __forceinline__ Vec3f gather_atom(const GatherForces& op, const MeshFrame& frame,
                                             const Bricks& b, const Share<Order>& share,
                                             const float* footprint) {
  using L = Layout<true>;
  float words[12];
  read_words(footprint, words);
  const int start = __float_as_int(words[L::kBase]);
  if (start == kNobody || share.idle) return {0, 0, 0};
  const float2 y = *reinterpret_cast<const float2*>(footprint + L::kY + 2 * share.y);
  const float2 z = *reinterpret_cast<const float2*>(footprint + L::kZ + 2 * share.z);
  const int plane = b.size.y * b.pitch;
  const float* at =
      brick_memory<float>() + start + share.part * plane + share.y * b.pitch + share.z;
  float plain = 0, slope = 0;
#pragma unroll
  for (int i = 0; i < Share<Order>::kPlanes; ++i) {
    const float value = start >= 0 ? at[i * Share<Order>::kParts * plane]
                                   : op.potential[grid_place(frame, b.grid, footprint + L::kPoint,
                                                             share.plane(i), share.y, share.z)];
    plain = __fmaf_rn(share.of(words + L::kX, i), value, plain);
    slope = __fmaf_rn(share.of(words + L::kSlopeX, i), value, slope);
  }
  return {slope * (y.x * z.x), plain * (y.y * z.x), plain * (y.x * z.y)};
}

// Half of a sum of two things over the warp: lanes with the bit set in their number go on with
// `upper`, the others with `lower`.
__device__ __forceinline__ float fold(float lower, float upper, int bit) {
  const bool keeps_upper = threadIdx.x & bit;
  return (keeps_upper ? upper : lower) +
         __shfl_xor_sync(kAllLanes, keeps_upper ? lower : upper, bit);
}
__device__ __forceinline__ Vec3f fold(Vec3f lower, Vec3f upper, int bit) {
  return {fold(lower.x, upper.x, bit), fold(lower.y, upper.y, bit), fold(lower.z, upper.z, bit)};
}

// Gradients of eight atoms, share(a) being a lane's part of that of atom a: lanes 4 a to 4 a + 3 get
// that of atom a.
template <class F>
__device__ __forceinline__ Vec3f sum_shares(F share) {
  const auto four_apart = [&](int a) {
    const Vec3f lower = share(a);
    return fold(lower, share(a + 4), 16);
  };
  const auto two_apart = [&](int a) {
    const Vec3f lower = four_apart(a);
    return fold(lower, four_apart(a + 2), 8);
  };
  const Vec3f lower = two_apart(0), both = fold(lower, two_apart(1), 4);
  const float sum = fold(fold(both.x, both.z, 2), fold(both.y, 0.0f, 2), 1);  // component lane & 3
  const int first = threadIdx.x & 28;
  return {__shfl_sync(kAllLanes, sum, first), __shfl_sync(kAllLanes, sum, first + 1),
          __shfl_sync(kAllLanes, sum, first + 2)};
}

// A lane writes one component of the force on one of eight atoms.
__device__ __forceinline__ void store_force(const GatherForces& op, const MeshFrame& frame,
                                            Vec3f gradient, int slot, const float* footprints) {
  const int lane = threadIdx.x & 31, d = lane & 3;
  const float* footprint = footprints + lane / 4 * Layout<true>::kWords;
  if (__float_as_int(footprint[Layout<true>::kBase]) == kNobody) return;
  const Vec3f force = -footprint[Layout<true>::kCharge] * frame.to_cartesian(gradient);
  reinterpret_cast<float*>(op.slots.long_range + slot)[lane] = d == 3 ? 0.0f : force[d];
}

template <int Order, int Threads>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    gather_bricks(const __grid_constant__ GatherForces op, const __grid_constant__ MeshFrame frame,
                  const __grid_constant__ Bricks b) {
  __shared__ BrickPatches patches;
  const Int3 brick = brick_of_block(b);
  float* const memory = brick_memory<float>();
  float* const footprints = warp_footprints<true>(b);
  const Stamper<Order, true> stamper(frame, b, brick);
  const Share<Order> share;
  find_patches(op, frame, b, brick, patches);
  if (patches.first[patches.count] == 0) return;
  const auto stamp = [&](const Walk& walk) {
    stamper.stamp(op.slots, walk.slot(patches), patches.end[walk.patch], patches.centre[walk.patch],
                  footprints);
  };
  Walk walk;
  if (!walk.at_end(patches)) stamp(walk);  // while the potential is on its way
  wait_for_previous();
  over_points(b, brick, [&](int within, int64_t point) {
    __pipeline_memcpy_async(memory + within, op.potential + point, sizeof(float));
  });
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  release_next();

  for (bool first = true; !walk.at_end(patches); walk.step(), first = false) {
    if (!first) stamp(walk);
    const Vec3f gradient = sum_shares([&](int a) {
      return gather_atom<Order>(op, frame, b, share, footprints + a * Layout<true>::kWords);
    });
    store_force(op, frame, gradient, walk.slot(patches), footprints);
  }
}

}  // namespace

// ---- Launch shapes -------------------------------------------------------------------------

namespace {

size_t brick_bytes(const Bricks& b, bool gathers, int threads) {
  const int words = gathers ? Layout<true>::kWords : Layout<false>::kWords;
  return static_cast<size_t>(b.words() + threads / 32 * kClusterSize * words) * 4;
}

// A brick's work on one multiprocessor, in cycles (measured on an H200).
double cost_of(const Bricks& b, double atoms) {
  constexpr double kPerBrick = 1500, kPerPoint = 0.3, kPerAtom = 18;
  return kPerBrick + kPerPoint * b.points() + kPerAtom * atoms;
}

}  // namespace

// Words of shared memory for the grid points of a brick, beside 1024 threads' footprints.
int brick_room(const CudaContext& context) { return (context.shared_memory - 48 * 1024) / 4; }

// The bricks that keep the busiest multiprocessor busy for the shortest time.
BrickChoice choose_bricks(const PmeGrid& grid, const CudaContext& context) {
  constexpr int kMost = 4;  // patches per dimension
  // Two blocks a multiprocessor, where it has that much.
  const size_t most_bytes = std::min(112, context.shared_memory / 1024 - 4) * size_t{1024};
  constexpr double kDensity = 100;  // atoms per nm^3
  const double atoms_of_patch =
      kDensity * grid.box.volume() / (1.0 * grid.cells.x * grid.cells.y * grid.cells.z);
  BrickChoice best{{1, 1, 1}, 512};
  double least = INFINITY;
  for (int x = 1; x <= kMost; ++x)
    for (int y = 1; y <= kMost; ++y)
      for (int z = 1; z <= kMost; ++z) {
        const Bricks b(grid, {x, y, z});
        if (brick_bytes(b, true, 512) > most_bytes) continue;
        const int rounds = (b.total() + context.sm_count - 1) / context.sm_count;
        const double cost =
            rounds * cost_of(b, atoms_of_patch * b.patches.x * b.patches.y * b.patches.z);
        if (cost >= least) continue;
        least = cost;
        best = {{x, y, z}, rounds == 1 ? 1024 : 512};
      }
  return best;
}

bool bricks_fit(const PmeGrid& grid, BrickChoice choice, const CudaContext& context) {
  constexpr size_t kStatic = 4096;
  return brick_bytes(Bricks(grid, choice.patches), true, choice.threads) + kStatic <=
         static_cast<size_t>(context.shared_memory);
}

void spread_charges_by(BrickChoice choice, const SpreadCharges& op, CudaContext& context) {
  const Bricks b(op.grid, choice.patches, brick_room(context));
  const LaunchShape shape{"spread_charges", static_cast<unsigned>(b.total()),
                          static_cast<unsigned>(choice.threads),
                          brick_bytes(b, false, choice.threads), Start::kEarly};
  const bool wide = choice.threads == 1024;
  launch(context, shape,
         op.grid.order == 4 ? (wide ? spread_bricks<4, 1024> : spread_bricks<4, 512>)
                            : (wide ? spread_bricks<5, 1024> : spread_bricks<5, 512>),
         op, MeshFrame(op.grid), b);
}

void gather_forces_by(BrickChoice choice, const GatherForces& op, CudaContext& context) {
  const Bricks b(op.grid, choice.patches, brick_room(context));
  const LaunchShape shape{"gather_forces", static_cast<unsigned>(b.total()),
                          static_cast<unsigned>(choice.threads),
                          brick_bytes(b, true, choice.threads), Start::kEarly};
  const bool wide = choice.threads == 1024;
  launch(context, shape,
         op.grid.order == 4 ? (wide ? gather_bricks<4, 1024> : gather_bricks<4, 512>)
                            : (wide ? gather_bricks<5, 1024> : gather_bricks<5, 512>),
         op, MeshFrame(op.grid), b);
}

void spread_charges(const SpreadCharges& op, CudaContext& context) {
  spread_charges_by(choose_bricks(op.grid, context), op, context);
}

void gather_forces(const GatherForces& op, CudaContext& context) {
  gather_forces_by(choose_bricks(op.grid, context), op, context);
}

void add_pme_kernels(CudaKernels& table) {
  table.add<SpreadCharges, spread_charges>();
  table.add<TransformPlanes, transform_planes>();
  table.add<ConvolveLines, convolve_lines>();
  table.add<InversePlanes, inverse_planes>();
  table.add<GatherForces, gather_forces>();
}

}  // namespace quiltmd
