// SPDX-License-Identifier: Apache-2.0
// The workshop of the pair kernels: the memory that an engine would hold for a box of water, the
// operations on it, and a clock.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "computes/nonbonded/operations.h"
#include "decomposition/patch_grid.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "math/units.h"
#include "pair_water.h"

namespace quiltmd {

template <class T>
struct Array {
  explicit Array(size_t n) : size(n) {
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&data), std::max<size_t>(n, 1) * sizeof(T)),
               "allocate");
    cuda_check(cudaMemset(data, 0, n * sizeof(T)), "clear");
  }
  explicit Array(const std::vector<T>& v) : Array(v.size()) {
    cuda_check(cudaMemcpy(data, v.data(), v.size() * sizeof(T), cudaMemcpyDefault), "upload");
  }
  Array(const Array&) = delete;
  ~Array() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> v(size);
    cuda_check(cudaMemcpy(v.data(), data, size * sizeof(T), cudaMemcpyDefault), "download");
    return v;
  }
  T* data = nullptr;
  size_t size;
};

struct FixedScratch final : Scratch {
  explicit FixedScratch(size_t bytes) : memory(bytes) {}
  void* take(size_t bytes) override {
    if (bytes > memory.size) throw Error("scratch is too small");
    return memory.data;
  }
  Array<char> memory;
};

inline std::vector<Vec3d> padded(std::vector<Vec3d> values, int size) {
  values.resize(static_cast<size_t>(size));
  return values;
}

struct Bench {
  Bench(const Water& water, double buffer, bool with_times)
      : w(water),
        timed(with_times),
        grid(make_patch_grid(w.box, kCutoff, kCutoff + buffer + 2 * 0.0957, 1)),
        patches_n(grid.size()),
        groups_n(w.atoms() / 3),
        slots_n((w.atoms() + 7 * patches_n + 7) / 8 * 8),
        lists_n(slots_n / 8),
        entries_n(static_cast<size_t>(lists_n) * 32 *
                  static_cast<size_t>(15 * std::pow((kCutoff + buffer) / 0.96, 3) + 1)) {
    context.scratch = &scratch;
    cudaDeviceProp p;
    cuda_check(cudaGetDeviceProperties(&p, 0), "read properties");
    context.sm_count = p.multiProcessorCount;
    context.early_start = p.major >= 9;
    cuda_check(cudaStreamCreateWithFlags(&context.stream, cudaStreamNonBlocking), "create stream");
    add_layout_kernels(kernels);
    add_nonbonded_kernels(kernels);
    std::vector<Vec3f> shift;
    std::vector<Int3> offset;
    std::vector<int32_t> order(patches_n), neighbour;
    for (int c = 0; c < grid.codes(); ++c) {
      const Vec3d s = grid.shifts[c];
      shift.push_back({static_cast<float>(s.x), static_cast<float>(s.y), static_cast<float>(s.z)});
    }
    for (int p = 0; p < patches_n; ++p) {
      order[p] = p;
      for (int c = 0; c < grid.codes(); ++c) neighbour.push_back(grid.neighbour(p, c));
    }
    shifts.emplace(shift);
    offsets.emplace(grid.offsets);
    identity.emplace(order);
    neighbours.emplace(neighbour);
    std::vector<PlacedGroup> first;
    for (int g = 0; g < groups_n; ++g) first.push_back({3 * g, g});
    placed.emplace(first);
    const int count = groups_n;
    cuda_check(cudaMemcpy(group_count.data, &count, sizeof count, cudaMemcpyDefault), "upload");
    constants = {nullptr,         nullptr,          charge.data,
                 lj_atom.data,    group_start.data, exclusion_start.data,
                 exclusions.data, nullptr,          nullptr};
    view = {grid.cells, 1, grid.codes(), offsets->data, shifts->data, nullptr};
    slots = {position.data,
             velocity.data,
             reference_d.data,
             local.data,
             low.data,
             lj.data,
             atom.data,
             cluster_patch.data,
             {force.data, force.data + slots_n, force.data + 2 * slots_n},
             nullptr};
    // Groups that were laid out before lie nearly in order.
    run(place(0));
    copy(from, position);
    copy(from_velocity, velocity);
    copy(*placed, placed_out);
    run(place(1));
    synchronize();
  }
  ~Bench() { cudaStreamDestroy(context.stream); }

  template <class Op>
  void run(const Op& op) {
    const auto f = kernels.find(operation_key<Op>());
    f(&op, context);
  }

  // To be run in turns with that of the other parity.
  PlaceGroups place(int parity) {
    const BinGroups bin{placed->data, group_count.data, groups_n, from.data, w.box,
                        view,         records.data};
    return {bin,
            constants,
            identity->data,
            patches_n,
            identity->data,
            patches.data,
            slots_n,
            slot_count.data,
            tally[parity].data,
            tally[1 - parity].data,
            from.data,
            from_velocity.data,
            slots,
            placed_out.data,
            origin.data,
            start_velocity.data,
            slot_of_atom.data,
            bounds.data,
            faults.data};
  }
  BoundClusters bound() { return {slots, slot_count.data, slots_n, bounds.data}; }
  NumberLists number() {
    return {patches.data,    identity->data, patches_n,       0,
            first_list.data, ranges.data,    entry_count.data};
  }
  BuildLists build(float reach) {
    BuildLists op{};
    op.slots = slots;
    op.slot_capacity = slots_n;
    op.patches = patches.data;
    op.bounds = bounds.data;
    op.constants = constants;
    op.slot_of_atom = slot_of_atom.data;
    op.grid = view;
    op.computes = identity->data;
    op.neighbours = neighbours->data;
    op.compute_count = patches_n;
    op.first_list = first_list.data;
    for (int n = 0; n < kShells; ++n)
      op.reach[n] = static_cast<float>(kCutoff + (reach - kCutoff) * (n + 1) / kShells);
    op.lists = lists.data;
    op.list_capacity = lists_n;
    op.entries = entries.data;
    op.masks = masks.data;
    op.entry_capacity = static_cast<int>(entries.size);
    op.entry_count = entry_count.data;
    op.faults = faults.data;
    return op;
  }
  PairForces pairs(int pieces, bool with_energy, int shell = kShells - 1) {
    PairForces op{};
    op.slots = slots;
    op.slot_capacity = slots_n;
    op.lists = lists.data;
    op.range = ranges.data + 2;
    op.capacity = lists_n;
    op.shell = shell;
    op.entries = entries.data;
    op.masks = masks.data;
    op.shifts = shifts->data;
    op.codes = grid.codes();
    op.pieces = pieces;
    op.parameters.cutoff2 = static_cast<float>(kCutoff * kCutoff);
    op.parameters.t_scale = static_cast<float>(2 / (kCutoff * kCutoff));
    op.parameters.combination = Combination::kLorentzBerthelot;
    op.parameters.ewald = fit_ewald(kAlpha, kCutoff);
    op.energy = with_energy ? energy.data : nullptr;
    return op;
  }
  template <class T>
  void copy(Array<T>& to, const Array<T>& source) {
    cuda_check(cudaMemcpyAsync(to.data, source.data, source.size * sizeof(T), cudaMemcpyDefault,
                               context.stream),
               "copy");
  }
  void synchronize() { cuda_check(cudaStreamSynchronize(context.stream), "run"); }

  // Median time of one call in a graph of several, microseconds.
  double time(const std::function<void()>& body, int repeats) {
    body();
    synchronize();
    if (!timed) return 0;
    cuda_check(cudaStreamBeginCapture(context.stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int r = 0; r < repeats; ++r) body();
    cudaGraph_t graph;
    cuda_check(cudaStreamEndCapture(context.stream, &graph), "end capture");
    cudaGraphExec_t exec;
    cuda_check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    std::vector<float> times;
    for (int t = 0; t < 15; ++t) {
      cudaEventRecord(a, context.stream);
      cuda_check(cudaGraphLaunch(exec, context.stream), "launch graph");
      cudaEventRecord(b, context.stream);
      cuda_check(cudaEventSynchronize(b), "run graph");
      float ms;
      cudaEventElapsedTime(&ms, a, b);
      times.push_back(ms * 1000 / repeats);
    }
    cudaEventDestroy(a);
    cudaEventDestroy(b);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    std::nth_element(times.begin(), times.begin() + 7, times.end());
    return times[7];
  }

  std::vector<int64_t> forces_of(const std::function<void()>& body) {
    cuda_check(cudaMemsetAsync(force.data, 0, force.size * sizeof(int64_t), context.stream),
               "clear");
    cuda_check(cudaMemsetAsync(energy.data, 0, energy.size * sizeof(int64_t), context.stream),
               "clear");
    body();
    synchronize();
    return force.host();
  }

  const Water& w;
  bool timed = true;
  PatchGrid grid;
  int patches_n, groups_n, slots_n, lists_n;
  size_t entries_n;
  CudaContext context;
  CudaKernels kernels;
  FixedScratch scratch{static_cast<size_t>(groups_n) * 20 + static_cast<size_t>(patches_n) * 128};
  Array<Vec3d> from{padded(w.positions, slots_n)}, from_velocity{padded(w.positions, slots_n)};
  Array<float> charge{w.charge};
  Array<Float2> lj_atom{w.lj};
  Array<int32_t> group_start{w.group_start}, exclusion_start{w.exclusion_start},
      exclusions{w.exclusions};
  std::optional<Array<Vec3f>> shifts;
  std::optional<Array<Int3>> offsets;
  std::optional<Array<int32_t>> identity, neighbours;
  std::optional<Array<PlacedGroup>> placed;
  Array<PlacedGroup> placed_out{static_cast<size_t>(groups_n)};
  Array<int32_t> group_count{1}, slot_count{1}, entry_count{1}, ranges{4},
      first_list{static_cast<size_t>(patches_n) + 1};
  Array<GroupRecord> records{static_cast<size_t>(groups_n)};
  Array<PlacedPatch> patches{static_cast<size_t>(patches_n)};
  Array<Vec3d> position{static_cast<size_t>(slots_n)}, velocity{static_cast<size_t>(slots_n)},
      reference_d{static_cast<size_t>(slots_n)}, start_velocity{static_cast<size_t>(slots_n)},
      origin{static_cast<size_t>(groups_n)};
  Array<Float4> local{static_cast<size_t>(slots_n)}, low{static_cast<size_t>(slots_n)};
  Array<Float2> lj{static_cast<size_t>(slots_n)};
  Array<int32_t> atom{static_cast<size_t>(slots_n)}, cluster_patch{static_cast<size_t>(lists_n)},
      slot_of_atom{static_cast<size_t>(w.atoms())};
  Array<int64_t> force{3 * static_cast<size_t>(slots_n)}, energy{kEnergyKinds};
  Array<int64_t> tally[2]{Array<int64_t>{static_cast<size_t>(patches_n)},
                          Array<int64_t>{static_cast<size_t>(patches_n)}};
  Array<ClusterBounds> bounds{static_cast<size_t>(lists_n)};
  Array<PairList> lists{static_cast<size_t>(lists_n)};
  Array<uint32_t> entries{entries_n};
  Array<uint8_t> masks{entries_n};
  Array<Faults> faults{1};
  Constants constants{};
  GridView view{};
  Slots slots{};
};

}  // namespace quiltmd
