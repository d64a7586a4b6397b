// SPDX-License-Identifier: Apache-2.0
// Laying out a rank's atoms on the GPU. Sorting is by buckets: groups are counted per patch, the
// patches laid out by one block, the groups scattered into their patches in any order, and ranked
// there by counting how many go before each. A patch holds some 40 groups, so counting is cheaper
// than any sort; it would be slow for patches with tens of thousands.
#include "decomposition/layout_math.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace layout {

constexpr int kThreads = 128;
constexpr int kScanThreads = 1024;
constexpr int kRankThreads = 64;  // what a patch of 1 nm holds, mostly

__device__ __forceinline__ int used(const int32_t* count, int capacity) {
  return min(*count, capacity);
}

__global__ void __launch_bounds__(kThreads) bin_kernel(const __grid_constant__ BinGroups op) {
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n < used(op.count, op.capacity)) op.records[n] = make_record(op, op.placed[n]);
}

// Per owned patch, and one more for groups that leave the rank.
struct Buckets {
  int32_t* groups;
  int32_t* atoms;
  int32_t* next;  // where the bucket's next record goes
  GroupRecord* records;
};

__device__ __forceinline__ int bucket_of(const SortGroups& op, int patch) {
  const int index = op.owned_index[patch];
  return index < 0 ? op.owned_count : index;
}

__global__ void __launch_bounds__(kThreads)
    count_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= used(op.count, op.capacity)) return;
  const int bucket = bucket_of(op, op.records[n].patch);
  atomicAdd(&buckets.groups[bucket], 1);
  atomicAdd(&buckets.atoms[bucket], atoms_of(op.constants, op.records[n].group));
}

__global__ void __launch_bounds__(kScanThreads)
    lay_out_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  int groups_before = 0, slots_before = 0;
  for (int base = 0; base <= op.owned_count; base += kScanThreads) {
    const int p = base + threadIdx.x;
    const bool present = p <= op.owned_count, owned = p < op.owned_count;
    const int groups = present ? buckets.groups[p] : 0;
    const int atoms = owned ? buckets.atoms[p] : 0;
    const int slots = (atoms + kClusterSize - 1) / kClusterSize * kClusterSize;
    int groups_here, slots_here;
    const int first_group = groups_before + block_sum(groups, &groups_here);
    const int start = slots_before + block_sum(slots, &slots_here);
    if (present) buckets.next[p] = first_group;
    if (owned) {
      // What does not fit is left out; the caller sees the need and repeats with more room.
      const bool fits = start + slots <= op.slot_capacity;
      op.patches[p] = {op.owned[p], fits ? start : 0,  fits ? atoms : 0,
                       first_group, fits ? groups : 0, cell_of(op.owned[p], op.grid.cells)};
    }
    groups_before += groups_here;
    slots_before += slots_here;
  }
  if (threadIdx.x != 0) return;
  if (slots_before > op.slot_capacity) atomicMax(&op.faults->list_overflow, slots_before);
  *op.slot_count = min(slots_before, op.slot_capacity);
}

__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= used(op.count, op.capacity)) return;
  const GroupRecord record = op.records[n];
  buckets.records[atomicAdd(&buckets.next[bucket_of(op, record.patch)], 1)] = record;
}

// One block per bucket: every record to its rank.
__global__ void __launch_bounds__(kRankThreads)
    rank_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  __shared__ uint2 tile[kRankThreads];
  const int count = buckets.groups[blockIdx.x];
  const int begin = buckets.next[blockIdx.x] - count;
  for (int base = 0; base < count; base += kRankThreads) {
    const int mine = base + threadIdx.x;
    GroupRecord record{};
    if (mine < count) record = buckets.records[begin + mine];
    int rank = 0;
    for (int other = 0; other < count; other += kRankThreads) {
      const int loaded = min(kRankThreads, count - other);
      __syncthreads();
      if (threadIdx.x < loaded) {
        const GroupRecord& r = buckets.records[begin + other + threadIdx.x];
        tile[threadIdx.x] = {r.key, static_cast<unsigned>(r.group)};
      }
      __syncthreads();
      for (int t = 0; t < loaded; ++t) {
        rank += goes_before(tile[t].x, static_cast<int>(tile[t].y), record.key, record.group);
      }
    }
    if (mine < count) op.records[begin + rank] = record;
  }
}

__global__ void __launch_bounds__(kThreads) place_kernel(const __grid_constant__ PlaceGroups op) {
  const PlacedPatch patch = op.patches[blockIdx.x];
  int start = patch.start;
  for (int base = 0; base < patch.groups; base += kThreads) {
    const int index = patch.group_start + base + threadIdx.x;
    const bool present = base + static_cast<int>(threadIdx.x) < patch.groups;
    const GroupRecord record = present ? op.records[index] : GroupRecord{};
    const int atoms = present ? atoms_of(op.constants, record.group) : 0;
    int placed;
    const int slot = start + block_sum(atoms, &placed);
    if (present) {
      op.placed[index] = {slot, record.group};
      op.origin[index] = record.origin;
      for (int a = 0; a < atoms; ++a) place_atom(op, record, a, slot + a);
    }
    start += placed;
  }
  const int end = (start + kClusterSize - 1) / kClusterSize * kClusterSize;
  for (int slot = start + threadIdx.x; slot < end; slot += kThreads) {
    place_padding(op, patch.patch, slot);
  }
  for (int c = patch.start / kClusterSize + threadIdx.x; c < end / kClusterSize; c += kThreads) {
    op.slots.patch[c] = blockIdx.x;
  }
}

// Least and greatest over the eight lanes of a cluster.
__device__ __forceinline__ float least(float v) {
  for (int bit = kClusterSize / 2; bit > 0; bit /= 2)
    v = fminf(v, __shfl_xor_sync(kAllLanes, v, bit));
  return v;
}

__global__ void __launch_bounds__(kThreads) bound_kernel(const __grid_constant__ BoundClusters op) {
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  const bool present = slot < used(op.slot_count, op.slot_capacity);
  const bool atom = present && op.slots.atom[slot] >= 0;
  const Float4 site = present ? op.slots.local[slot] : Float4{};
  float low[3], high[3];
  const float at[3] = {site.x, site.y, site.z};
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    low[d] = least(atom ? at[d] : kFarAway);
    high[d] = -least(atom ? -at[d] : kFarAway);
  }
  if (!present || slot % kClusterSize != 0) return;
  // Rounded outwards, so that the box holds its atoms.
  const auto half = [&](int d) { return __fmul_ru(__fsub_ru(high[d], low[d]), 0.500001f); };
  op.bounds[slot / kClusterSize] = {
      {0.5f * (low[0] + high[0]), 0.5f * (low[1] + high[1]), 0.5f * (low[2] + high[2])},
      {half(0), half(1), half(2)}};
}

size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace layout

namespace {

void bin_groups(const BinGroups& op, CudaContext& context) {
  launch(context, {BinGroups::kName, blocks_for(op.capacity, layout::kThreads), layout::kThreads},
         layout::bin_kernel, op);
}

void sort_groups(const SortGroups& op, CudaContext& context) {
  const auto buckets = static_cast<size_t>(op.owned_count) + 1;
  const size_t array = layout::aligned(buckets * sizeof(int32_t));
  const size_t records = static_cast<size_t>(op.capacity) * sizeof(GroupRecord);
  auto* memory = static_cast<char*>(context.scratch->take(3 * array + records));
  const layout::Buckets b{reinterpret_cast<int32_t*>(memory),
                          reinterpret_cast<int32_t*>(memory + array),
                          reinterpret_cast<int32_t*>(memory + 2 * array),
                          reinterpret_cast<GroupRecord*>(memory + 3 * array)};
  cuda_check(cudaMemsetAsync(memory, 0, 2 * array, context.stream), "clear the buckets");
  const unsigned blocks = blocks_for(op.capacity, layout::kThreads);
  launch(context, {"sort_groups.count", blocks, layout::kThreads}, layout::count_kernel, op, b);
  launch(context, {"sort_groups.lay_out", 1, layout::kScanThreads}, layout::lay_out_kernel, op, b);
  launch(context, {"sort_groups.scatter", blocks, layout::kThreads}, layout::scatter_kernel, op, b);
  launch(context, {"sort_groups.rank", static_cast<unsigned>(buckets), layout::kRankThreads},
         layout::rank_kernel, op, b);
}

void place_groups(const PlaceGroups& op, CudaContext& context) {
  launch(context, {PlaceGroups::kName, static_cast<unsigned>(op.owned_count), layout::kThreads},
         layout::place_kernel, op);
}

void bound_clusters(const BoundClusters& op, CudaContext& context) {
  launch(context,
         {BoundClusters::kName, blocks_for(op.slot_capacity, layout::kThreads), layout::kThreads},
         layout::bound_kernel, op);
}

}  // namespace

void add_layout_kernels(CudaKernels& table) {
  table.add<BinGroups, bin_groups>();
  table.add<SortGroups, sort_groups>();
  table.add<PlaceGroups, place_groups>();
  table.add<BoundClusters, bound_clusters>();
}

}  // namespace quiltmd
