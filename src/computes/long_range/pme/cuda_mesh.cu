// SPDX-License-Identifier: Apache-2.0
// Charges onto the grid and forces off it, on a GPU.
//
// A block takes the atoms of a patch, or of a piece of one, and keeps the part of the grid that they
// reach in shared memory: charges are added there by native integer atomics, then every grid point
// goes to memory by one addition; for forces the brick's potential is read once. Neighbouring bricks
// overlap by the width of the window: larger ones would mean less traffic, but fewer blocks. An atom
// that has left its brick goes to memory directly: slower, the same sums.
#include <cuda_pipeline_primitives.h>

#include "computes/long_range/pme/cuda_bank_rows.cuh"
#include "computes/long_range/pme/cuda_bricks.cuh"
#include "computes/long_range/pme/cuda_direct.cuh"
#include "computes/long_range/pme/cuda_kernels.h"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

using namespace mesh;

// Source of an atom's value on the mesh: the charge of pair kernels, or a separate coefficient.
enum class From { kLocal, kCoefficients };

// An atom's place, and as `w` what of it is on the mesh.
template <From kFrom, class Op>
__device__ __forceinline__ Float4 load_atom(const Op& op, int slot) {
  Float4 local = op.slots.local[slot];
  if constexpr (kFrom == From::kCoefficients)
    local.w = op.box->coefficient_factor * op.coefficients[slot];
  return local;
}

// ---- Spreading -----------------------------------------------------------------------------

// add(i, j, k, charge) for all grid points of an atom; the code has `Rows` rows side by side.
template <int Order, int Rows, class F>
__device__ __forceinline__ void share_out(const WindowPolynomials& window, const Vec3f& t,
                                          float charge, F add) {
  float x[Order], y[Order], z[Order];
  find_weights(window, t.x, x);
  find_weights(window, t.y, y);
  find_weights(window, t.z, z);
#pragma unroll
  for (float& weight : x) weight *= charge * static_cast<float>(kChargeScale);
#pragma unroll 1
  for (int i = 0; i < Order; ++i) {
#pragma unroll Rows
    for (int j = 0; j < Order; ++j) {
      const float row = x[0] * y[j];
#pragma unroll
      for (int k = 0; k < Order; ++k) add(i, j, k, __float2int_rn(row * z[k]));
    }
    advance(x);
  }
}

template <int Order>
__device__ __noinline__ void spread_outside(const SpreadCharges& op, Int3 first, Vec3f t,
                                            float charge) {
  int32_t* const charges = op.charges;
  const Scattered<Order> at({op.grid.nx, op.grid.ny, op.grid.nz}, first);
  share_out<Order, 1>(op.window, t, charge, [&](int i, int j, int k, int value) {
    atomicAdd(charges + at(i, j, k), value);
  });
}

// One atom into the brick, or past it. Two of three atoms of water have no dispersion, and few a charge that
// changes.
template <int Order, From kFrom>
__device__ __forceinline__ void spread_atom(const SpreadCharges& op, const Bricks& b, Piece& piece,
                                            const Float4& local) {
  if (kFrom == From::kCoefficients && local.w == 0) return;
  const Place<Order> place(b, piece, local);
  if (place.inside && gridDim.y > 1) widen<Order>(piece, place.point);
  if (place.inside) {
    int* const at = brick_memory<int>() + place.offset(b);
    share_out<Order, Order>(op.window, place.t, local.w, [&](int i, int j, int k, int value) {
      atomicAdd(at + i * b.plane + j * b.pitch + k, value);
    });
  } else {
    spread_outside<Order>(op, place.absolute(piece), place.t, local.w);
  }
}

// Atoms as they come, one a thread at a time.
template <int Order, From kFrom>
__device__ __forceinline__ void spread_in_order(const SpreadCharges& op, const Bricks& b,
                                                Piece& piece, const SlotRange& slots) {
  const auto local_of = [&](int slot) { return load_atom<kFrom>(op, min(slot, slots.end - 1)); };
  const int first = slots.first + threadIdx.x;
  Float4 local = local_of(first);
  __syncthreads();
  for (int slot = first; slot < slots.end; slot += kThreads, local = local_of(slot))
    spread_atom<Order, kFrom>(op, b, piece, local);
}

// Atoms sorted by bank, two a thread at a time.
template <int Order, From kFrom>
__device__ __forceinline__ void spread_by_bank(const SpreadCharges& op, const Bricks& b,
                                               Piece& piece, const SlotRange& slots) {
  __shared__ BankRows rows;
  const auto local_of = [&](int slot) { return load_atom<kFrom>(op, slot); };
  const auto offset_of = [&](const Float4& local) {
    return Place<Order>(b, piece, local).offset(b);
  };
  for (int begin = slots.first; begin < slots.end; begin += kEntries) {
    __syncthreads();
    sort_by_bank(local_of, begin, min(begin + kEntries, slots.end), rows, offset_of);
#pragma unroll 1
    for (int entry = threadIdx.x; entry < kEntries; entry += kThreads)
      if (rows.filled[entry]) spread_atom<Order, kFrom>(op, b, piece, rows.local[entry]);
  }
}

template <int Order, bool kByBank, From kFrom>
__global__ void __launch_bounds__(kThreads, blocks_of(Order))
    spread_bricks(const __grid_constant__ SpreadCharges op, const __grid_constant__ Bricks b,
                  LaunchTimes* times) {
  const Timed timed(times);
  __shared__ Piece piece;
#pragma unroll 4
  for (int i = threadIdx.x; i < b.words() / 4; i += kThreads) mesh_memory[i] = {0, 0, 0, 0};
  wait_for_previous();  // a barostat may have put the box there right before
  release_next();
  const Vec3f per_nm = own_per_nm(op.box);
  const PlacedPatch patch = op.patches[blockIdx.x];
  find_piece(patch, b, per_nm, piece);
  const SlotRange slots = find_slots(patch, b);
  if (slots.first >= slots.end) return;
  if constexpr (kByBank) {
    spread_by_bank<Order, kFrom>(op, b, piece, slots);
  } else {
    spread_in_order<Order, kFrom>(op, b, piece, slots);
  }
  __syncthreads();
  over_points(b, piece, brick_memory<int>(), op.charges, [](const int* at, int* point) {
    if (*at) atomicAdd(point, *at);
  });
}

// ---- Gathering -----------------------------------------------------------------------------

// The weights of an atom's grid points and their slopes.
template <int Order>
struct Footprint {
  float x[Order], y[Order], z[Order];
  float slope_x[Order], slope_y[Order], slope_z[Order];

  __device__ __forceinline__ Footprint(const WindowPolynomials& window, const Vec3f& t) {
    find_weights(window, t.x, x);
    find_weights(window, t.y, y);
    find_weights(window, t.z, z);
    find_slopes(window, t.x, slope_x);
    find_slopes(window, t.y, slope_y);
    find_slopes(window, t.z, slope_z);
  }

  // The gradient of the potential, whose value at a grid point is value(i, j, k), in grid
  // coordinates; the code has `Rows` rows side by side. Uses up the weights.
  template <int Rows, class F>
  __device__ __forceinline__ Vec3f gradient(F value) {
    Vec3f sum{0, 0, 0};
#pragma unroll 1
    for (int i = 0; i < Order; ++i) {
      float plain = 0, along_y = 0, along_z = 0;
#pragma unroll Rows
      for (int j = 0; j < Order; ++j) {
        float row = 0, slope = 0;
#pragma unroll
        for (int k = 0; k < Order; ++k) {
          const float v = value(i, j, k);
          row = __fmaf_rn(z[k], v, row);
          slope = __fmaf_rn(slope_z[k], v, slope);
        }
        plain = __fmaf_rn(y[j], row, plain);
        along_y = __fmaf_rn(slope_y[j], row, along_y);
        along_z = __fmaf_rn(y[j], slope, along_z);
      }
      sum = {__fmaf_rn(slope_x[0], plain, sum.x), __fmaf_rn(x[0], along_y, sum.y),
             __fmaf_rn(x[0], along_z, sum.z)};
      advance(x);
      advance(slope_x);
    }
    return sum;
  }
};

// Gradient in grid coordinates -> gradient in nm.
__device__ __forceinline__ Vec3f to_cartesian(const Piece& piece, const Vec3f& g) {
  const auto per_nm = [&](int d) {
    const float4 s = piece.axis[d];
    return Vec3f{s.x, s.y, s.z};
  };
  return g.x * per_nm(0) + g.y * per_nm(1) + g.z * per_nm(2);
}

template <int Order>
__device__ __noinline__ Vec3f gradient_outside(const GatherForces& op, Int3 first, Vec3f t) {
  const float* const potential = op.potential;
  const Scattered<Order> at({op.grid.nx, op.grid.ny, op.grid.nz}, first);
  return Footprint<Order>(op.window, t).template gradient<1>([&](int i, int j, int k) {
    return potential[at(i, j, k)];
  });
}

// The potential of a piece's grid points.
__device__ __forceinline__ void fetch(const GatherForces& op, const Bricks& b, const Piece& piece) {
  over_points(b, piece, brick_memory<float>(), op.potential, [](float* at, const float* point) {
    __pipeline_memcpy_async(at, point, sizeof(float));
  });
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

// Clear the charge grid, all blocks together.
__device__ __forceinline__ void clear_charges(const GatherForces& op) {
  constexpr int64_t kAtOnce = sizeof(int4) / sizeof(int32_t);
  const int64_t points = static_cast<int64_t>(op.grid.nx) * op.grid.ny * op.grid.nz;
  const int64_t thread = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t threads = gridDim.x * gridDim.y * blockDim.x;
  for (int64_t n = thread; n < points / kAtOnce; n += threads)
    reinterpret_cast<int4*>(op.charges)[n] = {0, 0, 0, 0};
  if (thread < points % kAtOnce) op.charges[points - 1 - thread] = 0;
}

// While the potential is still being made there is time to clear the charges: the kernel that makes
// it lets this one start only when all before it have ended, and they are the last to read them.
template <int Order, From kFrom, class Op>
__global__ void __launch_bounds__(kThreads, blocks_of(Order))
    gather_bricks(const __grid_constant__ Op whole, const __grid_constant__ Bricks b,
                  LaunchTimes* times) {
  const Timed timed(times);
  const GatherForces& op = direct::base(whole);
  __shared__ Piece piece;
  release_next();
  const Vec3f per_nm = own_per_nm(op.box);
  clear_charges(op);
  const PlacedPatch patch = op.patches[blockIdx.x];
  find_piece(patch, b, per_nm, piece);
  const SlotRange slots = find_slots(patch, b);
  if (slots.first >= slots.end) {
    wait_for_previous();
    return;
  }
  const auto local_of = [&](int slot) { return load_atom<kFrom>(op, min(slot, slots.end - 1)); };
  const int first = slots.first + threadIdx.x;
  Float4 local = local_of(first);
  __syncthreads();
  if (gridDim.y > 1) {
    for (int slot = first; slot < slots.end; slot += kThreads) {
      const Place<Order> place(b, piece, local_of(slot));
      if (place.inside) widen<Order>(piece, place.point);
    }
    __syncthreads();
  }

  for (int slot = first; slot - threadIdx.x < slots.end; slot += kThreads, local = local_of(slot)) {
    const Place<Order> place(b, piece, local);
    Footprint<Order> footprint(op.window, place.t);
    if (slot == first) {
      wait_for_previous();
      direct::await_peers(whole);
      fetch(op, b, piece);
      __syncthreads();
    }
    if (slot >= slots.end) return;
    const float* const at = brick_memory<float>() + place.offset(b);
    const Vec3f gradient = place.inside
                               ? footprint.template gradient<Order>([&](int i, int j, int k) {
                                   return at[i * b.plane + j * b.pitch + k];
                                 })
                               : gradient_outside<Order>(op, place.absolute(piece), place.t);
    Vec3f force = -local.w * to_cartesian(piece, gradient);
    if (kFrom == From::kCoefficients && op.of == MeshOf::kDispersion) {
      const Float4 before = op.slots.long_range[slot];
      force += Vec3f{before.x, before.y, before.z};
    }
    op.slots.long_range[slot] = {force.x, force.y, force.z, 0.0f};
  }
}

// ---- Launch shapes -------------------------------------------------------------------------

Bricks make_bricks(const PmeGrid& grid, int pieces, const CudaContext& context) {
  constexpr int kStatic = 1024 + sizeof(BankRows);  // what kernels declare themselves
  return Bricks(grid, pieces, (context.shared_memory - kStatic) / 4);
}

LaunchShape shape_of(const char* name, const Bricks& b, int patches, int pieces) {
  LaunchShape shape{name, static_cast<unsigned>(patches), kThreads,
                    static_cast<size_t>(b.words()) * 4, Start::kEarly};
  shape.blocks_y = static_cast<unsigned>(pieces);
  return shape;
}

double atoms_of_large_patch(const PmeGrid& grid) {
  constexpr double kDensity = 100;  // atoms per nm^3
  return 1.1 * kDensity * grid.widths.x * grid.widths.y * grid.widths.z;
}

}  // namespace

// One atom a thread where nearly all blocks then fit on the machine at once, else fewer and larger
// pieces; but a block for every multiprocessor, down to a warp's atoms.
int choose_pieces(const PmeGrid& grid, int patches, const CudaContext& context) {
  const double atoms = atoms_of_large_patch(grid);
  const auto pieces_of = [&](int size) { return static_cast<int>(std::ceil(atoms / size)); };
  const int machine = context.sm_count, some = std::max(patches, 1);
  const int least = std::min((machine + some - 1) / some, pieces_of(32));
  const int most = (kBlocks * machine + some - 1) / some;
  return std::max(least, std::min(pieces_of(kThreads), most));
}

template <From kFrom>
static void spread_by(int pieces, const SpreadCharges& op, CudaContext& context) {
  const Bricks b = make_bricks(op.grid, pieces, context);
  const LaunchShape shape = shape_of(SpreadCharges::kName, b, op.patch_count, pieces);
  // If each atom has a thread, the time of one block counts, not the work of all blocks.
  const bool by_bank = atoms_of_large_patch(op.grid) / pieces > kThreads;
  for_order(op.grid.order, [&]<int Order>() {
    launch(context, shape,
           by_bank ? spread_bricks<Order, true, kFrom> : spread_bricks<Order, false, kFrom>, op, b);
  });
}

void spread_charges_by(int pieces, const SpreadCharges& op, CudaContext& context) {
  op.coefficients ? spread_by<From::kCoefficients>(pieces, op, context)
                  : spread_by<From::kLocal>(pieces, op, context);
}

template <class Op>
void gather_by(int pieces, const Op& op, const GatherForces& of, CudaContext& context) {
  const Bricks b = make_bricks(of.grid, pieces, context);
  const LaunchShape shape = shape_of(GatherForces::kName, b, of.patch_count, pieces);
  for_order(of.grid.order, [&]<int Order>() {
    launch(context, shape,
           of.coefficients ? gather_bricks<Order, From::kCoefficients, Op>
                           : gather_bricks<Order, From::kLocal, Op>,
           op, b);
  });
}

void gather_forces_by(int pieces, const GatherForces& op, CudaContext& context) {
  gather_by(pieces, op, op, context);
}

// To spread, half as many atoms as threads where such blocks take half of the machine: their bricks are smaller.
void spread_charges(const SpreadCharges& op, CudaContext& context) {
  const int chosen = choose_pieces(op.grid, op.patch_count, context);
  const auto small = static_cast<int>(std::ceil(2 * atoms_of_large_patch(op.grid) / kThreads));
  const bool fits = 2 * small * op.patch_count <= kBlocks * context.sm_count;
  spread_charges_by(fits ? std::max(chosen, small) : chosen, op, context);
}

void gather_forces(const GatherForces& op, CudaContext& context) {
  gather_forces_by(choose_pieces(op.grid, op.patch_count, context), op, context);
}

void gather_forces_directly(const GatherForcesDirectly& op, CudaContext& context) {
  gather_by(choose_pieces(op.gather.grid, op.gather.patch_count, context), op, op.gather, context);
}

static __global__ void __launch_bounds__(kThreads)
    place_coefficients_kernel(const __grid_constant__ PlaceCoefficients op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int slot = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (slot < min(*op.slot_count, op.slot_capacity)) place_coefficient(op, slot);
}

static void place_coefficients(const PlaceCoefficients& op, CudaContext& context) {
  launch(context,
         {PlaceCoefficients::kName, blocks_for(op.slot_capacity, kThreads), kThreads, 0,
          Start::kEarly},
         place_coefficients_kernel, op);
}

static __global__ void put_box_on_mesh_kernel(const __grid_constant__ PutBoxOnMesh op,
                                              LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  *op.box = box_on_mesh(op.conditions->box, op.points, op.of);
}

static void put_box_on_mesh(const PutBoxOnMesh& op, CudaContext& context) {
  launch(context, {PutBoxOnMesh::kName, 1, 1, 0, Start::kEarly}, put_box_on_mesh_kernel, op);
}

void add_pme_kernels(CudaKernels& table) {
  table.add<PlaceCoefficients, place_coefficients>();
  table.add<SpreadCharges, spread_charges>();
  table.add<TransformPlanes, transform_planes>();
  table.add<ConvolveLines, convolve_lines>();
  table.add<InversePlanes, inverse_planes>();
  table.add<GatherForces, gather_forces>();
  table.add<TransformPlanesDirectly, transform_planes_directly>();
  table.add<ConvolveLinesDirectly, convolve_lines_directly>();
  table.add<InversePlanesDirectly, inverse_planes_directly>();
  table.add<GatherForcesDirectly, gather_forces_directly>();
  table.add<SumPotential, sum_potential>();
  table.add<PutBoxOnMesh, put_box_on_mesh>();
  table.add<SendGrid, send_grid>();
  table.add<ReceiveGrid, receive_grid>();
  table.add<AddGrid, add_grid>();
}

}  // namespace quiltmd
