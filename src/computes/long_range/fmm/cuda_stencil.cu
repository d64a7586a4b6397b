// SPDX-License-Identifier: Apache-2.0
// The stencil on a GPU. A block makes the potential of a tile of points: it keeps the charges that the stencil
// reaches, as floats, and the numbers of the stencil in shared memory. A thread makes four points along z of two
// neighbouring rows, so that it uses each charge and each number that it loads several times: a four of numbers
// of each row and a four of charges make 32 multiply-adds. On small grids several threads share the stencil.
//
// Every point is summed in an order that the grid alone fixes.
#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/fmm/cuda_levels.cuh"
#include "computes/long_range/pme/divider.cuh"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/error.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kMostThreads = 288;
constexpr int kFour = 4, kRows = 2;

// The tile of a block, and where things are in its memory.
struct GpuTile {
  int x, y, fours;  // points along x and y, fours along z
  int splits;       // threads that share the stencil
  int tiles_z;
  Int3 halo;  // of charges: the tile and what the stencil reaches around it
  int numbers, pairs;
  Divider by_tiles_z, by_workers, by_fours, by_row_pairs, by_halo_y, by_halo_z;

  GpuTile(const DeviceStencil& stencil, Int3 points, int x_, int y_, int fours_, int splits_)
      : x(x_), y(y_), fours(fours_), splits(splits_) {
    const StencilShape& shape = stencil.shape;
    tiles_z = (points.z + kFour * fours - 1) / (kFour * fours);
    halo = {x + 2 * shape.reach.x, y + 2 * shape.reach.y, kFour * fours + shape.width()};
    numbers = shape.size();
    pairs = stencil.pair_count;
    by_tiles_z = Divider(tiles_z);
    by_workers = Divider(workers());
    by_fours = Divider(fours);
    by_row_pairs = Divider(y / kRows);
    by_halo_y = Divider(halo.y);
    by_halo_z = Divider(halo.z);
  }
  __host__ __device__ int workers() const { return x * (y / kRows) * fours; }
  __host__ __device__ int charges() const { return halo.x * halo.y * halo.z; }
  int threads() const { return (workers() * splits + kWarp - 1) / kWarp * kWarp; }
  // Sums of threads that share the stencil take the place of charges.
  int partial_sums() const { return splits > 1 ? workers() * splits * kRows * kFour : 0; }
  size_t bytes() const {
    return sizeof(float) * static_cast<size_t>(numbers + std::max(charges(), partial_sums())) +
           sizeof(int4) * static_cast<size_t>(pairs) +
           sizeof(int) * static_cast<size_t>(halo.x + halo.y + halo.z);
  }
};

extern __shared__ float4 stencil_memory[];

// The arrays of a block.
struct StencilArrays {
  float4* numbers;
  float4* charges;
  int4* pairs;
  int*
      places[3];  // of the halo's points along each dimension: their part of an index into the grid

  __device__ explicit StencilArrays(const GpuTile& t, int charges_or_sums) {
    numbers = stencil_memory;
    charges = numbers + t.numbers / kFour;
    pairs = reinterpret_cast<int4*>(charges + charges_or_sums / kFour);
    places[0] = reinterpret_cast<int*>(pairs + t.pairs);
    places[1] = places[0] + t.halo.x;
    places[2] = places[1] + t.halo.y;
  }
};

struct Fours {
  float v[kRows][kFour] = {};
};

__device__ __forceinline__ void add_four(float4 number, const float* charge, float* sum) {
#pragma unroll
  for (int j = 0; j < kFour; ++j) {
    sum[j] = __fmaf_rn(number.x, charge[j], sum[j]);
    sum[j] = __fmaf_rn(number.y, charge[j + 1], sum[j]);
    sum[j] = __fmaf_rn(number.z, charge[j + 2], sum[j]);
    sum[j] = __fmaf_rn(number.w, charge[j + 3], sum[j]);
  }
}

// Sums of one thread over its share of the stencil; `own`: the place of its first charges.
__device__ __forceinline__ Fours sum_share(const GpuTile& t, const StencilArrays& arrays,
                                           const float4* own, int share, int number_pitch) {
  Fours sums;
  for (int p = share; p < t.pairs; p += t.splits) {
    const int4 pair = arrays.pairs[p];
    const float4* const charge = own + pair.x;
    const float4* const number = arrays.numbers + pair.y;
    float window[2 * kFour];
    *reinterpret_cast<float4*>(window) = charge[0];
    for (int g = 0; g < pair.z; ++g) {
      *reinterpret_cast<float4*>(window + kFour) = charge[g + 1];
      add_four(number[g], window, sums.v[0]);
      add_four(number[g - number_pitch], window, sums.v[1]);
#pragma unroll
      for (int k = 0; k < kFour; ++k) window[k] = window[kFour + k];
    }
  }
  return sums;
}

// Before the kernels ahead have ended: what does not come from them.
__device__ __forceinline__ void prepare(const GpuSweep& op, const GpuTile& t,
                                        const StencilArrays& arrays, Int3 corner, int part) {
  const StencilShape shape = op.stencil.shape;
  const auto* const numbers =
      reinterpret_cast<const float4*>(op.stencil.values + static_cast<int64_t>(part) * t.numbers);
  for (int i = threadIdx.x; i < t.numbers / kFour; i += blockDim.x) arrays.numbers[i] = numbers[i];
  const int pitch = t.halo.z / kFour, width = shape.width() / kFour;
  for (int i = threadIdx.x; i < t.pairs; i += blockDim.x) {
    const StencilPair p = op.stencil.pairs[i];
    const int row = (p.x + shape.reach.x) * t.halo.y + p.y + shape.reach.y;
    const int number = ((p.x + shape.reach.x) * shape.depth() + p.y + shape.reach.y + 1) * width;
    arrays.pairs[i] = {row * pitch + p.first, number + p.first, p.end - p.first, 0};
  }
  const Int3 n = op.points;
  for (int i = threadIdx.x; i < t.halo.x; i += blockDim.x)
    arrays.places[0][i] = onto_grid(corner.x - shape.reach.x + i, n.x) * n.y * n.z;
  for (int i = threadIdx.x; i < t.halo.y; i += blockDim.x)
    arrays.places[1][i] = onto_grid(corner.y - shape.reach.y + i, n.y) * n.z;
  for (int i = threadIdx.x; i < t.halo.z; i += blockDim.x)
    arrays.places[2][i] = onto_grid(corner.z - shape.reach.z + i, n.z);
}

// All charges are on their way before the first is used.
__device__ __forceinline__ void fetch_charges(const GpuSweep& op, const GpuTile& t,
                                              const StencilArrays& arrays) {
  auto* const raw = reinterpret_cast<int*>(arrays.charges);
  for (int i = threadIdx.x; i < t.charges(); i += blockDim.x) {
    const int row = t.by_halo_z(i), z = i - row * t.halo.z;
    const int x = t.by_halo_y(row), y = row - x * t.halo.y;
    __pipeline_memcpy_async(
        raw + i, op.charges + arrays.places[0][x] + arrays.places[1][y] + arrays.places[2][z],
        sizeof(int));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = threadIdx.x; i < t.charges() / kFour; i += blockDim.x) {
    const int4 q = reinterpret_cast<const int4*>(raw)[i];
    arrays.charges[i] = {__int2float_rn(q.x), __int2float_rn(q.y), __int2float_rn(q.z),
                         __int2float_rn(q.w)};
  }
  __syncthreads();
}

// Adds the sums of threads that share the stencil; the first thread gets the result.
__device__ __forceinline__ void add_shares(const GpuTile& t, const StencilArrays& arrays,
                                           Fours& sums, int share, int worker) {
  __syncthreads();
  const auto at = [&](int s, int row) {
    return arrays.charges + (s * kRows + row) * t.workers() + worker;
  };
  if (share > 0 && share < t.splits)
    for (int row = 0; row < kRows; ++row)
      *at(share, row) = {sums.v[row][0], sums.v[row][1], sums.v[row][2], sums.v[row][3]};
  __syncthreads();
  if (share > 0) return;
  for (int s = 1; s < t.splits; ++s)
    for (int row = 0; row < kRows; ++row) {
      const float4 other = *at(s, row);
      sums.v[row][0] += other.x;
      sums.v[row][1] += other.y;
      sums.v[row][2] += other.z;
      sums.v[row][3] += other.w;
    }
}

// The potential of four points, two by two.
__device__ __forceinline__ void store(const GpuSweep& op, Int3 at, const float* sums) {
  float* const to = op.potential + (static_cast<int64_t>(at.x) * op.points.y + at.y) * op.points.z;
#pragma unroll
  for (int k = 0; k < kFour; k += 2) {
    const int z = at.z + k;
    if (z >= op.points.z) return;
    float2 value{op.scale * sums[k], op.scale * sums[k + 1]};
    if (op.above) {
      const float2 more = prolonged(op.above, op.points, at.x, at.y, z / 2);
      value = {value.x + more.x, value.y + more.y};
    }
    *reinterpret_cast<float2*>(to + z) = value;
  }
}

// Minus half of the charges of four points times what comes of the stencil's derivatives.
__device__ __forceinline__ long long virial_of(const GpuSweep& op, Int3 at, const float* sums) {
  const int32_t* const charges =
      op.charges + (static_cast<int64_t>(at.x) * op.points.y + at.y) * op.points.z;
  const double scale = -0.5 * op.scale / kChargeScale;
  long long sum = 0;
  for (int k = 0; k < kFour && at.z + k < op.points.z; ++k)
    sum += to_fixed(scale * charges[at.z + k] * sums[k], kEnergyScale);
  return sum;
}

// The potential; or, with kStrain, one part of the virial.
template <bool kStrain>
__global__ void __launch_bounds__(kMostThreads, 2)
    stencil_kernel(const __grid_constant__ GpuSweep op, const __grid_constant__ GpuTile t,
                   int charges_or_sums, LaunchTimes* times) {
  const Timed timed(times);
  const StencilArrays arrays(t, charges_or_sums);
  const int tile_y = t.by_tiles_z(blockIdx.x), tile_z = blockIdx.x - tile_y * t.tiles_z;
  const Int3 corner{op.planes.first + static_cast<int>(blockIdx.y) * t.x, tile_y * t.y,
                    tile_z * t.fours * kFour};
  const int part = kStrain ? 1 + static_cast<int>(blockIdx.z) : 0;
  prepare(op, t, arrays, corner, part);
  __syncthreads();
  wait_for_previous();
  release_next();
  fetch_charges(op, t, arrays);

  const int share = t.by_workers(threadIdx.x), worker = threadIdx.x - share * t.workers();
  const int rest = t.by_fours(worker), four = worker - rest * t.fours;
  const int x = t.by_row_pairs(rest), y = kRows * (rest - x * (t.y / kRows));
  const float4* const own = arrays.charges + (x * t.halo.y + y) * (t.halo.z / kFour) + four;
  Fours sums;
  if (share < t.splits) sums = sum_share(t, arrays, own, share, op.stencil.shape.width() / kFour);
  if (t.splits > 1) add_shares(t, arrays, sums, share, worker);

  const int planes_end = op.planes.first + op.planes.count;
  long long virial = 0;
  for (int row = 0; row < kRows; ++row) {
    const Int3 at{corner.x + x, corner.y + y + row, corner.z + four * kFour};
    if (share > 0 || at.x >= planes_end || at.y >= op.points.y) continue;
    if constexpr (kStrain) {
      virial += virial_of(op, at, sums.v[row]);
    } else {
      store(op, at, sums.v[row]);
    }
  }
  if constexpr (kStrain) {
    virial = warp_sum(virial);
    if (threadIdx.x % kWarp == 0 && virial != 0) add_fixed(op.energy + kVirial + part - 1, virial);
  }
}

// ---- Launch shapes -------------------------------------------------------------------------

// Depends only on the grid, because the order of sums depends on it.
int splits_of(Int3 points) {
  const int64_t size = int64_t{points.x} * points.y * points.z;
  int splits = 8;
  for (int64_t limit = 64 * 1024; splits > 1 && size > limit; limit *= 4) splits /= 2;
  return splits;
}

// As large as possible such that half of the multiprocessors have a block, with enough threads to fetch the
// charges, and such that two blocks fit on a multiprocessor.
GpuTile choose_tile(const GpuSweep& sweep, const CudaContext& context) {
  constexpr int kLargest = 8, kMostFours = 10, kFewThreads = 128;
  const int splits = splits_of(sweep.points);
  const int all_fours = (sweep.points.z + kFour - 1) / kFour;
  const int tiles_z = (all_fours + kMostFours - 1) / kMostFours;
  int x = kLargest, y = kLargest, fours = (all_fours + tiles_z - 1) / tiles_z;
  while (true) {
    const GpuTile tile(sweep.stencil, sweep.points, x, y, fours, splits);
    const int blocks =
        (sweep.planes.count + x - 1) / x * ((sweep.points.y + y - 1) / y) * tile.tiles_z;
    const bool fits = tile.threads() <= kMostThreads &&
                      2 * tile.bytes() <= static_cast<size_t>(context.shared_memory);
    const bool is_small = 2 * blocks >= context.sm_count || tile.threads() <= kFewThreads;
    const bool is_flat = x == 1 && y == kRows;
    if (fits && (is_small || is_flat)) return tile;
    if (is_flat && fours == 1) return tile;  // the launch fails where it is too large
    if (is_flat) {
      fours = (fours + 1) / 2;
    } else if (x >= y) {
      x /= 2;
    } else {
      y /= 2;
    }
  }
}

template <bool kStrain>
void launch_stencil(const GpuSweep& sweep, CudaContext& context) {
  const GpuTile tile = choose_tile(sweep, context);
  if (tile.bytes() > static_cast<size_t>(context.shared_memory))
    throw Error(
        "the stencil of the fast multipole method does not fit into the shared memory of this GPU: "
        "choose a larger tolerance (fmm_tolerance), a coarser grid (fmm_grid) or a shorter cutoff");
  LaunchShape shape{ConvolveLevel::kName,
                    static_cast<unsigned>((sweep.points.y + tile.y - 1) / tile.y * tile.tiles_z),
                    static_cast<unsigned>(tile.threads()), tile.bytes(), Start::kEarly};
  shape.blocks_y = static_cast<unsigned>((sweep.planes.count + tile.x - 1) / tile.x);
  if (kStrain) shape.blocks_z = Symmetric::kParts;
  launch(context, shape, stencil_kernel<kStrain>, sweep, tile,
         std::max(tile.charges(), tile.partial_sums()));
}

}  // namespace

void convolve_charges(const GpuSweep& sweep, CudaContext& context) {
  launch_stencil<false>(sweep, context);
}

void add_virial(const GpuSweep& sweep, CudaContext& context) {
  launch_stencil<true>(sweep, context);
}

}  // namespace quiltmd
