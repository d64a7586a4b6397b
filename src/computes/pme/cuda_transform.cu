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
using fft::Run;
using fft::Way;

constexpr int kPlaneThreads = 512;  // 128 registers each: radix 16 needs 32 for its values alone
constexpr int kTileThreads = 256;
constexpr int kTileRows = 32;

// Rows of nz real values as nz/2 complex ones, then nz/2+1 complex; the odd pitch keeps a warp that
// goes across rows off its own banks.
struct Shape {
  int nx, ny, nz, half, pitch;
  Plan x, y, z;
  Divider by_rows, by_tile_rows, by_last_rows, by_entries;

  Shape(const PmeGrid& g, int planes)
      : nx(g.nx), ny(g.ny), nz(g.nz), half(g.nz / 2), pitch((g.nz / 2 + 1) | 1), by_rows(g.ny),
        by_tile_rows(kTileRows), by_last_rows((planes * g.ny - 1) % kTileRows + 1),
        by_entries(g.nz / 2 + 1) {
    const bool fits = g.nz % 2 == 0 && fft::make_plan(nx, x) && fft::make_plan(ny, y) &&
                      fft::make_plan(half, z);
    if (!fits)
      throw Error("The PME grid must have lengths made of the factors 2, 3, 5 and 7, even in z; it is " +
                  std::to_string(nx) + " x " + std::to_string(ny) + " x " + std::to_string(nz) + ".");
  }
  __host__ __device__ int entries() const { return half + 1; }
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

// From entries k and half - k of the transform of (even, odd) pairs to those of the real row.
__device__ __forceinline__ void split_pair(Complex root, Complex& low, Complex& high) {
  const Complex a = low, b = high;
  const Complex even{0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
  const Complex odd{0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
  const Complex turned = fft::operator*(root, odd);
  low = fft::operator+(even, turned);
  high = {even.re - turned.re, turned.im - even.im};
}
// And back.
__device__ __forceinline__ void merge_pair(Complex root, Complex& low, Complex& high) {
  const Complex a = low, b = high;
  const Complex even{a.re + b.re, a.im - b.im};
  const Complex difference{a.re - b.re, a.im + b.im};
  const Complex odd = fft::operator*(Complex{root.re, -root.im}, difference);
  low = {even.re - odd.im, even.im + odd.re};
  high = {even.re + odd.im, odd.re - even.im};
}

// The two butterflies of the last pass along z that hold entries k and half - k for
// k = lowest + r * step; of the second, value R - 1 - r belongs to value r of the first.
template <int R>
struct RowPair {
  Complex* line;
  int lowest, step;
  int place, partner;  // of the first value of each
  bool own;            // lowest is 0: the butterfly is its own partner, one value further

  __device__ __forceinline__ RowPair(Complex* row, int k, const Shape& s, const RowTables& tables)
      : line(row), lowest(k), step(s.half / R), place(tables.positions[k]),
        partner(tables.positions[k == 0 ? 0 : s.half / R - k]), own(k == 0) {}
  __device__ __forceinline__ Complex& low(int r) const { return line[place + r]; }
  __device__ __forceinline__ Complex& high(int r, const Shape& s) const {
    return line[!own ? partner + R - 1 - r : (r == 0 ? s.half : place + R - r)];
  }
};

// The last pass along z, and the rows split, in one go.
template <int R>
__device__ __forceinline__ void last_pass_and_split(const RowPair<R>& pair, const Shape& s,
                                                    const Complex* roots) {
  Complex x[R], y[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    x[r] = pair.low(r);
    y[r] = pair.line[pair.partner + r];
  }
  fft::dft<R>(x);
  fft::dft<R>(y);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    Complex low = x[r], high = pair.own ? x[(R - r) % R] : y[R - 1 - r];
    split_pair(roots[pair.lowest + r * pair.step], low, high);
    pair.low(r) = low;
    pair.high(r, s) = high;
  }
}

template <int R>
__device__ __forceinline__ void merge_and_first_pass(const RowPair<R>& pair, const Shape& s,
                                                     const Complex* roots) {
  Complex x[R], y[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    Complex low = pair.low(r), high = pair.high(r, s);
    merge_pair(roots[pair.lowest + r * pair.step], low, high);
    x[r] = fft::swapped(low);
    y[R - 1 - r] = fft::swapped(high);
  }
  fft::dft<R>(x);
  fft::dft<R>(y);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    pair.low(r) = fft::swapped(x[r]);
    if (!pair.own) pair.line[pair.partner + r] = fft::swapped(y[r]);
  }
}

// The outermost pass of rows, together with the split (forward) or the merge (inverse) that real
// rows need. Ends with a barrier.
template <Way way>
__device__ void outer_pass(const Lines& lines, const Shape& s, const RowTables& tables) {
  fft::with_radix(s.z.pass[s.z.passes - 1].radix, [&](auto radix) {
    fft::over_items(lines.count * (s.half / radix / 2 + 1), [&](int item) {
      const int k = lines.by_count(item), row = item - k * lines.count;
      const RowPair<radix> pair(&lines.at(row, 0), k, s, tables);
      if constexpr (way == Way::kForward) {
        last_pass_and_split<radix>(pair, s, tables.roots);
      } else {
        merge_and_first_pass<radix>(pair, s, tables.roots);
      }
    });
  });
  __syncthreads();
}

// Charges to the spectra of rows, in their places.
__device__ void forward_rows(const Lines& lines, const int2* charges, const Shape& s,
                             const RowTables& tables) {
  constexpr float scale = static_cast<float>(1.0 / kChargeScale);
  fft::first_forward<Run::kAlongLines>(lines, s.z, [&](int row, int e) {
    const int2 pair = charges[row * s.half + e];
    return Complex{scale * static_cast<float>(pair.x), scale * static_cast<float>(pair.y)};
  });
  fft::inner_passes<Way::kForward>(lines, s.z);
  outer_pass<Way::kForward>(lines, s, tables);
}

// Spectra of rows, in their places, to the potential.
__device__ void inverse_rows(const Lines& lines, float2* potential, const Shape& s,
                             const RowTables& tables) {
  outer_pass<Way::kInverse>(lines, s, tables);
  fft::inner_passes<Way::kInverse>(lines, s.z);
  release_next();
  fft::last_inverse<Run::kAlongLines>(lines, s.z, [&](int row, int e, Complex value) {
    potential[row * s.half + e] = {value.re, value.im};
  });
}

// ---- Whole planes --------------------------------------------------------------------------

struct PlaneMemory {
  Complex* data;
  RowTables tables;
  Complex* roots_y;

  __device__ Lines rows(const Shape& s) const {
    return {data, s.ny, s.by_rows, s.pitch, 1, tables.roots, 2};
  }
  __device__ Lines columns(const Shape& s) const {
    return {data, s.entries(), s.by_entries, 1, s.pitch, roots_y, 1};
  }
};

// Ends with a barrier.
__device__ PlaneMemory plane_memory(const Shape& s) {
  Carver carver(shared_memory);
  PlaneMemory m{};
  m.data = carver.take<Complex>(s.ny * s.pitch);
  m.tables = row_tables(carver, s);
  m.roots_y = carver.take<Complex>(s.ny);
  fft::fill_roots(m.roots_y, s.ny);
  __syncthreads();
  return m;
}
size_t plane_bytes(const Shape& s) {
  return carved<Complex>(s.ny * s.pitch) + row_table_bytes(s) + carved<Complex>(s.ny);
}

__global__ void __launch_bounds__(kPlaneThreads)
    forward_planes(const __grid_constant__ Shape s, int first, const int32_t* charges,
                   Complex* spectrum) {
  const int64_t x = first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  wait_for_previous();
  forward_rows(m.rows(s), reinterpret_cast<const int2*>(charges) + x * s.ny * s.half, s, m.tables);
  const Lines columns = m.columns(s);
  if (s.y.passes > 1) fft::pass_in_place<Way::kForward>(columns, s.y, 0);
  fft::inner_passes<Way::kForward>(columns, s.y);
  release_next();
  Complex* out = spectrum + x * s.ny * s.entries();
  fft::last_forward(columns, s.y, [&](int k) { return m.tables.positions[k]; },
                    [&](int k, int y, Complex value) { out[y * s.entries() + k] = value; });
}

__global__ void __launch_bounds__(kPlaneThreads)
    inverse_planes_kernel(const __grid_constant__ Shape s, int first, const Complex* spectrum,
                          float* potential) {
  const int64_t x = first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  wait_for_previous();
  const Complex* in = spectrum + x * s.ny * s.entries();
  const Lines columns = m.columns(s);
  fft::first_inverse(columns, s.y, [&](int k) { return m.tables.positions[k]; },
                     [&](int k, int y) { return in[y * s.entries() + k]; });
  fft::inner_passes<Way::kInverse>(columns, s.y);
  if (s.y.passes > 1) fft::pass_in_place<Way::kInverse>(columns, s.y, 0);
  inverse_rows(m.rows(s), reinterpret_cast<float2*>(potential) + x * s.ny * s.half, s, m.tables);
}

// ---- Tiles of rows -------------------------------------------------------------------------

struct RowTile {
  Lines lines;
  RowTables tables;
};

// The tile of this block, of `rows` rows in all. Ends with a barrier.
__device__ RowTile row_tile(const Shape& s, int rows) {
  const int here = min(kTileRows, rows - static_cast<int>(blockIdx.x) * kTileRows);
  Carver carver(shared_memory);
  Complex* data = carver.take<Complex>(kTileRows * s.pitch);
  const RowTables tables = row_tables(carver, s);
  __syncthreads();
  const Divider by_here = here == kTileRows ? s.by_tile_rows : s.by_last_rows;
  return {{data, here, by_here, s.pitch, 1, tables.roots, 2}, tables};
}
size_t row_tile_bytes(const Shape& s) {
  return carved<Complex>(kTileRows * s.pitch) + row_table_bytes(s);
}

// f(entry, its place) over the entries of a tile's rows.
template <class F>
__device__ __forceinline__ void over_entries(const RowTile& tile, const Shape& s, F f) {
  fft::over_items(tile.lines.count * s.entries(), [&](int item) {
    const int row = s.by_entries(item), k = item - row * s.entries();
    f(item, tile.lines.at(row, tile.tables.positions[k]));
  });
}

__global__ void __launch_bounds__(kTileThreads)
    forward_row_tiles(const __grid_constant__ Shape s, int64_t first_row, int rows,
                      const int32_t* charges, Complex* spectrum) {
  const int64_t row = first_row + blockIdx.x * kTileRows;
  const RowTile tile = row_tile(s, rows);
  wait_for_previous();
  forward_rows(tile.lines, reinterpret_cast<const int2*>(charges) + row * s.half, s, tile.tables);
  release_next();
  Complex* out = spectrum + row * s.entries();
  over_entries(tile, s, [&](int item, Complex& value) { out[item] = value; });
}

__global__ void __launch_bounds__(kTileThreads)
    inverse_row_tiles(const __grid_constant__ Shape s, int64_t first_row, int rows,
                      const Complex* spectrum, float* potential) {
  const int64_t row = first_row + blockIdx.x * kTileRows;
  const RowTile tile = row_tile(s, rows);
  wait_for_previous();
  const Complex* in = spectrum + row * s.entries();
  over_entries(tile, s, [&](int item, Complex& value) { value = in[item]; });
  __syncthreads();
  inverse_rows(tile.lines, reinterpret_cast<float2*>(potential) + row * s.half, s, tile.tables);
}

// ---- Tiles of columns ----------------------------------------------------------------------

// `width` neighbouring columns of n elements each. Ends with a barrier.
__device__ Lines column_tile(const Plan& plan, int width, Divider by_width) {
  Carver carver(shared_memory);
  Complex* data = carver.take<Complex>(plan.n * width);
  Complex* roots = carver.take<Complex>(plan.n);
  fft::fill_roots(roots, plan.n);
  __syncthreads();
  return {data, width, by_width, 1, width, roots, 1};
}
size_t tile_bytes(const Plan& plan, int width) {
  return carved<Complex>(plan.n * width) + carved<Complex>(plan.n);
}

template <Way way>
__global__ void __launch_bounds__(kTileThreads)
    column_tiles(const __grid_constant__ Shape s, int first, int width, Divider by_width,
                 Complex* spectrum) {
  const int64_t x = first + blockIdx.y;
  const int entries = s.entries(), column = blockIdx.x * width;
  const Lines lines = column_tile(s.y, width, by_width);
  Complex* base = spectrum + x * s.ny * entries + column;
  const int here = min(width, entries - column);
  const auto get = [&](int line, int y) {
    return line < here ? base[y * entries + line] : Complex{0, 0};
  };
  const auto put = [&](int line, int y, Complex value) {
    if (line < here) base[y * entries + line] = value;
  };
  const auto same = [](int line) { return line; };
  wait_for_previous();
  if constexpr (way == Way::kForward) {
    fft::first_forward<Run::kAcrossLines>(lines, s.y, get);
    fft::inner_passes<way>(lines, s.y);
    release_next();
    fft::last_forward(lines, s.y, same, put);
  } else {
    fft::first_inverse(lines, s.y, same, get);
    fft::inner_passes<way>(lines, s.y);
    release_next();
    fft::last_inverse<Run::kAcrossLines>(lines, s.y, put);
  }
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

// One tile of lines along x: `width` neighbours in z of one y.
struct ConvolveTile {
  const Influence& influence;
  const Shape& s;
  int y, first_z;
  bool with_energy;
  float ky, modulus_y;
  double energy = 0;

  __device__ ConvolveTile(const Influence& i, const Shape& shape, int line, int z, bool sums)
      : influence(i), s(shape), y(line), first_z(z), with_energy(sums),
        ky(signed_frequency(line, shape.ny)), modulus_y(i.moduli[1][line]) {}

  // Entry k of a column: times the influence function; adds its energy.
  __device__ __forceinline__ Complex operator()(int column, int k, Complex v) {
    const int kz = first_z + column;
    const float modulus = modulus_y * influence.moduli[0][k] * influence.moduli[2][min(kz, s.half)];
    const float g = influence(signed_frequency(k, s.nx), ky, static_cast<float>(kz), modulus);
    if (with_energy && kz <= s.half) {
      const float weight = kz == 0 || kz == s.half ? 0.5f : 1.0f;
      energy += weight * g * __fmaf_rn(v.re, v.re, v.im * v.im);
    }
    return {g * v.re, g * v.im};
  }
};

// The last pass forward, the convolution and the first pass back: they work on the same values.
// Ends with a barrier.
__device__ void convolve_pass(const Lines& lines, const Plan& plan, ConvolveTile& tile) {
  fft::with_radix(plan.pass[plan.passes - 1].radix, [&](auto radix) {
    const int step = plan.n / radix;
    fft::over_lines<Run::kAcrossLines>(lines, step, {}, [&](int column, int b) {
      const int lowest = fft::lowest_frequency(plan, b);
      Complex x[radix];
#pragma unroll
      for (int r = 0; r < radix; ++r) x[r] = lines.at(column, b * radix + r);
      fft::dft<radix>(x);
#pragma unroll
      for (int r = 0; r < radix; ++r)
        x[r] = fft::swapped(tile(column, lowest + r * step, x[r]));
      fft::dft<radix>(x);
#pragma unroll
      for (int r = 0; r < radix; ++r) lines.at(column, b * radix + r) = fft::swapped(x[r]);
    });
  });
  __syncthreads();
}

template <bool with_energy>
__global__ void __launch_bounds__(kTileThreads)
    convolve_tiles(const __grid_constant__ Shape s, int first, int width, Divider by_width,
                   const __grid_constant__ Influence influence, Complex* spectrum,
                   int64_t* energy) {
  const int y = first + blockIdx.y, entries = s.entries(), column = blockIdx.x * width;
  const int64_t plane = static_cast<int64_t>(s.ny) * entries;
  const Lines lines = column_tile(s.x, width, by_width);
  ConvolveTile tile(influence, s, y, column, with_energy);
  Complex* base = spectrum + static_cast<int64_t>(y) * entries + column;
  const int here = min(width, entries - column);
  wait_for_previous();
  fft::first_forward<Run::kAcrossLines>(lines, s.x, [&](int line, int x) {
    return line < here ? base[x * plane + line] : Complex{0, 0};
  });
  fft::inner_passes<Way::kForward>(lines, s.x);
  convolve_pass(lines, s.x, tile);
  fft::inner_passes<Way::kInverse>(lines, s.x);
  release_next();
  fft::last_inverse<Run::kAcrossLines>(lines, s.x, [&](int line, int x, Complex value) {
    if (line < here) base[x * plane + line] = value;
  });
  if constexpr (with_energy) {
    __syncthreads();
    const double total = block_sum(tile.energy, reinterpret_cast<double*>(lines.data));
    if (threadIdx.x == 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(energy),
                static_cast<unsigned long long>(to_fixed(total, kEnergyScale)));
  }
}

// ---- Launch shapes -------------------------------------------------------------------------

// A thread a butterfly of the pass that has most, in whole warps.
unsigned threads_for(int butterflies, int most) {
  return static_cast<unsigned>(std::clamp((butterflies + 31) / 32 * 32, 64, most));
}
unsigned plane_threads(const Shape& s) {
  const int rows = s.ny * std::max(s.z.most_butterflies(), s.half / 2 / s.z.pass[s.z.passes - 1].radix);
  return threads_for(std::max(rows, s.entries() * s.y.most_butterflies()), kPlaneThreads);
}
unsigned row_tile_threads(const Shape& s) {
  return threads_for(kTileRows * s.z.most_butterflies(), kTileThreads);
}
unsigned column_tile_threads(const Plan& plan, int width) {
  return threads_for(width * plan.most_butterflies(), kTileThreads);
}

// Columns of a tile: wide enough for whole sectors of memory, narrow enough to occupy the machine.
int tile_width(int entries, int tiles_per_column, int sm_count) {
  for (int width = 32; width > 8; width /= 2)
    if ((entries + width - 1) / width * tiles_per_column >= 4 * sm_count) return width;
  return 8;
}

}  // namespace

bool plane_fits(const PmeGrid& grid, const CudaContext& context) {
  return plane_bytes(Shape(grid, grid.nx)) <= static_cast<size_t>(context.shared_memory);
}

PlaneRoute plane_route(const PmeGrid& grid, int planes, const CudaContext& context) {
  if (!plane_fits(grid, context)) return PlaneRoute::kTiles;
  const size_t bytes = plane_bytes(Shape(grid, grid.nx));
  constexpr size_t kSharedOfMultiprocessor = 227 * 1024;
  const int resident = static_cast<int>(kSharedOfMultiprocessor / (bytes + 1024));
  return planes <= resident * context.sm_count ? PlaneRoute::kWhole : PlaneRoute::kTiles;
}

void transform_planes_by(PlaneRoute route, const TransformPlanes& op, CudaContext& context) {
  const Shape s(op.grid, op.count);
  const auto planes = static_cast<unsigned>(op.count);
  if (route == PlaneRoute::kWhole) {
    launch(context, {"transform_planes", planes, plane_threads(s), plane_bytes(s), Start::kEarly},
           forward_planes, s, op.first, op.charges, op.spectrum);
    return;
  }
  const int rows = op.count * s.ny;
  launch(context,
         {"transform_rows", blocks_for(rows, kTileRows), row_tile_threads(s), row_tile_bytes(s),
          Start::kEarly},
         forward_row_tiles, s, static_cast<int64_t>(op.first) * s.ny, rows, op.charges, op.spectrum);
  const int width = tile_width(s.entries(), op.count, context.sm_count);
  launch(context,
         {"transform_columns", blocks_for(s.entries(), width), column_tile_threads(s.y, width),
          tile_bytes(s.y, width), Start::kEarly, planes},
         column_tiles<Way::kForward>, s, op.first, width, Divider(width), op.spectrum);
}

void inverse_planes_by(PlaneRoute route, const InversePlanes& op, CudaContext& context) {
  const Shape s(op.grid, op.count);
  const auto planes = static_cast<unsigned>(op.count);
  if (route == PlaneRoute::kWhole) {
    launch(context, {"inverse_planes", planes, plane_threads(s), plane_bytes(s), Start::kEarly},
           inverse_planes_kernel, s, op.first, op.spectrum, op.potential);
    return;
  }
  const int width = tile_width(s.entries(), op.count, context.sm_count);
  launch(context,
         {"inverse_columns", blocks_for(s.entries(), width), column_tile_threads(s.y, width),
          tile_bytes(s.y, width), Start::kEarly, planes},
         column_tiles<Way::kInverse>, s, op.first, width, Divider(width), op.spectrum);
  const int rows = op.count * s.ny;
  launch(context,
         {"inverse_rows", blocks_for(rows, kTileRows), row_tile_threads(s), row_tile_bytes(s),
          Start::kEarly},
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
  const Shape s(op.grid, op.grid.nx);
  const int width = tile_width(s.entries(), op.count, context.sm_count);
  const LaunchShape shape{"convolve_lines", blocks_for(s.entries(), width),
                          column_tile_threads(s.x, width), tile_bytes(s.x, width), Start::kEarly,
                          static_cast<unsigned>(op.count)};
  const Influence influence(op);
  int64_t* const energy = op.energy ? op.energy + kReciprocal : nullptr;
  launch(context, shape, energy ? convolve_tiles<true> : convolve_tiles<false>, s, op.first, width,
         Divider(width), influence, op.spectrum, energy);
}

}  // namespace quiltmd
