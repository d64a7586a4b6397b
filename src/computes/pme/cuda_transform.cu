// SPDX-License-Identifier: Apache-2.0
// The Fourier part of PME on a GPU: planes forward, lines along x with the convolution between the
// two ways, planes back.
//
// A plane that fits the shared memory of one multiprocessor is transformed by one block: three
// kernels in all, each reading and writing its grid once. Planes that do not fit are cut into tiles
// of rows and tiles of columns: five kernels.
//
// Whole planes let the lines be placed on the machine as soon as they themselves are, that is while
// charges are spread: once pair blocks fill it, the lines would wait for the first of them to end.
#include "computes/pme/cuda_kernels.h"
#include "computes/pme/cuda_shape.cuh"
#include "device/cuda/launch.h"

namespace quiltmd {
namespace {

using fft::carved;
using fft::Carver;
using fft::column_tile;
using fft::column_tile_threads;
using fft::kTileRows;
using fft::kTileThreads;
using fft::Lines;
using fft::Plan;
using fft::Run;
using fft::Shape;
using fft::threads_for;
using fft::tile_bytes;
using fft::tile_width;
using fft::Way;

// So small that a plane finds room beside pair blocks; radix 16 needs 32 registers for its values alone.
constexpr int kPlaneThreads = 256, kPlaneRegisters = 96;

// ---- Rows along z --------------------------------------------------------------------------

struct RowTables {
  Complex* roots;       // of nz
  uint16_t* positions;  // entry -> place in the row
};

__device__ RowTables row_tables(Carver& carver, const Shape& s) {
  const RowTables t{carver.take<Complex>(s.nz), carver.take<uint16_t>(s.half + 1)};
  fft::fill_roots(t.roots, s.nz);
  fft::fill_positions(t.positions, s.z);
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
      : line(row),
        lowest(k),
        step(s.half / R),
        place(tables.positions[k]),
        partner(tables.positions[k == 0 ? 0 : s.half / R - k]),
        own(k == 0) {}
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
    // A real row has no imaginary part here; in a tilted box the influence function of the highest
    // frequencies leaves one, which the gradient of the energy does not have.
    if (r == 0 && pair.own) low.im = high.im = 0;
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
  Carver carver(fft::shared_memory);
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

__global__ void __maxnreg__(kPlaneRegisters)
    forward_planes(const __grid_constant__ Shape s, int first, const int32_t* charges,
                   Complex* spectrum) {
  const int64_t x = first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  release_next();
  wait_for_previous();
  forward_rows(m.rows(s), reinterpret_cast<const int2*>(charges) + x * s.ny * s.half, s, m.tables);
  const Lines columns = m.columns(s);
  if (s.y.passes > 1) fft::pass_in_place<Way::kForward>(columns, s.y, 0);
  fft::inner_passes<Way::kForward>(columns, s.y);
  Complex* out = spectrum + x * s.ny * s.entries();
  fft::last_forward(
      columns, s.y, [&](int k) { return m.tables.positions[k]; },
      [&](int k, int y, Complex value) { out[y * s.entries() + k] = value; });
}

__global__ void __maxnreg__(kPlaneRegisters)
    inverse_planes_kernel(const __grid_constant__ Shape s, int first, const Complex* spectrum,
                          float* potential) {
  const int64_t x = first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  wait_for_previous();
  const Complex* in = spectrum + x * s.ny * s.entries();
  const Lines columns = m.columns(s);
  fft::first_inverse(
      columns, s.y, [&](int k) { return m.tables.positions[k]; },
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
  Carver carver(fft::shared_memory);
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

// ---- Launch shapes -------------------------------------------------------------------------

unsigned plane_threads(const Shape& s) {
  const int rows = s.ny * s.z.most_butterflies(), columns = s.entries() * s.y.most_butterflies();
  return threads_for(std::max(rows, columns), kPlaneThreads);
}
unsigned row_tile_threads(const Shape& s) {
  return threads_for(kTileRows * s.z.most_butterflies(), kTileThreads);
}
}  // namespace

bool plane_fits(const PmeGrid& grid, const CudaContext& context) {
  return plane_bytes(Shape(grid, grid.nx)) <= static_cast<size_t>(context.shared_memory);
}

PlaneRoute plane_route(const PmeGrid& grid, const CudaContext& context) {
  return plane_fits(grid, context) ? PlaneRoute::kWhole : PlaneRoute::kTiles;
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
         forward_row_tiles, s, static_cast<int64_t>(op.first) * s.ny, rows, op.charges,
         op.spectrum);
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
  transform_planes_by(plane_route(op.grid, context), op, context);
}

void inverse_planes(const InversePlanes& op, CudaContext& context) {
  inverse_planes_by(plane_route(op.grid, context), op, context);
}

}  // namespace quiltmd
