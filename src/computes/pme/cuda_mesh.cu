// SPDX-License-Identifier: Apache-2.0
// Charges onto the grid and forces off it, on a GPU.
//
// A block takes a brick of patches and keeps the part of the grid that their atoms reach in shared
// memory: charges are added there by native integer atomics, then every grid point goes to memory
// by one addition; for forces the brick's potential is read once. Neighbouring bricks overlap by the
// width of the spline, so larger bricks mean less traffic and smaller ones more blocks. An atom that
// has left its brick goes to memory directly: slower, the same sums.
//
// An atom is the work of `order` lanes, one per x plane of its footprint: that halves the bank
// conflicts of one lane per atom and needs no exchange of weights.
#include <algorithm>

#include "computes/pme/bspline.h"
#include "computes/pme/cuda_kernels.h"
#include "computes/pme/divider.cuh"
#include "computes/pme/mesh_frame.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 512;
constexpr int kMostPatches = 64;  // of a brick
constexpr int kMargin = 1;        // grid points that atoms may stick out of their patch in a brick

// How the patch grid is cut into bricks, and the box of grid points that holds any of them.
struct Bricks {
  Int3 grid, cells;
  Int3 patches;  // of a brick
  Int3 count;
  Int3 size;     // grid points
  int order;
  Divider by_size_y;

  Bricks(const PmeGrid& g, Int3 patches_of_brick)
      : grid{g.nx, g.ny, g.nz}, cells(g.cells), patches(patches_of_brick), order(g.order),
        by_size_y(1) {
    for (int d = 0; d < 3; ++d) {
      patches[d] = std::min(patches[d], cells[d]);
      count[d] = (cells[d] + patches[d] - 1) / patches[d];
      int widest = 0;
      for (int b = 0; b < count[d]; ++b) {
        const int end = std::min((b + 1) * patches[d], cells[d]);
        widest = std::max(widest, (grid[d] * end + cells[d] - 1) / cells[d] - lowest(d, b));
      }
      size[d] = widest + order - 1 + 2 * kMargin;
    }
    by_size_y = Divider(size.y);
  }

  // Grid point at or below the lowest corner of a brick's patches.
  __host__ __device__ int lowest(int d, int brick) const {
    return grid[d] * (brick * patches[d]) / cells[d];
  }
  // First grid point of a brick, unwrapped.
  __host__ __device__ int origin(int d, int brick) const {
    return lowest(d, brick) - (order - 1) - kMargin;
  }
  int total() const { return count.x * count.y * count.z; }
  __host__ __device__ int rows() const { return size.x * size.y; }
  __host__ __device__ int points() const { return rows() * size.z; }
};

// The patches of a block's brick, in shared memory.
struct BrickPatches {
  int count;
  int first[kMostPatches + 1];  // atoms before each patch
  int start[kMostPatches];      // first slot
  MeshFrame::Centre centre[kMostPatches];
};

__device__ Int3 brick_of_block(const Bricks& b) {
  const int index = blockIdx.x;
  return {index / (b.count.y * b.count.z), index / b.count.z % b.count.y, index % b.count.z};
}

// Find the owned patches of the brick. All threads; ends with a barrier.
template <class Op>
__device__ void find_patches(const Op& op, const MeshFrame& frame, const Bricks& b, Int3 brick,
                             BrickPatches& found) {
  const int t = threadIdx.x, all = b.patches.x * b.patches.y * b.patches.z;
  __shared__ int atoms[kMostPatches];
  if (t < all) {
    const Int3 cell{brick.x * b.patches.x + t / (b.patches.y * b.patches.z),
                    brick.y * b.patches.y + t / b.patches.z % b.patches.y,
                    brick.z * b.patches.z + t % b.patches.z};
    const bool exists = cell.x < b.cells.x && cell.y < b.cells.y && cell.z < b.cells.z;
    const int index =
        exists ? op.owned_index[(cell.x * b.cells.y + cell.y) * b.cells.z + cell.z] : -1;
    atoms[t] = index < 0 ? 0 : op.patches[index].atoms;
    found.start[t] = index < 0 ? 0 : op.patches[index].start;
    found.centre[t] = frame.centre(cell);
  }
  __syncthreads();
  if (t == 0) {
    found.count = all;
    found.first[0] = 0;
    for (int p = 0; p < all; ++p) found.first[p + 1] = found.first[p] + atoms[p];
  }
  __syncthreads();
}

// One lane's share of an atom: plane `part` of its footprint.
struct Share {
  int slot;
  bool inside;    // the whole footprint lies in the brick
  Int3 point;     // first grid point of the footprint, unwrapped
  Float4 local;
  Vec3f fraction;
};

// Call visit(share, part, valid) for all atoms of the brick; valid is false in lanes without one.
template <int Order, class Visit>
__device__ __forceinline__ void over_atoms(const Slots& slots, const MeshFrame& frame,
                                           const Bricks& b, Int3 brick,
                                           const BrickPatches& patches, Visit visit) {
  constexpr int kAtoms = 32 / Order;  // of a warp
  const int lane = threadIdx.x & 31, which = lane / Order, part = lane - which * Order;
  const int total = patches.first[patches.count];
  const Int3 origin{b.origin(0, brick.x), b.origin(1, brick.y), b.origin(2, brick.z)};
  int p = 0;
  for (int base = (threadIdx.x / 32) * kAtoms; base < total; base += (blockDim.x / 32) * kAtoms) {
    const int i = base + which;
    const bool valid = which < kAtoms && i < total;
    Share s{};
    if (valid) {
      while (i >= patches.first[p + 1]) ++p;
      s.slot = patches.start[p] + i - patches.first[p];
      s.local = slots.local[s.slot];
      s.inside = true;
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        const MeshFrame::Place place = frame.place(patches.centre[p], d, s.local);
        s.point[d] = place.point - (Order - 1);
        s.fraction[d] = place.fraction;
        const int within = s.point[d] - origin[d];
        s.inside = s.inside && within >= 0 && within + Order <= b.size[d];
      }
    }
    visit(s, part, valid);
  }
}

// Element `part` of a register array.
template <int Order>
__device__ __forceinline__ float chosen(const float (&values)[Order], int part) {
  float result = values[0];
#pragma unroll
  for (int j = 1; j < Order; ++j) result = part == j ? values[j] : result;
  return result;
}

// f(index in the brick, index in the grid) for all points of a brick; a warp takes a row.
template <class F>
__device__ __forceinline__ void over_points(const Bricks& b, Int3 brick, F f) {
  const auto wrapped = [](int point, int n) {
    return point < 0 ? point + n : (point >= n ? point - n : point);
  };
  const int lane = threadIdx.x & 31;
  const Int3 origin{b.origin(0, brick.x), b.origin(1, brick.y), b.origin(2, brick.z)};
#pragma unroll 4
  for (int row = threadIdx.x / 32; row < b.rows(); row += blockDim.x / 32) {
    const int bx = b.by_size_y(row), by = row - bx * b.size.y;
    const int x = wrapped(origin.x + bx, b.grid.x), y = wrapped(origin.y + by, b.grid.y);
    for (int bz = lane; bz < b.size.z; bz += 32)
      f(row * b.size.z + bz,
        (static_cast<int64_t>(x) * b.grid.y + y) * b.grid.z + wrapped(origin.z + bz, b.grid.z));
  }
}

extern __shared__ int brick_memory[];

// ---- Spreading -----------------------------------------------------------------------------

template <int Order>
__device__ void spread_outside(const SpreadCharges& op, const MeshFrame& frame, const Share& s,
                               int part, float charge, const float* wy, const float* wz) {
  const int64_t x = frame.wrap(0, s.point.x + part);
  for (int j = 0; j < Order; ++j) {
    const int64_t row = (x * op.grid.ny + frame.wrap(1, s.point.y + j)) * op.grid.nz;
    for (int k = 0; k < Order; ++k)
      atomicAdd(op.charges + row + frame.wrap(2, s.point.z + k),
                __float2int_rn(charge * wy[j] * wz[k]));
  }
}

template <int Order>
__global__ void __launch_bounds__(kThreads)
    spread_bricks(const __grid_constant__ SpreadCharges op, const __grid_constant__ MeshFrame frame,
                  const __grid_constant__ Bricks b) {
  __shared__ BrickPatches patches;
  const Int3 brick = brick_of_block(b);
  for (int i = threadIdx.x; i < b.points(); i += blockDim.x) brick_memory[i] = 0;
  wait_for_previous();
  find_patches(op, frame, b, brick, patches);
  if (patches.first[patches.count] == 0) return;

  const Int3 origin{b.origin(0, brick.x), b.origin(1, brick.y), b.origin(2, brick.z)};
  over_atoms<Order>(op.slots, frame, b, brick, patches, [&](const Share& s, int part, bool valid) {
    if (!valid) return;
    float wx[Order], wy[Order], wz[Order], unused[Order];
    bspline<Order>(s.fraction.x, wx, unused);
    bspline<Order>(s.fraction.y, wy, unused);
    bspline<Order>(s.fraction.z, wz, unused);
    const float charge = s.local.w * static_cast<float>(kChargeScale) * chosen(wx, part);
    if (!s.inside) {
      spread_outside<Order>(op, frame, s, part, charge, wy, wz);
      return;
    }
    int* at = brick_memory + ((s.point.x - origin.x + part) * b.size.y + s.point.y - origin.y) *
                                 b.size.z + s.point.z - origin.z;
#pragma unroll
    for (int j = 0; j < Order; ++j)
#pragma unroll
      for (int k = 0; k < Order; ++k)
        atomicAdd(at + j * b.size.z + k, __float2int_rn(charge * wy[j] * wz[k]));
  });
  __syncthreads();
  release_next();
  over_points(b, brick, [&](int within, int64_t point) {
    const int value = brick_memory[within];
    if (value) atomicAdd(op.charges + point, value);
  });
}

// ---- Gathering -----------------------------------------------------------------------------

// Sums over one plane of a footprint: potential weighted by y and z weights, and with the slope of
// y or of z in place of the weight.
struct PlaneSums {
  float plain, slope_y, slope_z;
};
template <int Order, class Read>
__device__ __forceinline__ PlaneSums plane_sums(Vec3f fraction, Read read) {
  float wy[Order], wz[Order], dy[Order], dz[Order];
  bspline<Order>(fraction.y, wy, dy);
  bspline<Order>(fraction.z, wz, dz);
  PlaneSums sums{0, 0, 0};
#pragma unroll
  for (int j = 0; j < Order; ++j) {
    float plain = 0, slope = 0;
#pragma unroll
    for (int k = 0; k < Order; ++k) {
      const float value = read(j, k);
      plain = __fmaf_rn(wz[k], value, plain);
      slope = __fmaf_rn(dz[k], value, slope);
    }
    sums.plain = __fmaf_rn(wy[j], plain, sums.plain);
    sums.slope_y = __fmaf_rn(dy[j], plain, sums.slope_y);
    sums.slope_z = __fmaf_rn(wy[j], slope, sums.slope_z);
  }
  return sums;
}

template <int Order>
__device__ __forceinline__ PlaneSums sums_outside(const GatherForces& op, const MeshFrame& frame,
                                                  const Share& s, int part) {
  const int64_t x = frame.wrap(0, s.point.x + part);
  return plane_sums<Order>(s.fraction, [&](int j, int k) {
    return op.potential[(x * op.grid.ny + frame.wrap(1, s.point.y + j)) * op.grid.nz +
                        frame.wrap(2, s.point.z + k)];
  });
}

// Sum over the lanes of an atom, in order.
template <int Order>
__device__ __forceinline__ float sum_parts(float value, int first_lane) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < Order; ++j) sum += __shfl_sync(0xffffffffu, value, (first_lane + j) & 31);
  return sum;
}

template <int Order>
__global__ void __launch_bounds__(kThreads)
    gather_bricks(const __grid_constant__ GatherForces op, const __grid_constant__ MeshFrame frame,
                  const __grid_constant__ Bricks b) {
  __shared__ BrickPatches patches;
  float* const memory = reinterpret_cast<float*>(brick_memory);
  const Int3 brick = brick_of_block(b);
  find_patches(op, frame, b, brick, patches);
  if (patches.first[patches.count] == 0) return;
  wait_for_previous();
  over_points(b, brick, [&](int within, int64_t point) { memory[within] = op.potential[point]; });
  __syncthreads();
  release_next();

  const Int3 origin{b.origin(0, brick.x), b.origin(1, brick.y), b.origin(2, brick.z)};
  over_atoms<Order>(op.slots, frame, b, brick, patches, [&](const Share& s, int part, bool valid) {
    PlaneSums sums{0, 0, 0};
    if (valid && s.inside) {
      const float* at = memory + ((s.point.x - origin.x + part) * b.size.y + s.point.y - origin.y) *
                                     b.size.z + s.point.z - origin.z;
      sums = plane_sums<Order>(s.fraction, [&](int j, int k) { return at[j * b.size.z + k]; });
    } else if (valid) {
      sums = sums_outside<Order>(op, frame, s, part);
    }
    float wx[Order], dx[Order];
    bspline<Order>(s.fraction.x, wx, dx);
    const float weight = chosen(wx, part), slope = chosen(dx, part);
    const int first_lane = static_cast<int>(threadIdx.x & 31) - part;
    const Vec3f gradient{sum_parts<Order>(slope * sums.plain, first_lane),
                         sum_parts<Order>(weight * sums.slope_y, first_lane),
                         sum_parts<Order>(weight * sums.slope_z, first_lane)};
    if (!valid || part != 0) return;
    const Vec3f force = -s.local.w * frame.to_cartesian(gradient);
    op.slots.long_range[s.slot] = {force.x, force.y, force.z, 0.0f};
  });
}

}  // namespace

// ---- Launch shapes -------------------------------------------------------------------------

// The brick with the least overlap that still gives every multiprocessor a few blocks.
Int3 brick_patches(const PmeGrid& grid, const CudaContext& context) {
  constexpr int kMost = 4;               // patches per dimension
  constexpr int kMostBytes = 100 * 1024;  // two blocks a multiprocessor
  Int3 best{1, 1, 1};
  int64_t least = INT64_MAX;
  for (int x = 1; x <= kMost; ++x)
    for (int y = 1; y <= kMost; ++y)
      for (int z = 1; z <= kMost; ++z) {
        const Bricks b(grid, {x, y, z});
        const int64_t points = static_cast<int64_t>(b.points()) * b.total();
        if (b.points() * 4 > kMostBytes || b.total() < 3 * context.sm_count || points >= least)
          continue;
        least = points;
        best = {x, y, z};
      }
  return best;
}

size_t brick_bytes(const PmeGrid& grid, Int3 patches) {
  return static_cast<size_t>(Bricks(grid, patches).points()) * 4;
}

void spread_charges_by(Int3 patches, const SpreadCharges& op, CudaContext& context) {
  const Bricks b(op.grid, patches);
  const LaunchShape shape{"spread_charges", static_cast<unsigned>(b.total()), kThreads,
                          brick_bytes(op.grid, patches), Start::kEarly};
  launch(context, shape, op.grid.order == 4 ? spread_bricks<4> : spread_bricks<5>, op,
         MeshFrame(op.grid), b);
}

void gather_forces_by(Int3 patches, const GatherForces& op, CudaContext& context) {
  const Bricks b(op.grid, patches);
  const LaunchShape shape{"gather_forces", static_cast<unsigned>(b.total()), kThreads,
                          brick_bytes(op.grid, patches), Start::kEarly};
  launch(context, shape, op.grid.order == 4 ? gather_bricks<4> : gather_bricks<5>, op,
         MeshFrame(op.grid), b);
}

void spread_charges(const SpreadCharges& op, CudaContext& context) {
  spread_charges_by(brick_patches(op.grid, context), op, context);
}

void gather_forces(const GatherForces& op, CudaContext& context) {
  gather_forces_by(brick_patches(op.grid, context), op, context);
}

void add_pme_kernels(CudaKernels& table) {
  table.add<SpreadCharges, spread_charges>();
  table.add<TransformPlanes, transform_planes>();
  table.add<ConvolveLines, convolve_lines>();
  table.add<InversePlanes, inverse_planes>();
  table.add<GatherForces, gather_forces>();
}

}  // namespace quiltmd
