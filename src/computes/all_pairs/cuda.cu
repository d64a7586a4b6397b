// SPDX-License-Identifier: Apache-2.0
// All pairs on the GPU: the roster, and the passes over its tiles (cuda_tiles.cuh). The two atoms of a
// pair get forces, derivatives and integrals from one evaluation. Which formula serves a tile follows
// from the places of its atoms, so all ranks that evaluate a tile find the same bits.
#include <algorithm>
#include <climits>
#include <cmath>

#include "computes/all_pairs/cuda_forces.cuh"
#include "computes/all_pairs/cuda_screening.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace all_pairs {

// Several times what runs at once, for an even end; where tiles are few, what runs at once.
constexpr int kBlocksPerProcessor = 32, kBlocksOfFew = 7;

// ---- The roster ------------------------------------------------------------------------------

constexpr int kScanThreads = 1024;

__global__ void __launch_bounds__(kScanThreads)
    number_clusters_kernel(const __grid_constant__ LayOutRoster op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  int before = 0;
  for (int base = 0; base < op.patch_count; base += kScanThreads) {
    const int p = base + threadIdx.x;
    PlacedPatch patch{};
    if (p < op.patch_count) patch = op.patches[op.placed_index[p]];
    const int clusters = clusters_of(patch.atoms);
    int all = 0;
    const int place = before + block_sum(clusters, &all);
    for (int c = 0; c < clusters && place + c < op.roster_capacity; ++c) {
      const int cluster = patch.start / kClusterSize + c;
      op.place_of_cluster[cluster] = place + c;
      op.roster[place + c] = {cluster, patch.cell};
    }
    before += all;
  }
  if (threadIdx.x == 0) *op.roster_count = min(before, op.roster_capacity);
}

// An atom that is nowhere (the simulation is about to fail) comes last.
__device__ int place_of(const LayOutRoster& op, int atom) {
  const int slot = op.slot_of_atom[atom];
  if (slot < 0) return INT_MAX;
  return op.place_of_cluster[slot / kClusterSize] * kClusterSize + slot % kClusterSize;
}

// Partners are a dozen, so they are sorted by insertion.
__device__ void look_up_partners(const LayOutRoster& op, int atom) {
  PartnerRange range{op.exclusions.start[atom], op.exclusions.start[atom + 1], INT_MAX, -1};
  for (int k = range.begin; k < range.end; ++k) {
    const int place = place_of(op, op.exclusions.partners[k]);
    range.first = min(range.first, place);
    if (place != INT_MAX) range.last = max(range.last, place);
    int at = k;
    for (; at > range.begin && op.partners[at - 1] > place; --at)
      op.partners[at] = op.partners[at - 1];
    op.partners[at] = place;
  }
  const int own = place_of(op, atom);
  if (own != INT_MAX) op.partner_ranges[own] = range;
}

__device__ void note_atom(const LayOutRoster& op, int place) {
  const int cluster = place / kClusterSize, count = *op.roster_count;
  const RosterEntry entry = op.roster[min(cluster, count - 1)];
  const int slot = entry.cluster * kClusterSize + place % kClusterSize;
  const bool exists = cluster < count && op.slots.atom[slot] >= 0;
  op.roster_atoms[place] = {exists ? slot : -1, entry.cell};
}

__global__ void __launch_bounds__(kThreads)
    look_up_kernel(const __grid_constant__ LayOutRoster op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n < op.atoms) look_up_partners(op, n);
  if (n < op.places) note_atom(op, n);
  if (op.sites && n < op.roster_capacity) op.visits[n] = 0;
  if (!op.sites || n >= op.slot_capacity) return;
  op.sums[n] = op.derivatives[n] = 0;
  const int place = n / kClusterSize;
  if (place >= *op.roster_count) return;
  const int slot = op.roster[place].cluster * kClusterSize + n % kClusterSize;
  const int32_t atom = op.slots.atom[slot];
  op.sites[slot] = atom < 0 ? BornSite{} : op.site_of_atom[atom];
}

// ---- The three passes ------------------------------------------------------------------------

// Called by kernels that read nothing before the previous kernel has ended.
__device__ __forceinline__ void start() {
  wait_for_previous();
  release_next();
}

template <bool kNecks, Range kRange, int kOwn>
__global__ void __launch_bounds__(kThreads, kOwn == 1 ? 8 : 6)
    born_radii_kernel(const __grid_constant__ BornRadii op, LaunchTimes* times) {
  const Timed timed(times);
  RadiusPass<kNecks, kRange, kOwn> pass(op);
  if (!pass.kStartsBefore) start();
  meet_all(op.pairs, pass);
}

__device__ __forceinline__ void add_energy(int64_t* energy, int kind, long long value) {
  const long long sum = warp_sum(value);
  if (threadIdx.x % kWarp == 0) add_fixed(energy + kind, sum);
}

template <class Form, Medium kMedium, Range kRange, int kOwn, bool kEnergy>
__global__ void __launch_bounds__(kThreads, kEnergy     ? 3
                                            : kOwn == 1 ? 7
                                                        : 5)
    all_pair_forces_kernel(const __grid_constant__ AllPairForces op, LaunchTimes* times) {
  const Timed timed(times);
  ForcePass<Form, kMedium, kRange, kOwn, kEnergy> pass(op);
  if (!pass.kStartsBefore) start();
  meet_all(op.pairs, pass);
  if constexpr (kEnergy) {
    add_energy(op.energy, kPairForm, pass.energy_total.form);
    add_energy(op.energy, kCoulombDirect, pass.energy_total.coulomb);
    add_energy(op.energy, kPolarisation, pass.energy_total.polarised);
    add_energy(op.energy, kSurface, pass.energy_total.surface);
  }
}

template <bool kNecks, Range kRange, int kOwn>
__global__ void __launch_bounds__(kThreads, kOwn == 1 ? 8 : 6)
    born_forces_kernel(const __grid_constant__ BornForces op, LaunchTimes* times) {
  const Timed timed(times);
  ChainPass<kNecks, kRange, kOwn> pass(op);
  meet_all(op.pairs, pass);
}

}  // namespace all_pairs

namespace {

using all_pairs::kThreads;

LaunchShape by_slot(const char* name, int count) {
  return {name, blocks_for(count, kThreads), kThreads, 0, Start::kEarly};
}

// If a warp has no second tile, rows are of one group. Only the system decides, because sums are rounded by
// tile.
bool has_few_tiles(const AllPairs& p) {
  constexpr int kFewAtoms = 5000;
  return p.atoms <= kFewAtoms && !std::isfinite(p.cutoff2);
}

// A warp for each tile that there is room for, or a fixed number of blocks for each multiprocessor.
LaunchShape by_tiles(const char* name, const AllPairs& p, const CudaContext& context) {
  using namespace all_pairs;
  const bool few = has_few_tiles(p);
  const int groups = static_cast<int>(blocks_for(p.roster_capacity, kGroup / kClusterSize));
  const int64_t tiles = few ? Triangle<1>{groups}.tiles() : Triangle<2>{groups}.tiles();
  const int64_t most = int64_t{context.sm_count} * (few ? kBlocksOfFew : kBlocksPerProcessor);
  const auto blocks = std::min<int64_t>(blocks_for(tiles, kWarps), most);
  return {name, static_cast<unsigned>(blocks), kThreads, 0, Start::kEarly};
}

void lay_out_roster(const LayOutRoster& op, CudaContext& context) {
  launch(context, {"lay_out_roster.number", 1, all_pairs::kScanThreads},
         all_pairs::number_clusters_kernel, op);
  launch(context, by_slot(LayOutRoster::kName, std::max({op.atoms, op.slot_capacity, op.places})),
         all_pairs::look_up_kernel, op);
}

// Calls with the kind of kernel that serves these pairs: up to a cutoff, any, or any in rows of one group.
template <all_pairs::Range kRange, int kGroups>
struct Kind {
  static constexpr all_pairs::Range kPairs = kRange;
  static constexpr int kOwn = kGroups;
};
template <class Call>
auto with_kind(const AllPairs& p, const Call& call) {
  using all_pairs::Range;
  if (std::isfinite(p.cutoff2)) return call(Kind<Range::kCutoff, 2>{});
  return has_few_tiles(p) ? call(Kind<Range::kAny, 1>{}) : call(Kind<Range::kAny, 2>{});
}

void born_radii(const BornRadii& op, CudaContext& context) {
  using all_pairs::born_radii_kernel;
  const auto kernel = with_kind(op.pairs, [&]<class K>(K) {
    return op.necks.types > 0 ? born_radii_kernel<true, K::kPairs, K::kOwn>
                              : born_radii_kernel<false, K::kPairs, K::kOwn>;
  });
  launch(context, by_tiles(BornRadii::kName, op.pairs, context), kernel, op);
}

using ForceKernel = void (*)(AllPairForces, LaunchTimes*);

template <class Form, all_pairs::Medium kMedium, class K>
ForceKernel kernel_in(const AllPairForces& op) {
  using all_pairs::all_pair_forces_kernel;
  return op.energy ? all_pair_forces_kernel<Form, kMedium, K::kPairs, K::kOwn, true>
                   : all_pair_forces_kernel<Form, kMedium, K::kPairs, K::kOwn, false>;
}

template <class Form>
ForceKernel kernel_of(const AllPairForces& op) {
  using all_pairs::Medium, all_pairs::Range;
  return with_kind(op.pairs, [&]<class K>(K) {
    // Without solvent, pairs up to a cutoff have lists.
    if constexpr (K::kPairs == Range::kAny)
      if (!op.born.radii) return kernel_in<Form, Medium::kVacuum, K>(op);
    return op.born.constants.kappa > 0 ? kernel_in<Form, Medium::kSaltSolution, K>(op)
                                       : kernel_in<Form, Medium::kSolvent, K>(op);
  });
}

void all_pair_forces(const AllPairForces& op, CudaContext& context) {
  const auto kernel =
      PairForms::with(op.parameters.form, [&]<class Form>(Form) { return kernel_of<Form>(op); });
  launch(context, by_tiles(AllPairForces::kName, op.pairs, context), kernel, op);
}

void born_forces(const BornForces& op, CudaContext& context) {
  using all_pairs::born_forces_kernel;
  const auto kernel = with_kind(op.pairs, [&]<class K>(K) {
    return op.necks.types > 0 ? born_forces_kernel<true, K::kPairs, K::kOwn>
                              : born_forces_kernel<false, K::kPairs, K::kOwn>;
  });
  launch(context, by_tiles(BornForces::kName, op.pairs, context), kernel, op);
}

}  // namespace

void add_all_pairs_kernels(CudaKernels& table) {
  table.add<LayOutRoster, lay_out_roster>();
  table.add<BornRadii, born_radii>();
  table.add<AllPairForces, all_pair_forces>();
  table.add<BornForces, born_forces>();
}

}  // namespace quiltmd
