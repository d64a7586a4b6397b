// SPDX-License-Identifier: Apache-2.0
// Probe of planes, lines and planes back in one kernel (fused.cu), whose blocks meet by a counter or as a
// cluster.
#pragma once

#include "computes/long_range/pme/cuda_convolve.cu"
#include "computes/long_range/pme/cuda_mesh.cu"
#include "computes/long_range/pme/cuda_transform.cu"
#include "computes/long_range/pme/mesh_memory.h"

namespace quiltmd {
namespace {

enum class Meeting { kCounter, kCluster };

// Numbers of a launch that begin where those of the launch before ended.
struct Meetings {
  unsigned* counter;
  unsigned goal = 0;

  // To be called before the first meeting, once the launch before has ended.
  __device__ void begin(unsigned meetings) {
    unsigned seen = 0;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(counter));
    goal = seen - seen % (meetings * gridDim.x);
  }
  __device__ void meet() {
    __syncthreads();
    if (threadIdx.x == 0) {
      goal += gridDim.x;
      __threadfence();
      asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(1u) : "memory");
      unsigned seen = 0;
      do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
      while (seen < goal);
    }
    __syncthreads();
  }
};

__device__ __forceinline__ void meet_in_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

struct FusedMesh {
  TransformPlanes planes;
  ConvolveLines lines;
  InversePlanes inverse;
  ChargeInfluence influence;
  int width, tiles;  // columns of a tile of lines, tiles of a line
  Divider by_width, by_tiles;
  unsigned* counter;
};

template <Meeting kMeeting>
__global__ void __maxnreg__(kPlaneRegisters)
    fused_mesh(const __grid_constant__ Shape s, const __grid_constant__ FusedMesh op,
               LaunchTimes* times) {
  const Timed timed(times);
  __shared__ FlatBox box;
  Carver carver(fft::shared_memory);
  const PlaneMemory m = plane_memory(s);
  carver.take<char>(static_cast<int>(sizeof(Complex)) * s.ny * s.pitch);
  row_tables(carver, s);
  carver.take<Complex>(s.ny);
  Complex* const columns_of_lines = carver.take<Complex>(s.nx * op.width);
  Complex* const roots_x = carver.take<Complex>(s.nx);
  fft::fill_roots(roots_x, s.nx);
  box.store(FlatBox::load(op.lines.box));
  __syncthreads();
  wait_for_previous();
  Meetings meetings{op.counter};
  if (kMeeting == Meeting::kCounter && threadIdx.x == 0) meetings.begin(2);
  const auto meet = [&] {
    if constexpr (kMeeting == Meeting::kCounter)
      meetings.meet();
    else
      meet_in_cluster();
  };
  const Lines rows = m.rows(s), columns = m.columns(s);

  for (int x = blockIdx.x; x < s.nx; x += gridDim.x) {
    forward_rows(rows, reinterpret_cast<const int2*>(op.planes.charges) + x * s.ny * s.half, s,
                 m.tables);
    if (s.y.passes > 1) fft::pass_in_place<Way::kForward>(columns, s.y, 0);
    fft::inner_passes<Way::kForward>(columns, s.y);
    Complex* const plane = op.planes.spectrum + static_cast<int64_t>(x) * s.ny * s.entries();
    fft::last_forward(
        columns, s.y, [&](int k) { return m.tables.positions[k]; },
        [&](int k, int y, Complex value) { plane[y * s.entries() + k] = value; });
    __syncthreads();
  }
  meet();
  const int64_t plane = static_cast<int64_t>(s.ny) * s.entries();
  for (int n = blockIdx.x; n < op.tiles * s.ny; n += gridDim.x) {
    const int y = op.by_tiles(n), column = (n - y * op.tiles) * op.width;
    const Lines lines{columns_of_lines, op.width, op.by_width, 1, op.width, roots_x, 1};
    ConvolveTile<false, ChargeInfluence> tile(op.influence, box, s, y, column);
    Complex* const at = op.lines.spectrum + static_cast<int64_t>(y) * s.entries() + column;
    const int here = min(op.width, s.entries() - column);
    fft::first_forward<Run::kAcrossLines>(lines, s.x, [&](int line, int x) {
      return line < here ? at[x * plane + line] : Complex{0, 0};
    });
    fft::inner_passes<Way::kForward>(lines, s.x);
    convolve_pass(lines, s.x, tile);
    fft::inner_passes<Way::kInverse>(lines, s.x);
    fft::last_inverse<Run::kAcrossLines>(lines, s.x, [&](int line, int x, Complex value) {
      if (line < here) at[x * plane + line] = value;
    });
    __syncthreads();
  }
  meet();
  release_next();
  for (int x = blockIdx.x; x < s.nx; x += gridDim.x) {
    const Complex* const in = op.inverse.spectrum + x * plane;
    fft::first_inverse(
        columns, s.y, [&](int k) { return m.tables.positions[k]; },
        [&](int k, int y) { return in[y * s.entries() + k]; });
    fft::inner_passes<Way::kInverse>(columns, s.y);
    if (s.y.passes > 1) fft::pass_in_place<Way::kInverse>(columns, s.y, 0);
    inverse_rows(op.inverse, rows, int64_t{x} * s.ny, s, m.tables, [x](int) { return x; });
    __syncthreads();
  }
}

struct FusedShape {
  Meeting meeting;
  unsigned blocks, threads;
  int width;
};

void launch_fused_mesh(const MeshMemory& m, const FusedShape& shape, unsigned* counter,
                       CudaContext& context) {
  const auto lines = m.convolve_lines(0, m.grid.ny, Energies::kSkip);
  const Shape s(m.grid, m.grid.nx);
  const int tiles = (s.entries() + shape.width - 1) / shape.width;
  const OfSquare of_square{lines.transform, {lines.moduli[0], lines.moduli[1], lines.moduli[2]}};
  const FusedMesh op{m.transform_planes(0, m.grid.nx),
                     lines,
                     m.inverse_planes(0, m.grid.nx),
                     {of_square},
                     shape.width,
                     tiles,
                     Divider(shape.width),
                     Divider(tiles),
                     counter};
  const size_t shared = plane_bytes(s) + fft::tile_bytes(s.x, shape.width);
  if (shape.meeting == Meeting::kCounter) {
    launch(context, {"fused_mesh", shape.blocks, shape.threads, shared, Start::kEarly},
           fused_mesh<Meeting::kCounter>, s, op);
    return;
  }
  const auto kernel = fused_mesh<Meeting::kCluster>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
             "allow a large cluster");
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {shape.blocks, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shared;
  config.stream = context.stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  LaunchTimes* const times = nullptr;
  cuda_check(cudaLaunchKernelEx(&config, kernel, s, op, times), "launch a cluster");
}

}  // namespace
}  // namespace quiltmd
