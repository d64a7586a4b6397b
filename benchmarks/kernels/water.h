// SPDX-License-Identifier: Apache-2.0
// Boxes of water for the kernel workshop, laid out in slots on the host, and the timing of launches
// by CUDA graphs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "decomposition/slots.h"
#include "device/cuda/launch.h"
#include "math/box.h"
#include "math/fixed.h"
#include "math/units.h"

namespace workshop {

using namespace quiltmd;

// An array in device memory.
template <class T>
class Array {
 public:
  explicit Array(size_t n) : size_(n) {
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<size_t>(n, 1) * sizeof(T)),
               "allocate");
    cuda_check(cudaMemset(data_, 0, n * sizeof(T)), "clear");
  }
  explicit Array(const std::vector<T>& v) : Array(v.size()) { upload(v); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }
  T* data() const { return data_; }
  size_t bytes() const { return size_ * sizeof(T); }
  void upload(const std::vector<T>& v) {
    cuda_check(cudaMemcpy(data_, v.data(), v.size() * sizeof(T), cudaMemcpyDefault), "upload");
  }
  std::vector<T> download() const {
    std::vector<T> v(size_);
    cuda_check(cudaMemcpy(v.data(), data_, bytes(), cudaMemcpyDefault), "download");
    return v;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

// One cube of the benchmark: 20^3 molecules in 6.223 nm, 1.9 % denser than the protein box.
constexpr double kCube = 6.223;
constexpr int kLattice = 20;

struct Water {
  Box box{};
  Int3 cells{};
  std::vector<Vec3d> position;  // by slot; padding at zero
  std::vector<float> charge;
  std::vector<int32_t> atom;  // by slot, -1 for padding; atoms are numbered in slot order
  std::vector<PlacedPatch> patches;
  std::vector<PlacedGroup> placed;
  std::vector<Vec3d> origin;
  int atoms = 0;

  size_t slots() const { return position.size(); }
  Vec3d centre(Int3 c) const {
    return {box.ax * (c.x + 0.5) / cells.x, box.by * (c.y + 0.5) / cells.y,
            box.cz * (c.z + 0.5) / cells.z};
  }
};

constexpr double kLeg = 0.09572, kHalfAngle = 0.5 * 104.52 * kPi / 180;

inline Vec3d random_direction(std::mt19937& random) {
  std::normal_distribution<double> normal;
  const Vec3d v{normal(random), normal(random), normal(random)};
  return (1 / norm(v)) * v;
}

// The three atoms of a water in a random orientation.
inline void add_water(Water& w, std::mt19937& random, Vec3d at) {
  const Vec3d a = random_direction(random);
  Vec3d b = cross(a, random_direction(random));
  b = (1 / norm(b)) * b;
  const Vec3d axis = (kLeg * std::cos(kHalfAngle)) * a, side = (kLeg * std::sin(kHalfAngle)) * b;
  const Vec3d places[3] = {at, at + axis + side, at + axis - side};
  for (int k = 0; k < 3; ++k) {
    w.position.push_back(places[k]);
    w.charge.push_back((k == 0 ? -0.834f : 0.417f) * static_cast<float>(std::sqrt(kCoulomb)));
    w.atom.push_back(w.atoms++);
  }
}

// `patch_width`: the least width of a patch, nm.
inline Water make_water(Int3 tiles, double patch_width) {
  Water w;
  w.box = {kCube * tiles.x, 0, kCube * tiles.y, 0, 0, kCube * tiles.z};
  w.cells = {static_cast<int>(w.box.ax / patch_width), static_cast<int>(w.box.by / patch_width),
             static_cast<int>(w.box.cz / patch_width)};
  const Int3 sites{kLattice * tiles.x, kLattice * tiles.y, kLattice * tiles.z};
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(-0.05, 0.05);
  std::vector<std::vector<Vec3d>> by_patch(static_cast<size_t>(w.cells.x * w.cells.y * w.cells.z));
  const double step = kCube / kLattice;
  for (int x = 0; x < sites.x; ++x)
    for (int y = 0; y < sites.y; ++y)
      for (int z = 0; z < sites.z; ++z) {
        const Vec3d at{step * (x + 0.5) + jitter(random), step * (y + 0.5) + jitter(random),
                       step * (z + 0.5) + jitter(random)};
        const Int3 c{static_cast<int>(at.x / w.box.ax * w.cells.x),
                     static_cast<int>(at.y / w.box.by * w.cells.y),
                     static_cast<int>(at.z / w.box.cz * w.cells.z)};
        by_patch[static_cast<size_t>((c.x * w.cells.y + c.y) * w.cells.z + c.z)].push_back(at);
      }
  for (size_t p = 0; p < by_patch.size(); ++p) {
    const auto index = static_cast<int>(p);
    const Int3 cell{index / (w.cells.y * w.cells.z), index / w.cells.z % w.cells.y,
                    index % w.cells.z};
    const auto start = static_cast<int32_t>(w.position.size());
    const auto groups = static_cast<int32_t>(w.placed.size());
    for (const Vec3d& at : by_patch[p]) {
      w.placed.push_back({static_cast<int32_t>(w.position.size()), w.atoms / 3});
      w.origin.push_back(w.centre(cell));
      add_water(w, random, at);
    }
    const auto atoms = static_cast<int32_t>(w.position.size()) - start;
    while (w.position.size() % kClusterSize) {
      w.position.push_back({});
      w.charge.push_back(0);
      w.atom.push_back(-1);
    }
    w.patches.push_back(
        {index, start, atoms, groups, static_cast<int32_t>(w.placed.size()) - groups, cell});
  }
  return w;
}

// Local coordinates of all slots: single precision and what it leaves.
struct Locals {
  std::vector<Float4> local, low;
};
inline Locals make_locals(const Water& w) {
  Locals l;
  l.local.assign(w.slots(), {kFarAway, kFarAway, kFarAway, 0});
  l.low.assign(w.slots(), {0, 0, 0, 0});
  for (const PlacedPatch& p : w.patches)
    for (int s = p.start; s < p.start + p.atoms; ++s) {
      const auto i = static_cast<size_t>(s);
      const Vec3d r = w.position[i] - w.centre(p.cell);
      const Vec3f high{static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.z)};
      l.local[i] = {high.x, high.y, high.z, w.charge[i]};
      l.low[i] = {static_cast<float>(r.x - high.x), static_cast<float>(r.y - high.y),
                  static_cast<float>(r.z - high.z), 0};
    }
  return l;
}

inline CudaContext make_context() {
  CudaContext context;
  cudaDeviceProp p;
  cuda_check(cudaGetDeviceProperties(&p, 0), "read properties");
  cuda_check(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking), "make a stream");
  context.sm_count = p.multiProcessorCount;
  context.shared_memory = static_cast<int>(p.sharedMemPerBlockOptin);
  context.early_start = true;
  context.fast_doubles = true;
  return context;
}

// Microseconds of one call of `launches`, repeated `repeats` times in a graph: the median of 15
// replays.
inline double time_of(CudaContext& context, const std::function<void()>& launches,
                      int repeats = 20) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cuda_check(cudaStreamBeginCapture(context.stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < repeats; ++i) launches();
  cuda_check(cudaStreamEndCapture(context.stream, &graph), "capture");
  cuda_check(cudaGraphInstantiate(&executable, graph, 0), "instantiate a graph");
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 18; ++i) {
    cudaEventRecord(begin, context.stream);
    cuda_check(cudaGraphLaunch(executable, context.stream), "run a graph");
    cudaEventRecord(end, context.stream);
    cuda_check(cudaEventSynchronize(end), "run a graph");
    float ms;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 3) times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1000.0 * times[7] / repeats;
}

}  // namespace workshop
