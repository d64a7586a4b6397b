// SPDX-License-Identifier: Apache-2.0
// Workshop of the layout, pair-list and pair-force kernels: each timed alone on boxes of water of
// the four benchmark sizes and checked against a plain double-precision loop on a sample of atoms.
//
//   python3 benchmarks/kernels/build.py pairs && build/kernels/pairs [sizes, 1 to 4] [check]
//
// `check` times nothing, for compute-sanitizer.
//
// A tenth of the molecules, in the middle of every 6.223 nm cube, have Lennard-Jones on all three
// atoms, as a protein has. Variants of the pair kernel are made by build.py.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "computes/nonbonded/operations.h"
#include "decomposition/patch_grid.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "math/fixed.h"
#include "math/units.h"
#include "pair_water.h"
#include "variants.h"

using namespace quiltmd;

namespace {

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

bool timing = true;

// ---- the engine's data ---------------------------------------------------------------------

struct Bench {
  Bench(const Water& water, double buffer)
      : w(water),
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
  }
  ~Bench() { cudaStreamDestroy(context.stream); }

  template <class Op>
  void run(const Op& op) {
    const auto f = kernels.find(operation_key<Op>());
    f(&op, context);
  }

  BinGroups bin() {
    return {placed->data, group_count.data, groups_n, from.data, w.box, view, records.data};
  }
  SortGroups sort() {
    return {records.data, group_count.data, groups_n,        constants,
            view,         identity->data,   patches_n,       identity->data,
            patches.data, slots_n,          slot_count.data, faults.data};
  }
  PlaceGroups place() {
    return {records.data, group_count.data,    groups_n,           constants, patches.data,
            patches_n,    from.data,           from_velocity.data, slots,     placed_out.data,
            origin.data,  start_velocity.data, slot_of_atom.data};
  }
  BoundClusters bound() { return {slots, slot_count.data, slots_n, bounds.data}; }
  NumberLists number() {
    return {patches.data, identity->data, patches_n, 0, first_list.data, ranges.data};
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
    op.reach = reach;
    op.lists = lists.data;
    op.list_capacity = lists_n;
    op.entries = entries.data;
    op.masks = masks.data;
    op.entry_capacity = static_cast<int>(entries.size);
    op.entry_count = entry_count.data;
    op.faults = faults.data;
    return op;
  }
  PruneLists prune(float reach, bool compare) {
    return {slots,
            lists.data,
            ranges.data + 2,
            lists_n,
            entries.data,
            masks.data,
            shifts->data,
            grid.codes(),
            reach,
            inner.data,
            inner_entries.data,
            inner_masks.data,
            kept.data,
            compare,
            static_cast<float>(kCutoff * kCutoff),
            step.data,
            faults.data};
  }
  PairForces inner_pairs(int pieces) {
    PairForces op = pairs(pieces, false);
    op.lists = inner.data;
    op.entries = inner_entries.data;
    op.masks = inner_masks.data;
    return op;
  }
  PairForces pairs(int pieces, bool with_energy) {
    PairForces op{};
    op.slots = slots;
    op.slot_capacity = slots_n;
    op.lists = lists.data;
    op.range = ranges.data + 2;
    op.capacity = lists_n;
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
  void synchronize() { cuda_check(cudaStreamSynchronize(context.stream), "run"); }

  // Median time of one call in a graph of several, microseconds.
  double time(const std::function<void()>& body, int repeats) {
    body();
    synchronize();
    if (!timing) return 0;
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
  PatchGrid grid;
  int patches_n, groups_n, slots_n, lists_n;
  size_t entries_n;
  CudaContext context;
  CudaKernels kernels;
  FixedScratch scratch{static_cast<size_t>(groups_n) * (sizeof(GroupRecord) + 4) + 4096 +
                       static_cast<size_t>(patches_n) * 16};
  Array<Vec3d> from{w.positions}, from_velocity{w.positions};
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
  Array<ClusterBounds> bounds{static_cast<size_t>(lists_n)};
  Array<PairList> lists{static_cast<size_t>(lists_n)}, inner{static_cast<size_t>(lists_n)};
  Array<uint32_t> entries{entries_n}, inner_entries{entries_n}, kept{entries_n / 32};
  Array<uint8_t> masks{entries_n}, inner_masks{entries_n};
  Array<int64_t> step{1};
  Array<Faults> faults{1};
  Constants constants{};
  GridView view{};
  Slots slots{};
};

// ---- checks --------------------------------------------------------------------------------

struct Sample {
  std::vector<int> atoms;
  std::vector<Reference> values;
  double pairs_per_atom = 0;  // half list
};

Sample sample_reference(const Water& w) {
  Sample s;
  std::mt19937 random(11);
  const int wanted = w.atoms() > 500000 ? 150 : 400;
  for (int k = 0; k < wanted; ++k) s.atoms.push_back(static_cast<int>(random() % w.atoms()));
  for (const int a : s.atoms) s.values.push_back(reference(w, a));
  for (const Reference& r : s.values) s.pairs_per_atom += 0.5 * r.pairs / wanted;
  return s;
}

// Relative rms error of the sampled forces.
double force_error(const Bench& b, const Sample& s, const std::vector<int64_t>& force,
                   const std::vector<int32_t>& slot_of_atom) {
  double error = 0, size = 0;
  for (size_t k = 0; k < s.atoms.size(); ++k) {
    const int slot = slot_of_atom[s.atoms[k]];
    Vec3d f;
    for (int c = 0; c < 3; ++c) f[c] = from_fixed(force[c * b.slots_n + slot], kForceScale);
    const Vec3d d = f - s.values[k].force;
    error += dot(d, d);
    size += dot(s.values[k].force, s.values[k].force);
  }
  return std::sqrt(error / size);
}

bool sums_to_zero(const Bench& b, const std::vector<int64_t>& force) {
  for (int c = 0; c < 3; ++c) {
    int64_t sum = 0;
    for (int s = 0; s < b.slots_n; ++s) sum += force[c * b.slots_n + s];
    if (sum != 0) return false;
  }
  return true;
}

void check_energy(Bench& b) {
  const std::vector<int64_t> e = b.energy.host();
  if (b.w.atoms() > 30000) return;
  double lj = 0, coulomb = 0;
  for (int i = 0; i < b.w.atoms(); ++i) {
    const Reference r = reference(b.w, i);
    lj += 0.5 * r.lj;
    coulomb += 0.5 * r.coulomb;
  }
  std::printf("  energies: lj %.4f (reference %.4f, rel %.1e), coulomb %.4f (%.4f, rel %.1e)\n",
              from_fixed(e[kLj], kEnergyScale), lj,
              std::fabs(from_fixed(e[kLj], kEnergyScale) / lj - 1),
              from_fixed(e[kCoulombDirect], kEnergyScale), coulomb,
              std::fabs(from_fixed(e[kCoulombDirect], kEnergyScale) / coulomb - 1));
}

// An early start must be allowed after anything that a recording may hold before it.
void check_capture(Bench& b) {
  cudaStream_t other;
  cudaEvent_t fork, join;
  cuda_check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "create stream");
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  const PairForces op = b.pairs(1, false);
  const double us = b.time(
      [&] {
        cuda_check(cudaEventRecord(fork, b.context.stream), "fork");
        cuda_check(cudaStreamWaitEvent(other, fork), "fork");
        cuda_check(cudaMemsetAsync(b.energy.data, 0, 8, other), "fill");
        cuda_check(cudaEventRecord(join, other), "join");
        b.run(op);
        cuda_check(cudaMemsetAsync(b.force.data, 0, b.force.size * 8, b.context.stream), "fill");
        b.run(op);
        cuda_check(cudaStreamWaitEvent(b.context.stream, join), "join");
        b.run(op);
      },
      5);
  const auto captured = b.force.host();
  b.forces_of([&] { b.run(op), b.run(op); });
  std::printf("  recorded with fork, fill and join: %.1f us for 3, %s\n", us,
              captured == b.force.host() ? "right" : "WRONG");
  cudaStreamDestroy(other);
}

// Entries a list and rounds of 32 a list.
void print_lists(const std::vector<PairList>& lists, int count, double pairs) {
  int64_t rounds = 0, masked = 0, listed = 0;
  int longest = 0;
  for (const PairList& l : lists) {
    rounds += (l.count + 31) / 32;
    masked += l.masked;
    listed += l.count;
    longest = std::max(longest, l.count);
  }
  const auto n = static_cast<double>(listed);
  std::printf(
      "  %d lists of %.1f entries (longest %d, masked %.1f); useful slots %.3f, with idle lanes "
      "%.3f\n",
      count, n / count, longest, static_cast<double>(masked) / count, pairs / (8 * n),
      pairs / (256.0 * static_cast<double>(rounds)));
}

// Prune the lists that were built to narrower ones; the forces must be those of narrow lists built
// at once, bit by bit.
void check_prune(Bench& b, float reach, double pairs, int repeats) {
  for (const float narrow : {0.90f, 0.93f, 0.96f}) {
    if (narrow >= reach) break;
    b.run(b.build(narrow));
    const auto built = b.forces_of([&] { b.run(b.pairs(1, false)); });
    b.run(b.build(reach));
    b.run(b.prune(narrow, false));
    const auto pruned = b.forces_of([&] { b.run(b.inner_pairs(1)); });
    b.run(b.prune(narrow, true));
    b.synchronize();
    const bool quiet = b.faults.host()[0].violation_step == 0;
    b.run(b.prune(0.8f, false));
    b.run(b.prune(narrow, true));
    b.synchronize();
    const bool seen = b.faults.host()[0].violation_step == 1;
    cuda_check(cudaMemset(b.faults.data, 0, sizeof(Faults)), "clear");
    const double us = b.time([&] { b.run(b.prune(narrow, true)); }, repeats);
    std::printf("  pruned to %.2f in %.1f us: forces %s, misses %s;", narrow, us,
                built == pruned ? "of lists built at once" : "DIFFER",
                quiet && seen ? "seen" : "WRONG");
    for (const int pieces : {1, 2}) {
      const PairForces op = b.inner_pairs(pieces);
      std::printf(" pairs, pieces %d: %.2f us", pieces, b.time([&] { b.run(op); }, repeats));
    }
    std::printf("\n");
    print_lists(b.inner.host(), b.ranges.host()[3], pairs);
  }
}

void bench(const Water& w, const Sample& sample, double buffer, bool all_variants) {
  Bench b(w, buffer);
  const int repeats = w.atoms() > 500000 ? 4 : 20;
  const float reach = static_cast<float>(kCutoff + buffer);
  const BinGroups bin = b.bin();
  const SortGroups sort = b.sort();
  const PlaceGroups place = b.place();
  const BoundClusters bound = b.bound();
  const NumberLists number = b.number();
  const BuildLists build = b.build(reach);
  std::printf("%d atoms, reach %.2f, %dx%dx%d patches: bin %.1f", w.atoms(), reach, b.grid.cells.x,
              b.grid.cells.y, b.grid.cells.z, b.time([&] { b.run(bin); }, repeats));
  std::printf(" sort %.1f", b.time([&] { b.run(sort); }, repeats));
  std::printf(" place %.1f", b.time([&] { b.run(place); }, repeats));
  std::printf(" bound %.1f", b.time([&] { b.run(bound); }, repeats));
  std::printf(" number %.1f", b.time([&] { b.run(number); }, repeats));
  std::printf(" build %.1f us\n", b.time([&] { b.run(build); }, repeats));
  const Faults faults = b.faults.host()[0];
  if (faults.list_overflow)
    std::printf("  OVERFLOW: need %d, have %zu\n", faults.list_overflow, b.entries.size);
  const double pairs = sample.pairs_per_atom * w.atoms();
  print_lists(b.lists.host(), b.ranges.host()[3], pairs);
  const std::vector<int32_t> where = b.slot_of_atom.host();
  const auto plain = b.forces_of([&] { b.run(b.pairs(1, false)); });
  std::printf("  force error %.2e, sum %s, repeat %s", force_error(b, sample, plain, where),
              sums_to_zero(b, plain) ? "zero" : "NOT ZERO",
              plain == b.forces_of([&] { b.run(b.pairs(1, false)); }) ? "equal" : "DIFFERS");
  const auto with_energy = b.forces_of([&] { b.run(b.pairs(1, true)); });
  std::printf(", with energies %s\n", plain == with_energy ? "equal" : "DIFFERS");
  if (all_variants && timing) check_energy(b);
  if (all_variants && timing) check_capture(b);
  const double floor = pairs * 1e6;  // microseconds per slot-instruction, over the chip's rate
  for (const PairVariant& v : pair_variants()) {
    if (!all_variants && std::string(v.name) != "source") continue;
    std::printf("  %-12s", v.name);
    for (const int pieces : {1, 2, 3, 4}) {
      if (w.atoms() > 300000 && pieces > 2) continue;
      const PairForces op = b.pairs(pieces, false);
      const double us = b.time([&] { v.run(op, b.context); }, repeats);
      std::printf(" pieces %d: %8.2f us (%5.1f slots/pair)", pieces, us, us * 33.4e12 / floor);
    }
    const auto f = b.forces_of([&] { v.run(b.pairs(1, false), b.context); });
    std::printf("  %s", f == plain ? "same bits" : "");
    if (f != plain) std::printf("error %.1e", force_error(b, sample, f, where));
    const PairForces op = b.pairs(1, true);
    std::printf("; energies %.1f us\n", b.time([&] { v.run(op, b.context); }, repeats));
    std::fflush(stdout);
  }
  if (!timing || buffer > 0.09) check_prune(b, reach, pairs, repeats);
}

}  // namespace

int main(int argc, char** argv) {
  const Int3 tiles[] = {{1, 1, 1}, {2, 2, 1}, {4, 4, 1}, {3, 3, 5}};
  const int sizes = argc > 1 ? std::atoi(argv[1]) : 4;
  timing = argc < 3;
  try {
    for (int t = 0; t < sizes; ++t) {
      const Water w = make_water(tiles[t]);
      const Sample sample = sample_reference(w);
      std::printf("== %d atoms, %.1f pairs per atom\n", w.atoms(), sample.pairs_per_atom);
      for (const double buffer : {0.0, 0.03, 0.06, 0.10, 0.15}) {
        if (timing || buffer == 0.06)
          bench(w, sample, buffer, timing && buffer == 0.06 && (t == 0 || t == 3));
      }
    }
  } catch (const std::exception& e) {
    std::printf("FAILED: %s\n", e.what());
    return 1;
  }
  return 0;
}
