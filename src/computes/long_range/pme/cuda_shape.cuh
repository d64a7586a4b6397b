// SPDX-License-Identifier: Apache-2.0
// What the Fourier kernels of PME share: the plans of a grid, the shared memory of a block, and tiles
// of columns. Tiles are wide enough for whole sectors of memory and narrow enough to occupy the
// machine; one block a column would waste bandwidth, one a plane multiprocessors.
#pragma once

#include <algorithm>

#include "computes/long_range/pme/cuda_fft.cuh"
#include "computes/long_range/pme/divider.cuh"
#include "computes/long_range/pme/setup.h"

namespace quiltmd::fft {

inline constexpr int kTileThreads = 256;
inline constexpr int kTileRows = 32;

// Rows of nz real values as nz/2 complex ones, then nz/2+1 complex; the odd pitch keeps a warp that
// goes across rows off its own banks.
struct Shape {
  int nx, ny, nz, half, pitch;
  Plan x, y, z;
  Divider by_rows, by_tile_rows, by_last_rows, by_entries;

  Shape(const PmeGrid& g, int planes)
      : nx(g.nx),
        ny(g.ny),
        nz(g.nz),
        half(g.nz / 2),
        pitch((g.nz / 2 + 1) | 1),
        by_rows(g.ny),
        by_tile_rows(kTileRows),
        by_last_rows((planes * g.ny - 1) % kTileRows + 1),
        by_entries(g.nz / 2 + 1) {
    check_gpu_pme_grid({nx, ny, nz});  // the engine has asked; tests launch without it
    make_plan(nx, x);
    make_plan(ny, y);
    make_plan(half, z);
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
__device__ inline void fill_positions(uint16_t* positions, const Plan& plan) {
  for (int k = threadIdx.x; k < plan.n; k += blockDim.x)
    positions[k] = static_cast<uint16_t>(position_of(plan, k));
}

// ---- Tiles of columns ----------------------------------------------------------------------

// `width` neighbouring columns of n elements each. Ends with a barrier.
__device__ inline Lines column_tile(const Plan& plan, int width, Divider by_width) {
  Carver carver(shared_memory);
  Complex* data = carver.take<Complex>(plan.n * width);
  Complex* roots = carver.take<Complex>(plan.n);
  fill_roots(roots, plan.n);
  __syncthreads();
  return {data, width, by_width, 1, width, roots, 1};
}
inline size_t tile_bytes(const Plan& plan, int width) {
  return carved<Complex>(plan.n * width) + carved<Complex>(plan.n);
}

// ---- Launch shapes -------------------------------------------------------------------------

// A thread a butterfly of the pass that has most, in whole warps.
inline unsigned threads_for(int butterflies, int most) {
  return static_cast<unsigned>(std::clamp((butterflies + 31) / 32 * 32, 64, most));
}
inline unsigned column_tile_threads(const Plan& plan, int width) {
  return threads_for(width * plan.most_butterflies(), kTileThreads);
}

// Columns of a tile: wide enough for whole sectors of memory, narrow enough to occupy the machine.
inline int tile_width(int entries, int tiles_per_column, int sm_count) {
  for (int width = 32; width > 8; width /= 2)
    if ((entries + width - 1) / width * tiles_per_column >= 4 * sm_count) return width;
  return 8;
}

}  // namespace quiltmd::fft
