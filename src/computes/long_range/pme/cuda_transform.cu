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
#include "computes/long_range/pme/cuda_direct.cuh"
#include "computes/long_range/pme/cuda_kernels.h"
#include "computes/long_range/pme/cuda_shape.cuh"
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
__device__ __forceinline__ void forward_rows(const Lines& lines, const int2* charges,
                                             const Shape& s, const RowTables& tables) {
  constexpr float scale = static_cast<float>(1.0 / kChargeScale);
  fft::first_forward<Run::kAlongLines>(lines, s.z, [&](int row, int e) {
    const int2 pair = charges[row * s.half + e];
    return Complex{scale * static_cast<float>(pair.x), scale * static_cast<float>(pair.y)};
  });
  fft::inner_passes<Way::kForward>(lines, s.z);
  outer_pass<Way::kForward>(lines, s, tables);
}

// Spectra of rows, in their places, to the potential; `plane(row)` is the plane of a row.
template <class Op, class Plane>
__device__ __forceinline__ void inverse_rows(const Op& op, const Lines& lines, int64_t first,
                                             const Shape& s, const RowTables& tables, Plane plane) {
  outer_pass<Way::kInverse>(lines, s, tables);
  fft::inner_passes<Way::kInverse>(lines, s.z);
  release_next();
  fft::last_inverse<Run::kAlongLines>(lines, s.z, [&](int row, int e, Complex value) {
    direct::over_potentials(op, plane(row), [&](float* potential) {
      reinterpret_cast<float2*>(potential)[first * s.half + row * s.half + e] = {value.re,
                                                                                 value.im};
    });
  });
  direct::tell_peers(op);
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

template <class Op>
__global__ void __maxnreg__(kPlaneRegisters)
    forward_planes(const __grid_constant__ Shape s, const __grid_constant__ Op op,
                   LaunchTimes* times) {
  const Timed timed(times);
  const int64_t x = direct::base(op).first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  if (!direct::kWaitsForPeers<Op>) release_next();
  wait_for_previous();
  const auto* const charges = reinterpret_cast<const int2*>(direct::base(op).charges);
  forward_rows(m.rows(s), charges + x * s.ny * s.half, s, m.tables);
  const Lines columns = m.columns(s);
  if (s.y.passes > 1) fft::pass_in_place<Way::kForward>(columns, s.y, 0);
  fft::inner_passes<Way::kForward>(columns, s.y);
  if (direct::kWaitsForPeers<Op>) release_next();
  const int64_t plane = x * s.ny * s.entries();
  const auto homes = direct::homes(op);
  fft::last_forward(
      columns, s.y, [&](int k) { return m.tables.positions[k]; },
      [&](int k, int y, Complex value) { (homes(y) + plane)[y * s.entries() + k] = value; });
  direct::tell_peers(op);
}

template <class Op>
__global__ void __maxnreg__(kPlaneRegisters)
    inverse_planes_kernel(const __grid_constant__ Shape s, const __grid_constant__ Op op,
                          LaunchTimes* times) {
  const Timed timed(times);
  const int64_t x = direct::base(op).first + blockIdx.x;
  const PlaneMemory m = plane_memory(s);
  wait_for_previous();
  direct::await_peers(op);
  const Complex* in = direct::base(op).spectrum + x * s.ny * s.entries();
  const Lines columns = m.columns(s);
  fft::first_inverse(
      columns, s.y, [&](int k) { return m.tables.positions[k]; },
      [&](int k, int y) { return in[y * s.entries() + k]; });
  fft::inner_passes<Way::kInverse>(columns, s.y);
  if (s.y.passes > 1) fft::pass_in_place<Way::kInverse>(columns, s.y, 0);
  inverse_rows(op, m.rows(s), x * s.ny, s, m.tables, [x](int) { return static_cast<int>(x); });
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
    forward_row_tiles(const __grid_constant__ Shape s, const __grid_constant__ TransformPlanes op,
                      LaunchTimes* times) {
  const Timed timed(times);
  const int64_t row = int64_t{op.first} * s.ny + blockIdx.x * kTileRows;
  const RowTile tile = row_tile(s, op.count * s.ny);
  wait_for_previous();
  forward_rows(tile.lines, reinterpret_cast<const int2*>(op.charges) + row * s.half, s,
               tile.tables);
  release_next();
  Complex* out = op.spectrum + row * s.entries();
  over_entries(tile, s, [&](int item, Complex& value) { out[item] = value; });
}

template <class Op>
__global__ void __launch_bounds__(kTileThreads)
    inverse_row_tiles(const __grid_constant__ Shape s, const __grid_constant__ Op op,
                      LaunchTimes* times) {
  const Timed timed(times);
  const InversePlanes& planes = direct::base(op);
  const int64_t row = int64_t{planes.first} * s.ny + blockIdx.x * kTileRows;
  const RowTile tile = row_tile(s, planes.count * s.ny);
  wait_for_previous();
  const Complex* in = planes.spectrum + row * s.entries();
  over_entries(tile, s, [&](int item, Complex& value) { value = in[item]; });
  __syncthreads();
  inverse_rows(op, tile.lines, row, s, tile.tables,
               [&](int r) { return s.by_rows(static_cast<int>(row) + r); });
}

// ---- Tiles of columns ----------------------------------------------------------------------

struct ColumnTile {
  Lines lines;
  int64_t first;  // of its entries in a spectrum
  int here;       // columns
};

// Ends with a barrier.
__device__ ColumnTile column_tile_of(const Shape& s, int first_plane, int width, Divider by_width) {
  const int64_t x = first_plane + blockIdx.y;
  const int column = blockIdx.x * width;
  return {column_tile(s.y, width, by_width), x * s.ny * s.entries() + column,
          min(width, s.entries() - column)};
}

template <class Op>
__global__ void __launch_bounds__(kTileThreads)
    forward_column_tiles(const __grid_constant__ Shape s, const __grid_constant__ Op op, int width,
                         Divider by_width, LaunchTimes* times) {
  const Timed timed(times);
  const TransformPlanes& planes = direct::base(op);
  const ColumnTile tile = column_tile_of(s, planes.first, width, by_width);
  const Complex* in = planes.spectrum + tile.first;
  wait_for_previous();
  fft::first_forward<Run::kAcrossLines>(tile.lines, s.y, [&](int line, int y) {
    return line < tile.here ? in[y * s.entries() + line] : Complex{0, 0};
  });
  fft::inner_passes<Way::kForward>(tile.lines, s.y);
  release_next();
  const auto homes = direct::homes(op);
  fft::last_forward(
      tile.lines, s.y, [](int line) { return line; },
      [&](int line, int y, Complex value) {
        if (line < tile.here) (homes(y) + tile.first)[y * s.entries() + line] = value;
      });
  direct::tell_peers(op);
}

template <class Op>
__global__ void __launch_bounds__(kTileThreads)
    inverse_column_tiles(const __grid_constant__ Shape s, const __grid_constant__ Op op, int width,
                         Divider by_width, LaunchTimes* times) {
  const Timed timed(times);
  const InversePlanes& planes = direct::base(op);
  const ColumnTile tile = column_tile_of(s, planes.first, width, by_width);
  Complex* base = planes.spectrum + tile.first;
  wait_for_previous();
  direct::await_peers(op);
  fft::first_inverse(
      tile.lines, s.y, [](int line) { return line; },
      [&](int line, int y) {
        return line < tile.here ? base[y * s.entries() + line] : Complex{0, 0};
      });
  fft::inner_passes<Way::kInverse>(tile.lines, s.y);
  release_next();
  fft::last_inverse<Run::kAcrossLines>(tile.lines, s.y, [&](int line, int y, Complex value) {
    if (line < tile.here) base[y * s.entries() + line] = value;
  });
}

// ---- Launch shapes -------------------------------------------------------------------------

unsigned plane_threads(const Shape& s) {
  const int rows = s.ny * s.z.most_butterflies(), columns = s.entries() * s.y.most_butterflies();
  return threads_for(std::max(rows, columns), kPlaneThreads);
}
unsigned row_tile_threads(const Shape& s) {
  return threads_for(kTileRows * s.z.most_butterflies(), kTileThreads);
}

template <class Op>
void forward_by(PlaneRoute route, const Op& op, const TransformPlanes& planes,
                CudaContext& context) {
  const Shape s(planes.grid, planes.count);
  const auto count = static_cast<unsigned>(planes.count);
  if (route == PlaneRoute::kWhole) {
    launch(context, {"transform_planes", count, plane_threads(s), plane_bytes(s), Start::kEarly},
           forward_planes<Op>, s, op);
    return;
  }
  launch(context,
         {"transform_rows", blocks_for(planes.count * s.ny, kTileRows), row_tile_threads(s),
          row_tile_bytes(s), Start::kEarly},
         forward_row_tiles, s, planes);
  const int width = tile_width(s.entries(), planes.count, context.sm_count);
  launch(context,
         {"transform_columns", blocks_for(s.entries(), width), column_tile_threads(s.y, width),
          tile_bytes(s.y, width), Start::kEarly, count},
         forward_column_tiles<Op>, s, op, width, Divider(width));
}

template <class Op>
void inverse_by(PlaneRoute route, const Op& op, const InversePlanes& planes, CudaContext& context) {
  const Shape s(planes.grid, planes.count);
  const auto count = static_cast<unsigned>(planes.count);
  if (route == PlaneRoute::kWhole) {
    launch(context, {"inverse_planes", count, plane_threads(s), plane_bytes(s), Start::kEarly},
           inverse_planes_kernel<Op>, s, op);
    return;
  }
  const int width = tile_width(s.entries(), planes.count, context.sm_count);
  launch(context,
         {"inverse_columns", blocks_for(s.entries(), width), column_tile_threads(s.y, width),
          tile_bytes(s.y, width), Start::kEarly, count},
         inverse_column_tiles<Op>, s, op, width, Divider(width));
  launch(context,
         {"inverse_rows", blocks_for(planes.count * s.ny, kTileRows), row_tile_threads(s),
          row_tile_bytes(s), Start::kEarly},
         inverse_row_tiles<Op>, s, op);
}
}  // namespace

bool plane_fits(const PmeGrid& grid, const CudaContext& context) {
  return plane_bytes(Shape(grid, grid.nx)) <= static_cast<size_t>(context.shared_memory);
}

PlaneRoute plane_route(const PmeGrid& grid, const CudaContext& context) {
  return plane_fits(grid, context) ? PlaneRoute::kWhole : PlaneRoute::kTiles;
}

void transform_planes_by(PlaneRoute route, const TransformPlanes& op, CudaContext& context) {
  forward_by(route, op, op, context);
}

void inverse_planes_by(PlaneRoute route, const InversePlanes& op, CudaContext& context) {
  inverse_by(route, op, op, context);
}

void transform_planes(const TransformPlanes& op, CudaContext& context) {
  transform_planes_by(plane_route(op.grid, context), op, context);
}

void inverse_planes(const InversePlanes& op, CudaContext& context) {
  inverse_planes_by(plane_route(op.grid, context), op, context);
}

void transform_planes_directly(const TransformPlanesDirectly& op, CudaContext& context) {
  forward_by(plane_route(op.planes.grid, context), op, op.planes, context);
}

void inverse_planes_directly(const InversePlanesDirectly& op, CudaContext& context) {
  inverse_by(plane_route(op.planes.grid, context), op, op.planes, context);
}

}  // namespace quiltmd
