// SPDX-License-Identifier: Apache-2.0
// The stencil on a GPU. A block makes the potential of a tile of points: it keeps the charges that the stencil
// reaches, as floats, and the numbers of the stencil in shared memory. A thread makes eight points along z of two
// neighbouring rows, so that a four of charges and a four of numbers for each row make 64 multiply-adds. Where
// the stencil is even in x, charges at x and -x are added first, and the numbers at -x are not needed. Several
// threads share the stencil.
//
// Every point is summed in an order that the grid alone fixes. Where there is a window, tiles follow it, and those
// without a point of it end at once.
#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <optional>

#include "computes/long_range/fmm/cuda_kernels.h"
#include "computes/long_range/fmm/cuda_levels.cuh"
#include "computes/long_range/pme/divider.cuh"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/error.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kMostThreads = 192;  // of a block
constexpr int kBlocks = 4;         // on a multiprocessor
constexpr int kRows = 2;
constexpr int kPoints = kEight * kRows;  // of a thread

// The tile of a block, and where things are in its memory.
struct GpuTile {
  int x, y, eights;  // points along x and y, eights along z
  int splits;        // threads that share the stencil
  bool mirrored;     // charges at x and -x are added first
  int tiles_z;
  Int3 halo;   // of charges: the tile and what the stencil reaches around it
  Int3 pitch;  // of its array along x and y, in fours: odd, so that threads read different banks
  int unit;    // charges that are fetched at once
  int number_planes, numbers, pairs;
  Divider by_tiles_z, by_workers, by_x, by_row_pairs, by_halo_y, by_units;

  GpuTile(const GpuSweep& sweep, int x_, int y_, int eights_, int splits_, bool mirrored_)
      : x(x_), y(y_), eights(eights_), splits(splits_), mirrored(mirrored_) {
    const DeviceStencil& stencil = sweep.stencil;
    const StencilShape& shape = stencil.shape;
    tiles_z = (sweep.points.z + kEight * eights - 1) / (kEight * eights);
    halo = {x + 2 * shape.reach.x, y + 2 * shape.reach.y, kEight * eights + shape.width()};
    pitch.y = halo.z / kFour | 1;
    pitch.x = (halo.y | 1) * pitch.y;
    unit = sweep.points.z % kFour == 0 ? kFour : kFour / 2;
    number_planes = mirrored ? shape.reach.x + 1 : 2 * shape.reach.x + 1;
    numbers = number_planes * shape.depth() * shape.width();
    pairs = stencil.pair_count - (mirrored ? stencil.pairs_below : 0);
    by_tiles_z = Divider(tiles_z);
    by_workers = Divider(workers());
    by_x = Divider(x);
    by_row_pairs = Divider(y / kRows);
    by_halo_y = Divider(halo.y);
    by_units = Divider(halo.z / unit);
  }
  __host__ __device__ int workers() const { return x * (y / kRows) * eights; }
  __host__ __device__ int charges() const { return halo.x * pitch.x * kFour; }
  int threads() const { return (workers() * splits + kWarp - 1) / kWarp * kWarp; }
  // Sums take the place of charges.
  int charges_or_sums() const { return std::max(charges(), workers() * splits * kPoints); }
  size_t bytes() const {
    return sizeof(float) * static_cast<size_t>(numbers + charges_or_sums()) +
           sizeof(int4) * static_cast<size_t>(pairs) +
           sizeof(int) * static_cast<size_t>(halo.x + halo.y + halo.z / unit);
  }
};

// Where tiles begin on the grid, and the points in [begin, end) from there that have potentials and charges. Tiles
// begin at even y, so that which rows of the grid make a pair, and the order of their sums, do not depend on the
// window.
struct Frame {
  Int3 origin, begin, end;
};

__device__ __forceinline__ Frame frame_of(const GpuSweep& op) {
  if (!op.window)
    return {{op.planes.first, 0, 0}, {0, 0, 0}, {op.planes.count, op.points.y, op.points.z}};
  const LevelWindow window(op.levels, op.window, op.level);
  constexpr int kSteps[] = {1, kRows, kFour};
  Frame frame;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    frame.begin[d] = window.first(d) & (kSteps[d] - 1);
    frame.origin[d] = window.first(d) - frame.begin[d];
    frame.end[d] = frame.begin[d] + window.count[d];
  }
  return frame;
}

__device__ __forceinline__ bool is_own_plane(const GpuSweep& op, const Frame& frame, int x) {
  const int plane = onto_grid(frame.origin.x + x, op.points.x) - op.planes.first;
  return plane >= 0 && plane < op.planes.count;
}

// Whether a tile has points of the window on planes of this rank.
__device__ __forceinline__ bool is_needed(const GpuSweep& op, const GpuTile& t, const Frame& frame,
                                          Int3 corner) {
  if (corner.x >= frame.end.x || corner.y >= frame.end.y || corner.z >= frame.end.z) return false;
  for (int x = corner.x; x < corner.x + t.x; ++x)
    if (is_own_plane(op, frame, x)) return true;
  return false;
}

extern __shared__ float4 stencil_memory[];

// The arrays of a block.
struct StencilArrays {
  float4* numbers;
  float4* charges;
  int4* pairs;
  // Of the halo's points along x and y and its units along z: their part of an index into the grid; -1: there are
  // no charges.
  int* places[3];

  __device__ explicit StencilArrays(const GpuTile& t, int charges_or_sums) {
    numbers = stencil_memory;
    charges = numbers + t.numbers / kFour;
    pairs = reinterpret_cast<int4*>(charges + charges_or_sums / kFour);
    places[0] = reinterpret_cast<int*>(pairs + t.pairs);
    places[1] = places[0] + t.halo.x;
    places[2] = places[1] + t.halo.y;
  }
};

// The part of an index into the grid of the points [at, at + count) along a dimension.
__device__ __forceinline__ int place_along(const GpuSweep& op, const Frame& frame, int d, int at,
                                           int count, int stride) {
  if (op.levels.is_open() && (at + count <= frame.begin[d] || at >= frame.end[d])) return -1;
  return onto_grid(frame.origin[d] + at, op.points[d]) * stride;
}

// What does not come from the kernels ahead but for the window; without one, before they have ended.
__device__ __forceinline__ void prepare(const GpuSweep& op, const GpuTile& t,
                                        const StencilArrays& arrays, const Frame& frame,
                                        Int3 corner, int part) {
  const StencilShape shape = op.stencil.shape;
  const int first_x = t.mirrored ? 0 : -shape.reach.x;
  const int plane = shape.depth() * shape.width() / kFour;
  const auto* const numbers =
      reinterpret_cast<const float4*>(op.stencil.values + int64_t{part} * shape.size()) +
      (first_x + shape.reach.x) * plane;
  for (int i = threadIdx.x; i < t.numbers / kFour; i += blockDim.x) {
    float4 four = numbers[i];
    if (t.mirrored && i < plane)  // these meet the charges at x = 0 twice
      four = {0.5f * four.x, 0.5f * four.y, 0.5f * four.z, 0.5f * four.w};
    arrays.numbers[i] = four;
  }
  const int width = shape.width() / kFour;
  const StencilPair* const pairs = op.stencil.pairs + (op.stencil.pair_count - t.pairs);
  for (int i = threadIdx.x; i < t.pairs; i += blockDim.x) {
    const StencilPair p = pairs[i];
    const int row = (p.y + shape.reach.y) * t.pitch.y + p.first;
    const int number = ((p.x - first_x) * shape.depth() + p.y + shape.reach.y + 1) * width;
    arrays.pairs[i] = {(shape.reach.x + p.x) * t.pitch.x + row, number + p.first, p.end - p.first,
                       (shape.reach.x - p.x) * t.pitch.x + row};
  }
  const Int3 n = op.points;
  for (int i = threadIdx.x; i < t.halo.x; i += blockDim.x)
    arrays.places[0][i] = place_along(op, frame, 0, corner.x - shape.reach.x + i, 1, n.y * n.z);
  for (int i = threadIdx.x; i < t.halo.y; i += blockDim.x)
    arrays.places[1][i] = place_along(op, frame, 1, corner.y - shape.reach.y + i, 1, n.z);
  for (int i = threadIdx.x; i < t.halo.z / t.unit; i += blockDim.x)
    arrays.places[2][i] =
        place_along(op, frame, 2, corner.z - shape.before() + t.unit * i, t.unit, 1);
}

template <int kUnit>
__device__ __forceinline__ void start_fetching(const GpuSweep& op, const GpuTile& t,
                                               const StencilArrays& arrays) {
  auto* const raw = reinterpret_cast<int*>(arrays.charges);
  const int units = t.halo.z / kUnit;
  for (int i = threadIdx.x; i < t.halo.x * t.halo.y * units; i += blockDim.x) {
    const int row = t.by_units(i), z = i - row * units;
    const int x = t.by_halo_y(row), y = row - x * t.halo.y;
    int* const to = raw + kFour * (x * t.pitch.x + y * t.pitch.y) + kUnit * z;
    const int plane = arrays.places[0][x], line = arrays.places[1][y], at = arrays.places[2][z];
    if ((plane | line | at) >= 0) {
      __pipeline_memcpy_async(to, op.charges + plane + line + at, kUnit * sizeof(int));
    } else {
#pragma unroll
      for (int k = 0; k < kUnit; ++k) to[k] = 0;
    }
  }
}

// All charges are on their way before the first is used. What pads the array is converted, but never used.
__device__ __forceinline__ void fetch_charges(const GpuSweep& op, const GpuTile& t,
                                              const StencilArrays& arrays) {
  if (t.unit == kFour) {
    start_fetching<kFour>(op, t, arrays);
  } else {
    start_fetching<kFour / 2>(op, t, arrays);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = threadIdx.x; i < t.charges() / kFour; i += blockDim.x) {
    const int4 q = reinterpret_cast<const int4*>(arrays.charges)[i];
    arrays.charges[i] = {__int2float_rn(q.x), __int2float_rn(q.y), __int2float_rn(q.z),
                         __int2float_rn(q.w)};
  }
  __syncthreads();
}

// A four of numbers times charges: three fours of them in a row.
__device__ __forceinline__ void add_eight(float4 number, const float4& a, const float4& b,
                                          const float4& c, float* sum) {
  const float charge[3 * kFour] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
  for (int j = 0; j < kEight; ++j) {
    sum[j] = __fmaf_rn(number.x, charge[j], sum[j]);
    sum[j] = __fmaf_rn(number.y, charge[j + 1], sum[j]);
    sum[j] = __fmaf_rn(number.z, charge[j + 2], sum[j]);
    sum[j] = __fmaf_rn(number.w, charge[j + 3], sum[j]);
  }
}

struct PointSums {
  float v[kRows][kEight] = {};
};

// A row of charges, added to its mirror image where there is one.
template <bool kMirrored>
struct ChargeRow {
  const float4* right;
  const float4* left;

  __device__ __forceinline__ float4 operator[](int i) const {
    float4 q = right[i];
    if constexpr (kMirrored) {
      const float4 other = left[i];
      q = {q.x + other.x, q.y + other.y, q.z + other.z, q.w + other.w};
    }
    return q;
  }
};

template <bool kMirrored>
__device__ __forceinline__ void add_row(ChargeRow<kMirrored> charges, const float4* numbers,
                                        int pitch, int count, PointSums& sums) {
  float4 window[3] = {charges[0], charges[1], {}};
  for (int g = 0;;) {
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      float4& last = window[(k + 2) % 3];
      last = charges[g + 2];
      add_eight(numbers[g], window[k], window[(k + 1) % 3], last, sums.v[0]);
      add_eight(numbers[g - pitch], window[k], window[(k + 1) % 3], last, sums.v[1]);
      if (++g == count) return;
    }
  }
}

// Sums of one thread over its share of the stencil; `own`: the place of its first charges.
template <bool kMirrored>
__device__ __forceinline__ PointSums sum_share(const GpuTile& t, const StencilArrays& arrays,
                                               const float4* own, int share, int number_pitch) {
  PointSums sums;
  for (int p = share; p < t.pairs; p += t.splits) {
    const int4 pair = arrays.pairs[p];
    add_row<kMirrored>({own + pair.x, own + pair.w}, arrays.numbers + pair.y, number_pitch, pair.z,
                       sums);
  }
  return sums;
}

// Of the level above; sums are in memory by then, so a call costs no registers.
__device__ __noinline__ float2 from_above(const GpuSweep& op, Int3 at) {
  const int half = at.z / 2;
  switch (op.levels.order) {
    case 4:
      return prolonged<4>(op.above, op.points, at.x, at.y, half);
    case 5:
      return prolonged<5>(op.above, op.points, at.x, at.y, half);
    case 6:
      return prolonged<6>(op.above, op.points, at.x, at.y, half);
    default:
      return prolonged<8>(op.above, op.points, at.x, at.y, half);
  }
}

// The potential of two points along z.
__device__ __forceinline__ void store(const GpuSweep& op, Int3 at, float2 sum) {
  float2 value{op.scale * sum.x, op.scale * sum.y};
  if (op.above) {
    const float2 more = from_above(op, at);
    value = {value.x + more.x, value.y + more.y};
  }
  const int64_t row = static_cast<int64_t>(at.x) * op.points.y + at.y;
  *reinterpret_cast<float2*>(op.potential + row * op.points.z + at.z) = value;
}

// Minus half of the charges of two points times what comes of the stencil's derivatives.
__device__ __forceinline__ long long virial_of(const GpuSweep& op, Int3 at, float2 sum) {
  const int64_t row = static_cast<int64_t>(at.x) * op.points.y + at.y;
  const int32_t* const charges = op.charges + row * op.points.z + at.z;
  const double scale = -0.5 * op.scale / kChargeScale;
  return to_fixed(scale * charges[0] * sum.x, kEnergyScale) +
         to_fixed(scale * charges[1] * sum.y, kEnergyScale);
}

// A thread's first point in the tile: neighbours in x are next to each other, then pairs of rows.
__device__ __forceinline__ Int3 place_of(const GpuTile& t, int worker) {
  const int of_rows = t.by_x(worker), eight = t.by_row_pairs(of_rows);
  return {worker - of_rows * t.x, kRows * (of_rows - eight * (t.y / kRows)), kEight * eight};
}

// Adds the sums of threads that share the stencil, and hands out the points two by two.
template <class Use>
__device__ __forceinline__ void use_sums(const GpuSweep& op, const GpuTile& t,
                                         const StencilArrays& arrays, const Frame& frame,
                                         Int3 corner, Use use) {
  constexpr int kTwos = kPoints / 2, kTwosOfRow = kEight / 2;
  const auto* const sums = reinterpret_cast<const float2*>(arrays.charges);
  for (int i = threadIdx.x; i < t.workers() * kTwos; i += blockDim.x) {
    const Int3 first = place_of(t, i / kTwos);
    const int row = i % kTwos / kTwosOfRow, two = i % kTwosOfRow;
    const Int3 p{corner.x + first.x, corner.y + first.y + row, corner.z + first.z + 2 * two};
    if (p.x >= frame.end.x || p.y < frame.begin.y || p.y >= frame.end.y ||
        p.z + 1 < frame.begin.z || p.z >= frame.end.z || !is_own_plane(op, frame, p.x))
      continue;
    const Int3 at{onto_grid(frame.origin.x + p.x, op.points.x),
                  onto_grid(frame.origin.y + p.y, op.points.y),
                  onto_grid(frame.origin.z + p.z, op.points.z)};
    float2 sum = sums[i];
    for (int s = 1; s < t.splits; ++s) {
      const float2 other = sums[s * t.workers() * kTwos + i];
      sum = {sum.x + other.x, sum.y + other.y};
    }
    use(at, sum);
  }
}

enum class Wanted { kPotential, kVirial };

// The potential, or one part of the virial.
template <Wanted kWanted, bool kMirrored>
__global__ void __launch_bounds__(kMostThreads, kBlocks)
    stencil_kernel(const __grid_constant__ GpuSweep op, const __grid_constant__ GpuTile t,
                   int charges_or_sums, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ Frame frame;
  const StencilArrays arrays(t, charges_or_sums);
  const int tile_y = t.by_tiles_z(blockIdx.x), tile_z = blockIdx.x - tile_y * t.tiles_z;
  const Int3 corner{static_cast<int>(blockIdx.y) * t.x, tile_y * t.y, tile_z * t.eights * kEight};
  if (op.window) wait_for_previous();
  if (threadIdx.x == 0) frame = frame_of(op);
  __syncthreads();
  if (op.window && !is_needed(op, t, frame, corner)) return;
  const int part = kWanted == Wanted::kVirial ? 1 + static_cast<int>(blockIdx.z) : 0;
  prepare(op, t, arrays, frame, corner, part);
  __syncthreads();
  wait_for_previous();
  release_next();
  fetch_charges(op, t, arrays);

  const int share = t.by_workers(threadIdx.x), worker = threadIdx.x - share * t.workers();
  const Int3 first = place_of(t, worker);
  const float4* const own =
      arrays.charges + first.x * t.pitch.x + first.y * t.pitch.y + first.z / kFour;
  PointSums sums;
  if (share < t.splits)
    sums = sum_share<kMirrored>(t, arrays, own, share, op.stencil.shape.width() / kFour);
  __syncthreads();
  if (share < t.splits) {
    float4* const to = arrays.charges + threadIdx.x * (kPoints / kFour);
#pragma unroll
    for (int i = 0; i < kPoints / kFour; ++i) {
      const float* const four = sums.v[i / kRows] + i % kRows * kFour;
      to[i] = {four[0], four[1], four[2], four[3]};
    }
  }
  __syncthreads();
  if constexpr (kWanted == Wanted::kPotential) {
    use_sums(op, t, arrays, frame, corner, [&](Int3 at, float2 sum) { store(op, at, sum); });
  } else {
    long long virial = 0;
    use_sums(op, t, arrays, frame, corner,
             [&](Int3 at, float2 sum) { virial += virial_of(op, at, sum); });
    virial = warp_sum(virial);
    if (threadIdx.x % kWarp == 0 && virial != 0) add_fixed(op.energy + kVirial + part - 1, virial);
  }
}

// ---- Launch shapes -------------------------------------------------------------------------

// Depends only on the grid, because the order of sums depends on it.
int splits_of(Int3 points) {
  const int64_t size = int64_t{points.x} * points.y * points.z;
  int splits = 32;
  for (int64_t limit = 4 * 1024; splits > 2 && size > limit; limit *= 4) splits /= 2;
  return splits;
}

int blocks_along(int points, int of_tile) { return (points + of_tile - 1) / of_tile; }

// Of the points that have potentials: at most, or where there is a window about.
Int3 extent_of(const GpuSweep& sweep) {
  const Int3 n = sweep.points;
  if (!sweep.window) return {sweep.planes.count, n.y, n.z};
  const int more = sweep.levels.children();
  return {n.x / 2 + more, n.y / 2 + more, n.z / 2 + more};
}

// Cycles that the busiest multiprocessor takes for its tiles, roughly; nothing where a block is too large.
std::optional<double> cost_of(const GpuTile& tile, const GpuSweep& sweep,
                              const CudaContext& context) {
  constexpr double kLanes = 128;                  // of a multiprocessor: instructions in a cycle
  constexpr double kOfPair = 14, kOfCharge = 10;  // instructions for a point; to fetch a charge
  constexpr double kLatency = 3000;               // of a block
  constexpr double kWarpsForAll = 10;             // keep a multiprocessor busy
  const auto shared = static_cast<size_t>(context.shared_memory);
  if (tile.threads() > kMostThreads || tile.bytes() > shared) return {};
  const Int3 extent = extent_of(sweep);
  const int blocks = blocks_along(extent.x, tile.x) * blocks_along(extent.y, tile.y) *
                     blocks_along(extent.z, kEight * tile.eights);
  const int most = std::min(kBlocks, static_cast<int>(shared / tile.bytes()));
  const int of_one = (blocks + context.sm_count - 1) / context.sm_count;
  const double warps = std::min(of_one, most) * (tile.threads() / kWarp);
  const double work = tile.workers() * kPoints * tile.pairs * kOfPair +
                      tile.halo.x * tile.halo.y * tile.halo.z * kOfCharge;
  const double busy = std::min(1.0, warps / kWarpsForAll);
  return of_one * work / (kLanes * busy) + (of_one + most - 1) / most * kLatency;
}

GpuTile choose_tile(const GpuSweep& sweep, bool mirrored, const CudaContext& context) {
  const int splits = splits_of(sweep.points);
  const int all_eights = (sweep.points.z + kEight - 1) / kEight;
  constexpr int kMostEights = 6;
  std::optional<GpuTile> best;
  double least = 0;
  for (const int x : {1, 2, 4, 8})
    for (const int y : {2, 4, 8, 16})
      for (int eights = 1; eights <= std::min(all_eights, kMostEights); ++eights) {
        const GpuTile tile(sweep, x, y, eights, splits, mirrored);
        const std::optional<double> cost = cost_of(tile, sweep, context);
        if (!cost || (best && *cost >= least)) continue;
        best = tile;
        least = *cost;
      }
  if (!best)
    throw Error(
        "the stencil of the fast multipole method does not fit into the shared memory of this GPU: "
        "choose a larger tolerance (fmm_tolerance), a coarser grid (fmm_grid) or a shorter cutoff");
  return *best;
}

template <Wanted kWanted, bool kMirrored>
void launch_stencil(const GpuSweep& sweep, CudaContext& context) {
  const GpuTile tile = choose_tile(sweep, kMirrored, context);
  LaunchShape shape{ConvolveLevel::kName,
                    static_cast<unsigned>(blocks_along(sweep.points.y, tile.y) * tile.tiles_z),
                    static_cast<unsigned>(tile.threads()), tile.bytes(), Start::kEarly};
  const int planes = sweep.window ? sweep.points.x : sweep.planes.count;
  shape.blocks_y = static_cast<unsigned>(blocks_along(planes, tile.x));
  if (kWanted == Wanted::kVirial) shape.blocks_z = Symmetric::kParts;
  launch(context, shape, stencil_kernel<kWanted, kMirrored>, sweep, tile, tile.charges_or_sums());
}

}  // namespace

void convolve_charges(const GpuSweep& sweep, CudaContext& context) {
  if (sweep.stencil.is_even) {
    launch_stencil<Wanted::kPotential, true>(sweep, context);
  } else {
    launch_stencil<Wanted::kPotential, false>(sweep, context);
  }
}

// Its numbers are odd in x for some parts.
void add_virial(const GpuSweep& sweep, CudaContext& context) {
  launch_stencil<Wanted::kVirial, false>(sweep, context);
}

}  // namespace quiltmd
