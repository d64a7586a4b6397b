// SPDX-License-Identifier: Apache-2.0
// Bricks of patches and footprints of atoms, which spreading and gathering on a GPU share.
//
// A warp takes the eight atoms of a cluster. First 16 lanes an atom work out one spline weight each;
// then, atom after atom, a lane takes one (y, z) of the footprint and goes along x. The pitch of the
// rows in shared memory is such that these lanes never meet in a bank, which atoms side by side in
// the lanes of a warp do three at a time.
#pragma once

#include <algorithm>

#include "computes/pme/bspline.h"
#include "computes/pme/divider.cuh"
#include "computes/pme/mesh_frame.h"

namespace quiltmd::mesh {

inline constexpr int kMostPatches = 64;  // of a brick
inline constexpr int kMargin = 1;  // grid points that atoms may stick out of their patch in a brick
inline constexpr unsigned kAllLanes = 0xffffffffu;

// The least distance of rows, at least `size`, for which the points (y, z), y and z < 5, lie in
// different banks: multiples y = 1 .. 4 of it are at least 5 banks away from 0.
inline int row_pitch(int size) {
  for (int pitch = size;; ++pitch) {
    bool apart = true;
    for (int y = 1; y < kMaxPmeOrder; ++y) {
      const int bank = y * pitch % 32;
      apart = apart && bank >= kMaxPmeOrder && bank <= 32 - kMaxPmeOrder;
    }
    if (apart) return pitch;
  }
}

// How the patch grid is cut into bricks, and the box of grid points that holds any of them.
struct Bricks {
  Int3 grid, cells;
  Int3 patches;  // of a brick
  Int3 count;
  Int3 size;  // grid points
  int pitch;  // of rows along z in shared memory
  int order;
  Divider by_size_y, by_size_z;

  // A brick keeps to `most_words` of shared memory: atoms of a patch too large for that which are
  // outside go straight to global memory, as those do that stray.
  Bricks(const PmeGrid& g, Int3 patches_of_brick, int most_words = 1 << 30)
      : grid{g.nx, g.ny, g.nz},
        cells(g.cells),
        patches(patches_of_brick),
        pitch(0),
        order(g.order) {
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
    pitch = row_pitch(size.z);
    while (words() > most_words) {
      int& longest = size.x >= size.y && size.x >= size.z ? size.x
                     : size.y >= size.z                   ? size.y
                                                          : size.z;
      --longest;
      pitch = row_pitch(size.z);
    }
    by_size_y = Divider(size.y);
    by_size_z = Divider(size.z);
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
  __host__ __device__ int points() const { return size.x * size.y * size.z; }
  __host__ __device__ int words() const { return (size.x * size.y * pitch + 3) / 4 * 4; }
};

// The patches of a block's brick, in shared memory.
struct BrickPatches {
  int count;
  int first[kMostPatches + 1];  // clusters before each patch
  int start[kMostPatches];      // first slot
  int end[kMostPatches];        // slot after the last atom
  MeshFrame::Centre centre[kMostPatches];
};

__device__ inline Int3 brick_of_block(const Bricks& b) {
  const int index = blockIdx.x;
  return {index / (b.count.y * b.count.z), index / b.count.z % b.count.y, index % b.count.z};
}

// Find the owned patches of the brick. All threads; ends with a barrier.
template <class Op>
__device__ void find_patches(const Op& op, const MeshFrame& frame, const Bricks& b, Int3 brick,
                             BrickPatches& found) {
  const int t = threadIdx.x, all = b.patches.x * b.patches.y * b.patches.z;
  if (t < all) {
    const Int3 cell{brick.x * b.patches.x + t / (b.patches.y * b.patches.z),
                    brick.y * b.patches.y + t / b.patches.z % b.patches.y,
                    brick.z * b.patches.z + t % b.patches.z};
    const bool exists = cell.x < b.cells.x && cell.y < b.cells.y && cell.z < b.cells.z;
    const int index =
        exists ? op.owned_index[(cell.x * b.cells.y + cell.y) * b.cells.z + cell.z] : -1;
    found.start[t] = index < 0 ? 0 : op.patches[index].start;
    found.end[t] = index < 0 ? 0 : found.start[t] + op.patches[index].atoms;
    found.centre[t] = frame.centre(cell);
  }
  __syncthreads();
  if (t == 0) {
    int clusters = 0;
    for (int p = 0; p < all; ++p) {
      found.first[p] = clusters;
      clusters += (found.end[p] - found.start[p] + kClusterSize - 1) / kClusterSize;
    }
    found.first[all] = clusters;
    found.count = all;
  }
  __syncthreads();
}

// ---- Footprints ----------------------------------------------------------------------------

// What the lanes of a warp need to know of an atom, in words of shared memory: the weights along x
// (spreading: times the charge), and the slopes when forces are gathered; where the footprint starts
// in the brick; the weights along y and z, each with its slope when forces are gathered.
template <bool gathers>
struct Layout {
  static constexpr int kX = 0, kSlopeX = 5, kBase = gathers ? 10 : 5, kCharge = 11;
  static constexpr int kStep = gathers ? 2 : 1;  // from one weight of y or z to the next
  static constexpr int kY = gathers ? 12 : 8, kZ = kY + kStep * kMaxPmeOrder;
  static constexpr int kPoint = kZ + kStep * kMaxPmeOrder;  // three, unwrapped
  static constexpr int kWords = gathers ? 36 : 24;
};
// In place of a start in the brick: the footprint leaves the brick; there is no atom.
inline constexpr int kOutside = -1, kNobody = -2;

template <int Order>
__device__ constexpr SplinePolynomials kSpline = spline_polynomials<Order>();

// One lane's share of making footprints: weight `j` of dimension `d` of one of two atoms.
template <int Order, bool gathers>
class Stamper {
 public:
  using L = Layout<gathers>;

  __device__ Stamper(const MeshFrame& frame, const Bricks& b, Int3 brick)
      : part_(threadIdx.x & 15),
        d_(min(part_ / Order, 2)),
        j_(part_ - d_ * Order),
        per_nm_(frame.per_nm(d_)),
        origin_(b.origin(d_, brick[d_])),
        size_(b.size[d_]),
        stride_(d_ == 0 ? b.size.y * b.pitch : (d_ == 1 ? b.pitch : 1)) {
    const SplinePolynomials& spline = kSpline<Order>;
#pragma unroll
    for (int n = 0; n < Order; ++n) weight_[n] = spline.weight[n][j_ & (kSplineLanes - 1)];
    if constexpr (gathers) {
#pragma unroll
      for (int n = 0; n + 1 < Order; ++n) slope_[n] = spline.slope[n][j_ & (kSplineLanes - 1)];
    }
  }

  // Footprints of the eight atoms from `slot` on, of a patch that ends before slot `end`. The whole
  // warp; ends with a barrier of the warp.
  __device__ void stamp(const Slots& slots, int slot, int end, const MeshFrame::Centre& centre,
                        float* footprints) const {
    const int half = (threadIdx.x & 31) / 16;
    const int base = centre.base[d_];
    const float rest = centre.rest[d_];
    Float4 local[kClusterSize / 2];
#pragma unroll
    for (int k = 0; k < kClusterSize / 2; ++k)
      local[k] = slots.local[min(slot + 2 * k + half, end - 1)];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kClusterSize / 2; ++k)
      stamp_one(local[k], slot + 2 * k + half < end, base, rest,
                footprints + (2 * k + half) * L::kWords);
    __syncwarp();
  }

 private:
  __device__ __forceinline__ void stamp_one(const Float4& local, bool exists, int base, float rest,
                                            float* f) const {
    const float u = rest + (per_nm_.x * local.x + per_nm_.y * local.y + per_nm_.z * local.z);
    const float whole = floorf(u), t = u - whole;
    const int point = base + static_cast<int>(whole) - (Order - 1), within = point - origin_;
    const unsigned out = __ballot_sync(kAllLanes, within < 0 || within + Order > size_);
    const int from = threadIdx.x & 16, offset = within * stride_;
    const int start = __shfl_sync(kAllLanes, offset, from) +
                      __shfl_sync(kAllLanes, offset, from + Order) +
                      __shfl_sync(kAllLanes, offset, from + 2 * Order);
    float weight = weight_[Order - 1];
#pragma unroll
    for (int n = Order - 2; n >= 0; --n) weight = __fmaf_rn(weight, t, weight_[n]);
    if (!gathers && d_ == 0) weight *= local.w * static_cast<float>(kChargeScale);
    if (part_ < 3 * Order) {
      const int at = d_ == 0 ? L::kX + j_ : (d_ == 1 ? L::kY : L::kZ) + L::kStep * j_;
      f[at] = weight;
      if constexpr (gathers) f[d_ == 0 ? L::kSlopeX + j_ : at + 1] = slope(t);
      if (j_ == 0) f[L::kPoint + d_] = __int_as_float(point);
    }
    if (part_ != 15) return;
    const bool outside = (out >> from & 0xffffu) != 0;
    f[L::kBase] = __int_as_float(!exists ? kNobody : (outside ? kOutside : start));
    if constexpr (gathers) f[L::kCharge] = local.w;
  }
  __device__ __forceinline__ float slope(float t) const {
    float value = slope_[Order - 2];
#pragma unroll
    for (int n = Order - 3; n >= 0; --n) value = __fmaf_rn(value, t, slope_[n]);
    return value;
  }

  int part_, d_, j_;
  Vec3f per_nm_;
  int origin_, size_, stride_;
  float weight_[Order], slope_[gathers ? Order - 1 : 1];
};

// Which points of a footprint a lane takes: one (y, z), and every kParts-th plane from `part` on.
template <int Order>
struct Share {
  static constexpr int kParts = 32 / (Order * Order), kPlanes = Order / kParts;
  int part, y, z;
  bool idle;

  __device__ Share() {
    const int lane = threadIdx.x & 31, at = lane % (Order * Order);
    idle = lane >= kParts * Order * Order;
    part = idle ? 0 : lane / (Order * Order);
    y = at / Order;
    z = at - y * Order;
  }
  // Element plane(i) of five values along x.
  __device__ __forceinline__ int plane(int i) const { return i * kParts + part; }
  __device__ __forceinline__ float of(const float* along_x, int i) const {
    if constexpr (kParts == 1) return along_x[i];
    return part == 0 ? along_x[i * kParts] : along_x[i * kParts + 1];
  }
};

// Words 4 i .. 4 i + 3 of a footprint, the same for all lanes.
template <int Count>
__device__ __forceinline__ void read_words(const float* f, float (&words)[Count]) {
#pragma unroll
  for (int i = 0; i < Count / 4; ++i) {
    const float4 four = reinterpret_cast<const float4*>(f)[i];
    words[4 * i] = four.x;
    words[4 * i + 1] = four.y;
    words[4 * i + 2] = four.z;
    words[4 * i + 3] = four.w;
  }
}

// Place on the grid of the point (x, y, z) of a footprint that leaves its brick.
static __device__ __noinline__ int64_t grid_place(const MeshFrame& frame, const Int3 grid,
                                                  const float* point, int x, int y, int z) {
  return (static_cast<int64_t>(frame.wrap(0, __float_as_int(point[0]) + x)) * grid.y +
          frame.wrap(1, __float_as_int(point[1]) + y)) *
             grid.z +
         frame.wrap(2, __float_as_int(point[2]) + z);
}

// f(index in the brick, index in the grid) for all points of a brick.
template <class F>
__device__ __forceinline__ void over_points(const Bricks& b, Int3 brick, F f) {
  const auto wrapped = [](int point, int n) {
    return point < 0 ? point + n : (point >= n ? point - n : point);
  };
  const Int3 origin{b.origin(0, brick.x), b.origin(1, brick.y), b.origin(2, brick.z)};
#pragma unroll 4
  for (int i = threadIdx.x; i < b.points(); i += blockDim.x) {
    const int row = b.by_size_z(i), z = i - row * b.size.z;
    const int x = b.by_size_y(row), y = row - x * b.size.y;
    const int line = wrapped(origin.x + x, b.grid.x) * b.grid.y + wrapped(origin.y + y, b.grid.y);
    f(row * b.pitch + z, static_cast<int64_t>(line) * b.grid.z + wrapped(origin.z + z, b.grid.z));
  }
}

extern __shared__ float4 mesh_memory[];  // the brick, then the footprints of each warp

template <class T>
__device__ T* brick_memory() {
  return reinterpret_cast<T*>(mesh_memory);
}
template <bool gathers>
__device__ float* warp_footprints(const Bricks& b) {
  return brick_memory<float>() + b.words() +
         threadIdx.x / 32 * kClusterSize * Layout<gathers>::kWords;
}

// The clusters of a warp, one after the other; `patch` follows.
struct Walk {
  int cluster, patch = 0;

  __device__ Walk() : cluster(threadIdx.x / 32) {}
  __device__ bool at_end(const BrickPatches& p) {
    if (cluster >= p.first[p.count]) return true;
    while (cluster >= p.first[patch + 1]) ++patch;
    return false;
  }
  __device__ void step() { cluster += blockDim.x / 32; }
  __device__ int slot(const BrickPatches& p) const {
    return p.start[patch] + (cluster - p.first[patch]) * kClusterSize;
  }
};

}  // namespace quiltmd::mesh
