// SPDX-License-Identifier: Apache-2.0
// The Fourier part of PME on a GPU: planes forward, lines along x with the convolution between the
// two ways, planes back.
//
// A plane that fits the shared memory of one multiprocessor is transformed by one block: three
// kernels in all, each reading and writing its grid once. Planes that do not fit, or of which there
// are a few more than multiprocessors, so that most would idle in a second round, are cut into tiles
// of rows and tiles of columns: five kernels, evenly spread.
#include "computes/pme/cuda_kernels.h"

#include <algorithm>

#include "computes/pme/cuda_fft.cuh"
#include "computes/pme/divider.cuh"
#include "device/cuda/launch.h"
#include "math/fixed.h"
#include "math/units.h"

namespace quiltmd {
namespace {

using fft::Lines;
using fft::Plan;
using fft::Way;

constexpr int kMostThreads = 512;  // 128 registers each: radix 16 needs 32 for its values alone
constexpr int kTileRows = 32;      // one warp across

// Rows of nz real values as nz/2 complex ones, then nz/2+1 complex; the odd pitch keeps a warp that
// goes across rows off its own banks.
struct Shape {
  int nx, ny, nz, half, pitch;
  Plan x, y, z;
  Divider by_half, by_entries;

  explicit Shape(const PmeGrid& g)
      : nx(g.nx), ny(g.ny), nz(g.nz), half(g.nz / 2), pitch((g.nz / 2 + 1) | 1),
        by_half(g.nz / 2), by_entries(g.nz / 2 + 1) {
    const bool fits = g.nz % 2 == 0 && fft::make_plan(nx, x) && fft::make_plan(ny, y) &&
                      fft::make_plan(half, z);
    if (!fits)
      throw Error("The PME grid must have lengths made of the factors 2, 3, 5 and 7, even in z; it is " +
                  std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz) + ".");
  }
  int entries() const { return half + 1; }
};

// ---- Shared memory -------------------------------------------------------------------------

// Cuts the dynamic shared memory of a block into arrays.
class Carver {
 public:
  __device__ explicit Carver(void* memory) : at_(static_cast<char*>(memory)) {}
  template <class T>
  __device__ T* take(int count) {
    T* const array = reinterpret_cast<T*>(at_);
    at_ += (count * sizeof(T) + 7) / 8 * 8;
    return array;
  }

 private:
  char* at_;
};
template <class T>
size_t carved(int count) {
  return (static_cast<size_t>(count) * sizeof(T) + 7) / 8 * 8;
}

extern __shared__ double2 shared_memory[];

// positions[k]: where the forward transform leaves frequency k.
__device__ void fill_positions(uint16_t* positions, const Plan& plan) {
  for (int k = threadIdx.x; k < plan.n; k += blockDim.x)
    positions[k] = static_cast<uint16_t>(fft::position_of(plan, k));
}

// ---- Rows along z --------------------------------------------------------------------------

struct RowTables {
  Complex* roots;       // of nz
  uint16_t* positions;  // entry -> place in the row
};

__device__ RowTables row_tables(Carver& carver, const Shape& s) {
  const RowTables t{carver.take<Complex>(s.nz), carver.take<uint16_t>(s.half + 1)};
  fft::fill_roots(t.roots, s.nz);
  fill_positions(t.positions, s.z);
  if (threadIdx.x == 0) t.positions[s.half] = static_cast<uint16_t>(s.half);
  return t;
}
size_t row_table_bytes(const Shape& s) {
  return carved<Complex>(s.nz) + carved<uint16_t>(s.half + 1);
}

// From the transform of (even, odd) pairs to that of the real row, or back; in place.
template <Way way>
__device__ void split_rows(Complex* data, int rows, const Shape& s, const RowTables& tables) {
  const int lane = threadIdx.x & 31, rounds = (rows + 31) / 32, pairs = s.half / 2 + 1;
  for (int item = threadIdx.x / 32; item < rounds * pairs; item += blockDim.x / 32) {
    const int k = item / rounds, row = (item - k * rounds) * 32 + lane;
    if (row >= rows) continue;
    Complex* line = data + row * s.pitch;
    Complex& low = line[tables.positions[k]];
    Complex& high = line[tables.positions[s.half - k]];
    const Complex root = tables.roots[k];
    if constexpr (way == Way::kForward) {
      const Complex a = low, b = k == 0 ? a : high;
      const Complex even{0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
      const Complex odd{0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
      const Complex turned = fft::operator*(root, odd);
      low = fft::operator+(even, turned);
      high = {even.re - turned.re, turned.im - even.im};
    } else {
      const Complex a = low, b = high;
      const Complex even{a.re + b.re, a.im - b.im};
      const Complex difference{a.re - b.re, a.im + b.im};
      const Complex odd = fft::operator*(Complex{root.re, -root.im}, difference);
      low = {even.re - odd.im, even.im + odd.re};
      if (k > 0) high = {even.re + odd.im, odd.re - even.im};
    }
  }
  __syncthreads();
}

template <class Source>
__device__ void load_rows(Complex* data, int rows, const Shape& s, Source source) {
  const int total = rows * s.half;
#pragma unroll 4
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    const int row = s.by_half(i);
    data[i + row * (s.pitch - s.half)] = source(i);
  }
}

__device__ void forward_rows(Complex* data, int rows, const Shape& s, const RowTables& tables) {
  fft::transform<Way::kForward>(Lines{data, rows, s.pitch, 1, 32}, s.z, tables.roots, 2);
  split_rows<Way::kForward>(data, rows, s, tables);
}

__device__ void inverse_rows(Complex* data, int rows, const Shape& s, const RowTables& tables) {
  split_rows<Way::kInverse>(data, rows, s, tables);
  fft::transform<Way::kInverse>(Lines{data, rows, s.pitch, 1, 32}, s.z, tables.roots, 2);
}

struct FromFixed {
  const int2* charges;
  __device__ Complex operator()(int i) const {
    const int2 pair = charges[i];
    constexpr float scale = static_cast<float>(1.0 / kChargeScale);
    return {scale * static_cast<float>(pair.x), scale * static_cast<float>(pair.y)};
  }
};

__device__ void store_potential(const Complex* data, int rows, const Shape& s, float2* potential) {
  const int total = rows * s.half;
#pragma unroll 4
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    const Complex pair = data[i + s.by_half(i) * (s.pitch - s.half)];
    potential[i] = {pair.re, pair.im};
  }
}

// ---- Whole planes --------------------------------------------------------------------------

struct PlaneMemory {
  Complex* data;
  RowTables rows;
  Complex* roots_y;
  uint16_t* positions_y;
};

__device__ PlaneMemory plane_memory(const Shape& s) {
  Carver carver(shared_memory);
  PlaneMemory m{};
  m.data = carver.take<Complex>(s.ny * s.pitch);
  m.rows = row_tables(carver, s);
  m.roots_y = carver.take<Complex>(s.ny);
  m.positions_y = carver.take<uint16_t>(s.ny);
  fft::fill_roots(m.roots_y, s.ny);
  fill_positions(m.positions_y, s.y);
  return m;
}
size_t plane_bytes(const Shape& s) {
  return carved<Complex>(s.ny * s.pitch) + row_table_bytes(s) + carved<Complex>(s.ny) +
         carved<uint16_t>(s.ny);
}

// f(global entry, place in shared memory) over a plane of the spectrum.
template <class F>
__device__ void over_spectrum(const PlaneMemory& m, const Shape& s, F f) {
  const int total = s.ny * (s.half + 1);
#pragma unroll 4
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    const int y = s.by_entries(i), k = i - y * (s.half + 1);
    f(i, m.data + m.positions_y[y] * s.pitch + m.rows.positions[k]);
  }
}

__global__ void __launch_bounds__(kMostThreads)
    forward_planes(const __grid_constant__ Shape s, int first, const int32_t* charges,
                   Complex* spectrum) {
  const int64_t x = first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  wait_for_previous();
  load_rows(m.data, s.ny, s, FromFixed{reinterpret_cast<const int2*>(charges) + x * s.ny * s.half});
  __syncthreads();
  forward_rows(m.data, s.ny, s, m.rows);
  fft::transform<Way::kForward>(Lines{m.data, s.half + 1, 1, s.pitch, 32}, s.y, m.roots_y, 1);
  release_next();
  Complex* out = spectrum + x * s.ny * (s.half + 1);
  over_spectrum(m, s, [&](int i, const Complex* from) { out[i] = *from; });
}

__global__ void __launch_bounds__(kMostThreads)
    inverse_planes_kernel(const __grid_constant__ Shape s, int first, const Complex* spectrum,
                          float* potential) {
  const int64_t x = first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  __syncthreads();
  wait_for_previous();
  const Complex* in = spectrum + x * s.ny * (s.half + 1);
  over_spectrum(m, s, [&](int i, Complex* to) { *to = in[i]; });
  __syncthreads();
  fft::transform<Way::kInverse>(Lines{m.data, s.half + 1, 1, s.pitch, 32}, s.y, m.roots_y, 1);
  inverse_rows(m.data, s.ny, s, m.rows);
  release_next();
  store_potential(m.data, s.ny, s, reinterpret_cast<float2*>(potential) + x * s.ny * s.half);
}

// ---- Tiles of rows -------------------------------------------------------------------------

__global__ void __launch_bounds__(kMostThreads)
    forward_row_tiles(const __grid_constant__ Shape s, int64_t first_row, int rows,
                      const int32_t* charges, Complex* spectrum) {
  const int64_t row = first_row + blockIdx.x * kTileRows;
  const int here = min(kTileRows, rows - static_cast<int>(blockIdx.x) * kTileRows);
  Carver carver(shared_memory);
  Complex* data = carver.take<Complex>(kTileRows * s.pitch);
  const RowTables tables = row_tables(carver, s);
  wait_for_previous();
  load_rows(data, here, s, FromFixed{reinterpret_cast<const int2*>(charges) + row * s.half});
  __syncthreads();
  forward_rows(data, here, s, tables);
  release_next();
  Complex* out = spectrum + row * (s.half + 1);
#pragma unroll 4
  for (int i = threadIdx.x; i < here * (s.half + 1); i += blockDim.x) {
    const int r = s.by_entries(i);
    out[i] = data[r * s.pitch + tables.positions[i - r * (s.half + 1)]];
  }
}

__global__ void __launch_bounds__(kMostThreads)
    inverse_row_tiles(const __grid_constant__ Shape s, int64_t first_row, int rows,
                      const Complex* spectrum, float* potential) {
  const int64_t row = first_row + blockIdx.x * kTileRows;
  const int here = min(kTileRows, rows - static_cast<int>(blockIdx.x) * kTileRows);
  Carver carver(shared_memory);
  Complex* data = carver.take<Complex>(kTileRows * s.pitch);
  const RowTables tables = row_tables(carver, s);
  __syncthreads();
  wait_for_previous();
  const Complex* in = spectrum + row * (s.half + 1);
#pragma unroll 4
  for (int i = threadIdx.x; i < here * (s.half + 1); i += blockDim.x) {
    const int r = s.by_entries(i);
    data[r * s.pitch + tables.positions[i - r * (s.half + 1)]] = in[i];
  }
  __syncthreads();
  inverse_rows(data, here, s, tables);
  release_next();
  store_potential(data, here, s, reinterpret_cast<float2*>(potential) + row * s.half);
}

size_t row_tile_bytes(const Shape& s) {
  return carved<Complex>(kTileRows * s.pitch) + row_table_bytes(s);
}

// ---- Tiles of columns ----------------------------------------------------------------------

// `n` elements `stride` apart, for `width` neighbouring columns of which `here` exist.
struct Tile {
  Complex* data;
  Complex* roots;
  uint16_t* positions;
  int width, here;

  __device__ Lines lines() const { return {data, here, 1, width, width}; }
};

__device__ Tile make_tile(const Plan& plan, int width, int entries) {
  Carver carver(shared_memory);
  const int first = blockIdx.x * width;
  Tile t{carver.take<Complex>(plan.n * width), carver.take<Complex>(plan.n),
         carver.take<uint16_t>(plan.n), width, min(width, entries - first)};
  fft::fill_roots(t.roots, plan.n);
  fill_positions(t.positions, plan);
  return t;
}
size_t tile_bytes(const Plan& plan, int width) {
  return carved<Complex>(plan.n * width) + carved<Complex>(plan.n) + carved<uint16_t>(plan.n);
}

// f(place in the tile, element, column) for every element of a tile.
template <class F>
__device__ void over_tile(const Tile& t, int n, F f) {
  const int column = threadIdx.x & (t.width - 1);
  if (column >= t.here) return;
#pragma unroll 4
  for (int e = threadIdx.x / t.width; e < n; e += blockDim.x / t.width)
    f(e * t.width + column, e, column);
}

template <Way way>
__global__ void __launch_bounds__(kMostThreads)
    column_tiles(const __grid_constant__ Shape s, int first, int width, Complex* spectrum) {
  const int64_t x = first + blockIdx.y;
  const int entries = s.half + 1;
  const Tile t = make_tile(s.y, width, entries);
  Complex* base = spectrum + x * s.ny * entries + blockIdx.x * width;
  __syncthreads();
  wait_for_previous();
  over_tile(t, s.ny, [&](int place, int y, int column) {
    const Complex value = base[y * entries + column];
    t.data[way == Way::kForward ? place : t.positions[y] * width + column] = value;
  });
  __syncthreads();
  fft::transform<way>(t.lines(), s.y, t.roots, 1);
  release_next();
  over_tile(t, s.ny, [&](int place, int y, int column) {
    base[y * entries + column] =
        t.data[way == Way::kForward ? t.positions[y] * width + column : place];
  });
}

// ---- Convolution ---------------------------------------------------------------------------

// exp(-pi^2 m^2/alpha^2)/(pi V m^2) |b(m)|^2, with m = sum of k_d times the reciprocal vectors.
struct Influence {
  float xx, xy, xz, yy, yz, zz;  // reciprocal vectors: component of dimension 1 along axis 2
  float decay;                   // -pi^2/alpha^2
  float scale;                   // 1/(pi V)
  const float* moduli[3];

  Influence(const ConvolveLines& op) {
    const Box& b = op.grid.box;
    xx = static_cast<float>(1 / b.ax);
    xy = static_cast<float>(-b.bx / (b.ax * b.by));
    xz = static_cast<float>((b.bx * b.cy - b.by * b.cx) / (b.ax * b.by * b.cz));
    yy = static_cast<float>(1 / b.by);
    yz = static_cast<float>(-b.cy / (b.by * b.cz));
    zz = static_cast<float>(1 / b.cz);
    decay = static_cast<float>(-kPi * kPi / (op.alpha * op.alpha));
    scale = static_cast<float>(1 / (kPi * b.volume()));
    for (int d = 0; d < 3; ++d) moduli[d] = op.moduli[d];
  }

  // Signed frequencies kx, ky, kz >= 0; `modulus` is the product of the three |b|^2.
  __device__ float operator()(float kx, float ky, float kz, float modulus) const {
    const float mx = kx * xx;
    const float my = __fmaf_rn(kx, xy, ky * yy);
    const float mz = __fmaf_rn(kx, xz, __fmaf_rn(ky, yz, kz * zz));
    const float m2 = __fmaf_rn(mx, mx, __fmaf_rn(my, my, mz * mz));
    const float value = __fdividef(scale * modulus * __expf(decay * m2), m2);
    return m2 > 0.0f ? value : 0.0f;
  }
};

__device__ __forceinline__ float signed_frequency(int k, int n) {
  return static_cast<float>(2 * k > n ? k - n : k);
}

// Sum over the block in an order that does not depend on timing; valid in thread 0.
__device__ double block_sum(double value, double* scratch) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += scratch[w];
  return sum;
}

template <bool with_energy>
__global__ void __launch_bounds__(kMostThreads)
    convolve_tiles(const __grid_constant__ Shape s, int first, int width,
                   const __grid_constant__ Influence influence, Complex* spectrum,
                   int64_t* energy) {
  const int y = first + blockIdx.y, entries = s.half + 1;
  const int64_t plane = static_cast<int64_t>(s.ny) * entries;
  const Tile t = make_tile(s.x, width, entries);
  Complex* base = spectrum + static_cast<int64_t>(y) * entries + blockIdx.x * width;
  wait_for_previous();
  over_tile(t, s.nx, [&](int place, int x, int column) { t.data[place] = base[x * plane + column]; });
  __syncthreads();
  fft::transform<Way::kForward>(t.lines(), s.x, t.roots, 1);

  const float ky = signed_frequency(y, s.ny), modulus_y = influence.moduli[1][y];
  double sum = 0;
  over_tile(t, s.nx, [&](int, int k, int column) {
    const int kz = blockIdx.x * width + column;
    const float modulus = modulus_y * influence.moduli[0][k] * influence.moduli[2][kz];
    const float g = influence(signed_frequency(k, s.nx), ky, static_cast<float>(kz), modulus);
    Complex& value = t.data[t.positions[k] * width + column];
    const Complex v = value;
    if (with_energy) {
      const float weight = kz == 0 || kz == s.half ? 0.5f : 1.0f;
      sum += weight * g * __fmaf_rn(v.re, v.re, v.im * v.im);
    }
    value = {g * v.re, g * v.im};
  });
  __syncthreads();
  fft::transform<Way::kInverse>(t.lines(), s.x, t.roots, 1);
  release_next();
  over_tile(t, s.nx, [&](int place, int x, int column) { base[x * plane + column] = t.data[place]; });
  if constexpr (with_energy) {
    __syncthreads();
    const double total = block_sum(sum, reinterpret_cast<double*>(t.data));
    if (threadIdx.x == 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(energy),
                static_cast<unsigned long long>(to_fixed(total, kEnergyScale)));
  }
}

// ---- Launch shapes -------------------------------------------------------------------------

// About eight values a thread, a few butterflies each, in whole warps.
unsigned threads_for(int values) {
  return static_cast<unsigned>(std::clamp((values / 8 + 31) / 32 * 32, 64, kMostThreads));
}

// Columns of a tile: wide enough for whole sectors of memory, narrow enough to occupy the machine.
int tile_width(int entries, int tiles_per_column, int sm_count) {
  for (int width = 32; width > 8; width /= 2)
    if ((entries + width - 1) / width * tiles_per_column >= 4 * sm_count) return width;
  return 8;
}

}  // namespace

bool plane_fits(const PmeGrid& grid, const CudaContext& context) {
  return plane_bytes(Shape(grid)) <= static_cast<size_t>(context.shared_memory);
}

PlaneRoute plane_route(const PmeGrid& grid, int planes, const CudaContext& context) {
  if (!plane_fits(grid, context)) return PlaneRoute::kTiles;
  const size_t bytes = plane_bytes(Shape(grid));
  constexpr size_t kSharedOfMultiprocessor = 227 * 1024;
  const int resident = static_cast<int>(kSharedOfMultiprocessor / (bytes + 1024));
  return planes <= resident * context.sm_count ? PlaneRoute::kWhole : PlaneRoute::kTiles;
}

void transform_planes_by(PlaneRoute route, const TransformPlanes& op, CudaContext& context) {
  const Shape s(op.grid);
  const auto planes = static_cast<unsigned>(op.count);
  if (route == PlaneRoute::kWhole) {
    launch(context,
           {"transform_planes", planes, threads_for(s.ny * s.half), plane_bytes(s), Start::kEarly},
           forward_planes, s, op.first, op.charges, op.spectrum);
    return;
  }
  const int rows = op.count * s.ny;
  launch(context,
         {"transform_rows", blocks_for(rows, kTileRows), threads_for(kTileRows * s.half),
          row_tile_bytes(s), Start::kEarly},
         forward_row_tiles, s, static_cast<int64_t>(op.first) * s.ny, rows, op.charges, op.spectrum);
  const int width = tile_width(s.entries(), op.count, context.sm_count);
  launch(context,
         {"transform_columns", blocks_for(s.entries(), width), threads_for(width * s.ny),
          tile_bytes(s.y, width), Start::kEarly, planes},
         column_tiles<Way::kForward>, s, op.first, width, op.spectrum);
}

void inverse_planes_by(PlaneRoute route, const InversePlanes& op, CudaContext& context) {
  const Shape s(op.grid);
  const auto planes = static_cast<unsigned>(op.count);
  if (route == PlaneRoute::kWhole) {
    launch(context,
           {"inverse_planes", planes, threads_for(s.ny * s.half), plane_bytes(s), Start::kEarly},
           inverse_planes_kernel, s, op.first, op.spectrum, op.potential);
    return;
  }
  const int width = tile_width(s.entries(), op.count, context.sm_count);
  launch(context,
         {"inverse_columns", blocks_for(s.entries(), width), threads_for(width * s.ny),
          tile_bytes(s.y, width), Start::kEarly, planes},
         column_tiles<Way::kInverse>, s, op.first, width, op.spectrum);
  const int rows = op.count * s.ny;
  launch(context,
         {"inverse_rows", blocks_for(rows, kTileRows), threads_for(kTileRows * s.half),
          row_tile_bytes(s), Start::kEarly},
         inverse_row_tiles, s, static_cast<int64_t>(op.first) * s.ny, rows, op.spectrum,
         op.potential);
}

void transform_planes(const TransformPlanes& op, CudaContext& context) {
  transform_planes_by(plane_route(op.grid, op.count, context), op, context);
}

void inverse_planes(const InversePlanes& op, CudaContext& context) {
  inverse_planes_by(plane_route(op.grid, op.count, context), op, context);
}

void convolve_lines(const ConvolveLines& op, CudaContext& context) {
  const Shape s(op.grid);
  const int width = tile_width(s.entries(), op.count, context.sm_count);
  const LaunchShape shape{"convolve_lines", blocks_for(s.entries(), width),
                          threads_for(width * s.nx), tile_bytes(s.x, width), Start::kEarly,
                          static_cast<unsigned>(op.count)};
  const Influence influence(op);
  if (op.energy) {
    launch(context, shape, convolve_tiles<true>, s, op.first, width, influence, op.spectrum,
           op.energy + kReciprocal);
  } else {
    launch(context, shape, convolve_tiles<false>, s, op.first, width, influence, op.spectrum,
           op.energy);
  }
}

}  // namespace quiltmd
