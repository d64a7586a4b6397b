// SPDX-License-Identifier: Apache-2.0
// Bricks of the charge grid, which spreading and gathering on a GPU share.
//
// A block takes the atoms of one patch, or of a piece of it where patches alone would leave
// multiprocessors idle, and keeps the grid points that they reach in shared memory, one atom a
// thread. Atoms at random places meet in the banks: an access of a warp takes 3.5 turns, unless they
// are sorted by bank (cuda_bank_rows.cuh). Lanes side by side on one atom would not meet, but then
// weights and addresses cost more instructions than that saves.
#pragma once

#include <algorithm>
#include <cmath>

#include "computes/long_range/pme/divider.cuh"
#include "computes/long_range/pme/mesh_frame.h"
#include "computes/long_range/pme/operations.h"

namespace quiltmd::mesh {

inline constexpr int kThreads = 128;  // of a block: small enough to fit in beside pair forces
inline constexpr int kBlocks = 7;  // on a multiprocessor, when patches are those of a 0.9 nm cutoff
// For wider windows, which need more registers, as many as these allow.
constexpr int blocks_of(int order) { return order <= 5 ? kBlocks : order == 6 ? 6 : 5; }
inline constexpr double kMargin = 0.1;  // nm that atoms may stick out of their patch: hydrogens do

// The box of grid points that holds what the atoms of any patch reach, and how it lies in shared
// memory: odd rows and planes 4 short of a multiple of 32 words keep neighbours in different banks.
struct Bricks {
  struct Axis {
    int points;       // of the grid
    int size;         // of the brick
    int before;       // points of the brick before the patch's corner
    int cells;        // patches
    float half_cell;  // 1 / (2 cells)
    Divider by_cells;
  };
  Axis axis[3];
  int pitch, plane;
  Divider by_pieces;  // pieces of a patch

  // A brick keeps to `most_words`: atoms of a patch too large for that which are outside go straight
  // to global memory, as those do that stray.
  Bricks(const PmeGrid& g, int pieces, int most_words) : by_pieces(pieces) {
    const Int3 points{g.nx, g.ny, g.nz};
    for (int d = 0; d < 3; ++d) {
      const int n = points[d], cells = g.cells[d];
      int widest = 0;
      for (int c = 0; c < cells; ++c)
        widest = std::max(widest, (n * (c + 1) + cells - 1) / cells - n * c / cells);
      const int margin = static_cast<int>(std::ceil(kMargin * n / (cells * g.widths[d])));
      const int before = g.order - 1 + margin;
      const float half_cell = 0.5f / static_cast<float>(cells);
      axis[d] = {n, before + widest + margin, before, cells, half_cell, Divider(cells)};
    }
    for (lay_out(); words() > most_words; lay_out())
      --std::max_element(axis, axis + 3, [](const Axis& a, const Axis& b) {
          return a.size < b.size;
        })->size;
  }

  __host__ __device__ int words() const { return (axis[0].size * plane + 3) / 4 * 4; }

 private:
  void lay_out() {
    pitch = axis[2].size | 1;
    plane = axis[1].size * pitch;
    plane += (60 - plane % 32) % 32;
  }
};

extern __shared__ float4 mesh_memory[];

template <class T>
__device__ T* brick_memory() {
  return reinterpret_cast<T*>(mesh_memory);
}

// ---- A block's atoms -----------------------------------------------------------------------

// The part of a patch that a block takes, where its brick is, and how much of that it reaches.
struct Piece {
  // Place of the patch's centre on the grid: a whole point and the remainder, next to the grid points per nm,
  // so that one access gives all data of an atom for a dimension.
  int base[3];
  float4 axis[3];
  int origin[3];        // first grid point of the brick, unwrapped
  int low[3], high[3];  // points of the brick that atoms reach: the first, and beyond the last
};

struct SlotRange {
  int first, end;
};

// The slots of this block.
__device__ __forceinline__ SlotRange find_slots(const PlacedPatch& patch, const Bricks& b) {
  const int clusters = clusters_of(patch.atoms), piece = blockIdx.y;
  return {patch.start + b.by_pieces(clusters * piece) * kClusterSize,
          patch.start + min(b.by_pieces(clusters * (piece + 1)) * kClusterSize, patch.atoms)};
}

// Grid points per nm of the dimension that this thread has in find_piece().
__device__ __forceinline__ Vec3f own_per_nm(const BoxOnMesh* box) {
  return box->per_nm[min(static_cast<int>(threadIdx.x), 2)];
}

// The piece that this block takes, one dimension a thread; there after the next barrier. The patch's
// centre is found in integers, which is sooner there than double precision. A whole patch is taken to
// reach all of its brick.
__device__ __forceinline__ void find_piece(const PlacedPatch& patch, const Bricks& b,
                                           const Vec3f& per_nm, Piece& found) {
  const int d = threadIdx.x;
  if (d >= 3) return;
  const Bricks::Axis& axis = b.axis[d];
  const int cell = patch.cell[d];
  const int twice = axis.points * (2 * cell + 1), base = axis.by_cells(twice / 2);
  found.base[d] = base;
  const float rest = static_cast<float>(twice - 2 * base * axis.cells) * axis.half_cell;
  found.axis[d] = {per_nm.x, per_nm.y, per_nm.z, rest};
  found.origin[d] = axis.by_cells(axis.points * cell) - axis.before;
  found.low[d] = gridDim.y == 1 ? 0 : axis.size;
  found.high[d] = gridDim.y == 1 ? axis.size : 0;
}

// Place of an atom: the first grid point that it reaches, counted in the brick, and its distance beyond its
// last point.
template <int Order>
struct Place {
  Int3 point;
  Vec3f t;
  bool inside;

  __device__ __forceinline__ Place(const Bricks& b, const Piece& piece, const Float4& local)
      : inside(true) {
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const float4 s = piece.axis[d];
      const float u =
          __fmaf_rn(s.z, local.z, __fmaf_rn(s.y, local.y, __fmaf_rn(s.x, local.x, s.w)));
      const float whole = floorf(u);
      t[d] = u - whole;
      point[d] = static_cast<int>(whole) + (piece.base[d] - piece.origin[d] - (Order - 1));
      inside = inside &&
               static_cast<unsigned>(point[d]) <= static_cast<unsigned>(b.axis[d].size - Order);
    }
  }
  __device__ __forceinline__ int offset(const Bricks& b) const {
    return point.x * b.plane + point.y * b.pitch + point.z;
  }
  // The same point counted on the grid, unwrapped.
  __device__ __forceinline__ Int3 absolute(const Piece& piece) const {
    return {piece.origin[0] + point.x, piece.origin[1] + point.y, piece.origin[2] + point.z};
  }
};

// Widen the reach of a piece by that of an atom. The compiler makes this one atomic operation a warp.
template <int Order>
__device__ __forceinline__ void widen(Piece& piece, const Int3& point) {
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    atomicMin(&piece.low[d], point[d]);
    atomicMax(&piece.high[d], point[d] + Order);
  }
}

// ---- Weights -------------------------------------------------------------------------------

// The sum over n = highest, highest - 2, ... of coefficient[n][j] z^(n/2), rounded down.
template <int N>
__device__ __forceinline__ float every_other(const float (&coefficient)[N][kWindowWidth], int j,
                                             int highest, float z) {
  float sum = coefficient[highest][j];
#pragma unroll
  for (int n = highest - 2; n >= 0; n -= 2) sum = __fmaf_rn(sum, z, coefficient[n][j]);
  return sum;
}

// Values of a polynomial p(u) and its mirror image p(-u) at once.
template <int Order>
__device__ __forceinline__ void find_weights(const WindowPolynomials& window, float t,
                                             float (&weight)[Order]) {
  constexpr int kEven = (Order - 1) / 2 * 2, kOdd = Order / 2 * 2 - 1;  // the highest powers
  const float u = t - 0.5f, z = u * u;
#pragma unroll
  for (int j = 0; j < Order / 2; ++j) {
    const float even = every_other(window.weight, j, kEven, z);
    const float odd = every_other(window.weight, j, kOdd, z);
    weight[j] = __fmaf_rn(u, odd, even);
    weight[Order - 1 - j] = __fmaf_rn(-u, odd, even);
  }
  if constexpr (Order % 2 == 1) weight[Order / 2] = every_other(window.weight, Order / 2, kEven, z);
}
template <int Order>
__device__ __forceinline__ void find_slopes(const WindowPolynomials& window, float t,
                                            float (&slope)[Order]) {
  constexpr int kEven = (Order - 2) / 2 * 2, kOdd = (Order - 1) / 2 * 2 - 1;
  const float u = t - 0.5f, z = u * u;
#pragma unroll
  for (int j = 0; j < Order / 2; ++j) {
    const float even = every_other(window.slope, j, kEven, z);
    const float odd = every_other(window.slope, j, kOdd, z);
    slope[j] = __fmaf_rn(u, odd, even);
    slope[Order - 1 - j] = __fmaf_rn(u, odd, -even);
  }
  if constexpr (Order % 2 == 1)
    slope[Order / 2] = u * every_other(window.slope, Order / 2, kOdd, z);
}

// Bring the next of some numbers to the front. Loops over x use this and are not unrolled: as fast,
// and short code is sooner there when other kernels ran in between.
template <int Count>
__device__ __forceinline__ void advance(float (&v)[Count]) {
#pragma unroll
  for (int n = 0; n + 1 < Count; ++n) v[n] = v[n + 1];
}

// ---- Between brick and grid ----------------------------------------------------------------

// A point not further than the grid's size outside it.
__device__ __forceinline__ int wrapped(int point, int n) {
  return point < 0 ? point + n : (point >= n ? point - n : point);
}

// f(place in the brick, place on the grid) for all points that a piece reaches; a thread takes one
// (y, z) and goes along x, from one end of the grid to the next.
template <class Brick, class Grid, class F>
__device__ __forceinline__ void over_points(const Bricks& b, const Piece& piece, Brick* brick,
                                            Grid* grid, F f) {
  const int nx = b.axis[0].points, ny = b.axis[1].points, nz = b.axis[2].points;
  const Int3 low{piece.low[0], piece.low[1], piece.low[2]};
  const int rows = piece.high[1] - low.y, width = piece.high[2] - low.z;
  const int first = piece.origin[0] + low.x, last = piece.origin[0] + piece.high[0];
  const int64_t plane = static_cast<int64_t>(ny) * nz;
  const float inverse = __fdividef(1.0f, static_cast<float>(width));
  for (int i = threadIdx.x; i < rows * width; i += kThreads) {
    const int row = static_cast<int>((static_cast<float>(i) + 0.5f) * inverse);
    const int y = low.y + row, z = low.z + (i - row * width);
    Grid* const line =
        grid + (wrapped(piece.origin[1] + y, ny) * nz + wrapped(piece.origin[2] + z, nz));
    Brick* at = brick + (low.x * b.plane + y * b.pitch + z);
    for (int x = first; x < last;) {
      const int here = wrapped(x, nx), end = min(last, x + nx - here);
      Grid* point = line + here * plane;
#pragma unroll 4
      for (; x < end; ++x, at += b.plane, point += plane) f(at, point);
    }
  }
}

// Places on the grid of an atom's points outside its brick.
template <int Order>
class Scattered {
 public:
  __device__ Scattered(const Int3& grid, const Int3& first)
      : x_(onto_grid(first.x, grid.x)),
        size_x_(grid.x),
        plane_(static_cast<int64_t>(grid.y) * grid.z) {
    const int y = onto_grid(first.y, grid.y), z = onto_grid(first.z, grid.z);
#pragma unroll
    for (int n = 0; n < Order; ++n) {
      line_[n] = wrapped(y + n, grid.y) * grid.z;
      within_[n] = wrapped(z + n, grid.z);
    }
  }
  __device__ int64_t operator()(int i, int j, int k) const {
    return wrapped(x_ + i, size_x_) * plane_ + (line_[j] + within_[k]);
  }

 private:
  int x_, size_x_;
  int64_t plane_;
  int line_[Order], within_[Order];
};

}  // namespace quiltmd::mesh
