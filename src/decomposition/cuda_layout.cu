// SPDX-License-Identifier: Apache-2.0
// Laying out a rank's atoms on the GPU. Sorting is by buckets: groups are counted per patch, which
// also gives each its number in its patch, in any order; the patches are laid out, the groups
// scattered into them, and ranked there by counting how many go before each. A patch holds some 40
// groups, so counting is cheaper than any sort; it would be slow for patches with tens of thousands.
#include "decomposition/layout_math.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace layout {

constexpr int kThreads = 128;
constexpr unsigned kScanThreads = 1024;
constexpr int kRankThreads = 256;
constexpr int kShare = 4;  // threads that rank one record
constexpr int kPlaceThreads = 192;

__device__ __forceinline__ int used(const int32_t* count, int capacity) {
  return min(*count, capacity);
}

__global__ void __launch_bounds__(kThreads) bin_kernel(const __grid_constant__ BinGroups op) {
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n < used(op.count, op.capacity)) op.records[n] = make_record(op, op.placed[n]);
}

// Per owned patch, and one more for groups that leave the rank.
struct Buckets {
  unsigned long long* counts;  // groups in the upper half, atoms in the lower
  int32_t* begin;              // first record of the bucket
  int32_t* number;             // by unsorted record: its number in its bucket
  GroupRecord* records;
};

__device__ __forceinline__ int groups_in(unsigned long long count) {
  return static_cast<int>(count >> 32);
}
__device__ __forceinline__ int atoms_in(unsigned long long count) {
  return static_cast<int>(count & 0xffffffffu);
}
__device__ __forceinline__ int slots_in(unsigned long long count) {
  return (atoms_in(count) + kClusterSize - 1) / kClusterSize * kClusterSize;
}

__device__ __forceinline__ int bucket_of(const SortGroups& op, int patch) {
  const int index = op.owned_index[patch];
  return index < 0 ? op.owned_count : index;
}

// Groups come nearly in order, so the lanes of a warp share few buckets: one addition for each.
__global__ void __launch_bounds__(kThreads)
    count_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % kWarp;
  const bool present = n < used(op.count, op.capacity);
  const unsigned lanes = __ballot_sync(kAllLanes, present);
  if (!present) return;
  const int bucket = bucket_of(op, op.records[n].patch);
  const unsigned peers = __match_any_sync(lanes, bucket);
  const auto atoms = static_cast<unsigned>(atoms_of(op.constants, op.records[n].group));
  const unsigned all_atoms = __reduce_add_sync(peers, atoms);
  const int leader = __ffs(peers) - 1;
  unsigned long long before = 0;
  if (lane == leader) {
    const auto groups = static_cast<unsigned long long>(__popc(peers));
    before = atomicAdd(&buckets.counts[bucket], groups << 32 | all_atoms);
  }
  const int earlier = __shfl_sync(peers, groups_in(before), leader);
  buckets.number[n] = earlier + __popc(peers & ((1u << lane) - 1));
}

// Every block sums up for itself what lies before it: more reading, but no waiting for others.
__global__ void __launch_bounds__(kScanThreads)
    lay_out_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  wait_for_previous();
  const int threads = blockDim.x, first = blockIdx.x * threads, p = first + threadIdx.x;
  int groups = 0, slots = 0, groups_before, slots_before, groups_here, slots_here;
#pragma unroll 4
  for (int b = threadIdx.x; b < first; b += threads) {
    groups += groups_in(buckets.counts[b]);
    slots += slots_in(buckets.counts[b]);
  }
  block_sum(groups, &groups_before);
  block_sum(slots, &slots_before);
  const unsigned long long count = p <= op.owned_count ? buckets.counts[p] : 0;
  const bool owned = p < op.owned_count;
  const int own_slots = owned ? slots_in(count) : 0;
  const int first_group = groups_before + block_sum(groups_in(count), &groups_here);
  const int start = slots_before + block_sum(own_slots, &slots_here);
  if (p <= op.owned_count) buckets.begin[p] = first_group;
  if (owned) {
    // What does not fit is left out; the caller sees the need and repeats with more room.
    const bool fits = start + own_slots <= op.slot_capacity;
    op.patches[p] = {op.owned[p],
                     fits ? start : 0,
                     fits ? atoms_in(count) : 0,
                     first_group,
                     fits ? groups_in(count) : 0,
                     cell_of(op.owned[p], op.grid.cells)};
  }
  if (threadIdx.x != 0 || first + threads <= op.owned_count) return;
  const int need = slots_before + slots_here;
  if (need > op.slot_capacity) atomicMax(&op.faults->list_overflow, need);
  *op.slot_count = min(need, op.slot_capacity);
}

__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= used(op.count, op.capacity)) return;
  const GroupRecord record = op.records[n];
  buckets.records[buckets.begin[bucket_of(op, record.patch)] + buckets.number[n]] = record;
}

// One block per bucket: every record to its rank. Several threads share the counting for a record.
__global__ void __launch_bounds__(kRankThreads)
    rank_kernel(const __grid_constant__ SortGroups op, Buckets buckets) {
  __shared__ uint2 tile[kRankThreads];
  wait_for_previous();
  const int count = groups_in(buckets.counts[blockIdx.x]), begin = buckets.begin[blockIdx.x];
  const int part = threadIdx.x % kShare;
  for (int base = 0; base < count; base += kRankThreads / kShare) {
    const int mine = base + threadIdx.x / kShare;
    GroupRecord record{};
    if (mine < count) record = buckets.records[begin + mine];
    int rank = 0;
    for (int other = 0; other < count; other += kRankThreads) {
      const int loaded = min(kRankThreads, count - other);
      if (base == 0 || count > kRankThreads) {
        __syncthreads();
        if (threadIdx.x < loaded) {
          const GroupRecord& r = buckets.records[begin + other + threadIdx.x];
          tile[threadIdx.x] = {r.key, static_cast<unsigned>(r.group)};
        }
        __syncthreads();
      }
#pragma unroll 4
      for (int t = part; t < loaded; t += kShare) {
        rank += goes_before(tile[t].x, static_cast<int>(tile[t].y), record.key, record.group);
      }
    }
    for (int bit = 1; bit < kShare; bit *= 2) rank += __shfl_xor_sync(kAllLanes, rank, bit);
    if (mine < count && part == 0) op.records[begin + rank] = record;
  }
}

// The last of `count` ascending values that is not above `value`.
__device__ __forceinline__ int last_not_above(const int* values, int count, int value) {
  int low = 0, high = count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (values[middle] <= value)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// One block per patch, or several that share its slots. Threads are first groups, to find their
// slots, then slots, so that what the slots hold is written in order.
__global__ void __launch_bounds__(kPlaceThreads)
    place_kernel(const __grid_constant__ PlaceGroups op) {
  __shared__ GroupRecord records[kPlaceThreads];
  __shared__ int first_slot[kPlaceThreads];
  wait_for_previous();
  const PlacedPatch patch = op.patches[blockIdx.x];
  const int own = blockIdx.y * kPlaceThreads + threadIdx.x, stride = gridDim.y * kPlaceThreads;
  int start = patch.start;
  for (int base = 0; base < patch.groups; base += kPlaceThreads) {
    const int groups = min(kPlaceThreads, patch.groups - base), n = threadIdx.x;
    const int index = patch.group_start + base + n;
    if (n < groups) records[n] = op.records[index];
    const int atoms = n < groups ? atoms_of(op.constants, records[n].group) : 0;
    int placed;
    const int slot = start + block_sum(atoms, &placed);
    if (n < groups) {
      first_slot[n] = slot;
      if (blockIdx.y == 0) {
        op.placed[index] = {slot, records[n].group};
        op.origin[index] = records[n].origin;
      }
    }
    __syncthreads();
    for (int s = start + own; s < start + placed; s += stride) {
      const int g = last_not_above(first_slot, groups, s);
      place_atom(op, records[g], s - first_slot[g], s);
    }
    start += placed;
    __syncthreads();
  }
  const int end = (start + kClusterSize - 1) / kClusterSize * kClusterSize;
  for (int slot = start + own; slot < end; slot += stride) {
    place_padding(op, patch.patch, slot);
  }
  const int last = end / kClusterSize;
  for (int c = patch.start / kClusterSize + own; c < last; c += stride) {
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
  wait_for_previous();
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

LaunchShape shape(const char* name, unsigned blocks, unsigned threads) {
  return {name, blocks, threads, 0, Start::kEarly};
}

void bin_groups(const BinGroups& op, CudaContext& context) {
  launch(context,
         shape(BinGroups::kName, blocks_for(op.capacity, layout::kThreads), layout::kThreads),
         layout::bin_kernel, op);
}

void sort_groups(const SortGroups& op, CudaContext& context) {
  const auto buckets = static_cast<size_t>(op.owned_count) + 1;
  const auto capacity = static_cast<size_t>(op.capacity);
  const size_t counts = layout::aligned(buckets * sizeof(unsigned long long));
  const size_t begins = layout::aligned(buckets * sizeof(int32_t));
  const size_t numbers = layout::aligned(capacity * sizeof(int32_t));
  auto* memory = static_cast<char*>(
      context.scratch->take(counts + begins + numbers + capacity * sizeof(GroupRecord)));
  const layout::Buckets b{reinterpret_cast<unsigned long long*>(memory),
                          reinterpret_cast<int32_t*>(memory + counts),
                          reinterpret_cast<int32_t*>(memory + counts + begins),
                          reinterpret_cast<GroupRecord*>(memory + counts + begins + numbers)};
  cuda_check(cudaMemsetAsync(memory, 0, counts, context.stream), "clear the buckets");
  const unsigned blocks = blocks_for(op.capacity, layout::kThreads);
  const auto n = static_cast<unsigned>(buckets);
  launch(context, shape("sort_groups.count", blocks, layout::kThreads), layout::count_kernel, op,
         b);
  const unsigned scan = min(layout::kScanThreads, blocks_for(n, kWarp) * kWarp);
  launch(context, shape("sort_groups.lay_out", blocks_for(n, scan), scan), layout::lay_out_kernel,
         op, b);
  launch(context, shape("sort_groups.scatter", blocks, layout::kThreads), layout::scatter_kernel,
         op, b);
  launch(context, shape("sort_groups.rank", n, layout::kRankThreads), layout::rank_kernel, op, b);
}

void place_groups(const PlaceGroups& op, CudaContext& context) {
  const int parts = min(4, max(1, 4 * context.sm_count / max(1, op.owned_count)));
  LaunchShape place =
      shape(PlaceGroups::kName, static_cast<unsigned>(op.owned_count), layout::kPlaceThreads);
  place.blocks_y = static_cast<unsigned>(parts);
  launch(context, place, layout::place_kernel, op);
}

void bound_clusters(const BoundClusters& op, CudaContext& context) {
  launch(
      context,
      shape(BoundClusters::kName, blocks_for(op.slot_capacity, layout::kThreads), layout::kThreads),
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
