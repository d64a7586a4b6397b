// SPDX-License-Identifier: Apache-2.0
// Laying out a rank's atoms on the GPU, in two kernels. The first puts the number of every group's
// record into its patch's bucket, in any order. In the second a patch is one block's or a few blocks'
// work: they sum up for themselves what lies before it, rank its groups by counting how many go
// before each, and move them. All that is more reading than a scan and a sort by several kernels,
// but at 24,000 atoms it is these that cost time. Counting would be slow for patches with tens of
// thousands of groups. Of many patches, a kernel between the two sums up chunks of them.
//
// A bucket has room for twice the mean; where matter is much denser than that, as in a droplet, the
// blocks of a patch look through all records instead.
#include "decomposition/layout_math.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace layout {

constexpr int kThreads = 128;
constexpr int kPlaceThreads = 256;  // more than the groups of most patches
constexpr int kRoom = 512;          // groups of a patch in shared memory
// Patches that each block of the second kernel sums up by itself; of more, their chunks.
constexpr int kFew = 2048, kChunk = 512;

__device__ __forceinline__ int used(const int32_t* count, int capacity) {
  return min(*count, capacity);
}

// Buckets of records on their way; groups of patches that are not owned are dropped.
struct Buckets {
  int room;
  int* members;  // (owned, room)
  int* more;     // (groups): members of patches with more than that
  int* order;    // (groups): sorted, and
  int* slots;    // (groups): their first slots, of patches with more than kRoom groups
};

// A tally has groups in the upper half, atoms in the lower.
__device__ __forceinline__ int groups_in(long long tally) { return static_cast<int>(tally >> 32); }
__device__ __forceinline__ int atoms_in(long long tally) { return static_cast<int>(tally); }
__device__ __forceinline__ int slots_in(long long tally) { return padded_slots(atoms_in(tally)); }

// Groups come nearly in order, so the lanes of a warp share few buckets: one addition for each.
__global__ void __launch_bounds__(kThreads)
    tally_kernel(const __grid_constant__ PlaceGroups op, Buckets buckets, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const BinGroups& bin = op.bin;
  const int n = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % kWarp;
  const bool refused = must_be_redone(*op.faults, *op.step);
  const bool present = n < used(bin.count, bin.capacity) && !refused;
  if (n == 0 && refused) op.faults->refused = 1;
  const unsigned lanes = __ballot_sync(kAllLanes, present);
  if (!present) return;
  const GroupRecord record = make_record(bin, bin.placed[n]);
  bin.records[n] = record;
  const int bucket = op.owned_index[record.patch];
  const unsigned peers = __match_any_sync(lanes, bucket);
  const auto atoms = static_cast<unsigned>(atoms_of(op.table, record.group));
  const unsigned all_atoms = __reduce_add_sync(peers, atoms);
  const int leader = __ffs(peers) - 1;
  unsigned long long before = 0;
  if (lane == leader && bucket >= 0) {
    const auto groups = static_cast<unsigned long long>(__popc(peers));
    before = atomicAdd(reinterpret_cast<unsigned long long*>(op.tally) + bucket,
                       groups << 32 | all_atoms);
  }
  const int earlier = __shfl_sync(peers, groups_in(static_cast<long long>(before)), leader);
  const int at = earlier + __popc(peers & ((1u << lane) - 1));
  if (bucket >= 0 && at < buckets.room) buckets.members[bucket * buckets.room + at] = n;
}

// This thread's part of the sum over some patches: groups in the upper half, slots in the lower.
__device__ __forceinline__ long long sum_tallies(const int64_t* tally, int begin, int end) {
  long long sum = 0;
#pragma unroll 4
  for (int b = begin + threadIdx.x; b < end; b += static_cast<int>(blockDim.x)) {
    const long long t = tally[b];
    sum += static_cast<long long>(groups_in(t)) << 32 | slots_in(t);
  }
  return sum;
}

// The same over all patches before `end`. `chunks`: the sums of chunks, if there are many patches.
__device__ __forceinline__ long long sum_before(const int64_t* tally, const int64_t* chunks,
                                                int end) {
  if (!chunks) return sum_tallies(tally, 0, end);
  const int whole = end / kChunk;
  long long sum = sum_tallies(tally, whole * kChunk, end);
  for (int c = threadIdx.x; c < whole; c += static_cast<int>(blockDim.x)) sum += chunks[c];
  return sum;
}

// One block for each chunk.
__global__ void __launch_bounds__(kThreads)
    chunk_kernel(const __grid_constant__ PlaceGroups op, int64_t* chunks, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int begin = static_cast<int>(blockIdx.x) * kChunk;
  long long sum;
  block_sum(sum_tallies(op.tally, begin, min(begin + kChunk, op.owned_count)), &sum);
  if (threadIdx.x == 0) chunks[blockIdx.x] = sum;
}

// Layout of the block's patch. Atoms without room are left out, so that nothing is written beyond the
// end.
__device__ PlacedPatch lay_out(const PlaceGroups& op, const int64_t* chunks) {
  const int p = blockIdx.x;
  const long long own = op.tally[p];
  long long before;
  block_sum(sum_before(op.tally, chunks, p), &before);
  const int start = static_cast<int>(before), end = start + slots_in(own);
  const bool fits = end <= op.slot_capacity;
  const PlacedPatch patch{
      op.owned[p],       fits ? start : 0,          fits ? atoms_in(own) : 0,
      groups_in(before), fits ? groups_in(own) : 0, cell_of(op.owned[p], op.bin.grid.cells)};
  if (threadIdx.x != 0 || blockIdx.y != 0) return patch;
  op.patches[p] = patch;
  if (p != op.owned_count - 1) return patch;
  const int groups = groups_in(before) + groups_in(own);
  *op.slot_count = min(end, op.slot_capacity);
  if (op.group_count) *op.group_count = groups;
  if (outgrows_share(op, groups, end)) op.faults->share_overflow = 1;
  return patch;
}

// The records of a patch that has more than its bucket holds.
__device__ __noinline__ void collect(const PlaceGroups& op, int patch, int* members) {
  const BinGroups& bin = op.bin;
  const int count = used(bin.count, bin.capacity);
  int found = 0;
  for (int base = 0; base < count; base += kPlaceThreads) {
    const int n = base + threadIdx.x;
    const bool member = n < count && bin.records[n].patch == patch;
    int here;
    const int at = found + block_sum(static_cast<int>(member), &here);
    if (member) members[at] = n;
    found += here;
  }
  __syncthreads();
}

// The groups of a patch in order: the numbers of their records, and their first slots.
struct Row {
  int *record, *slot;
};

__device__ void rank_groups(const PlaceGroups& op, const int* members, int count, int* order) {
  __shared__ unsigned long long tile[kPlaceThreads];
  for (int base = 0; base < count; base += kPlaceThreads) {
    const int mine = base + threadIdx.x;
    int rank = 0, record = 0;
    unsigned long long key = 0;
    for (int other = 0; other < count; other += kPlaceThreads) {
      const int n = other + threadIdx.x;
      __syncthreads();
      if (n < count) {
        const GroupRecord& r = op.bin.records[members[n]];
        tile[threadIdx.x] = order_key(r.key, r.group);
      }
      if (other == 0 && mine < count) {
        record = members[mine];
        const GroupRecord& r = op.bin.records[record];
        key = order_key(r.key, r.group);
      }
      __syncthreads();
      const int loaded = min(kPlaceThreads, count - other);
#pragma unroll 8
      for (int t = 0; t < loaded; ++t) rank += tile[t] < key;
    }
    if (mine < count) order[rank] = record;
  }
  __syncthreads();
}

// First slots of the groups, and what else is known of them.
__device__ void place_groups(const PlaceGroups& op, const PlacedPatch& patch, Row row) {
  int start = patch.start;
  for (int base = 0; base < patch.groups; base += kPlaceThreads) {
    const int g = base + threadIdx.x, index = patch.group_start + g;
    const bool present = g < patch.groups;
    const GroupRecord* const record = op.bin.records + row.record[present ? g : base];
    const int group = record->group;
    int placed;
    const int slot = start + block_sum(present ? atoms_of(op.table, group) : 0, &placed);
    if (present) row.slot[g] = slot;
    if (present && blockIdx.y == 0) {
      op.placed[index] = {slot, group};
      op.origin[index] = record->origin;
    }
    start += placed;
  }
  __syncthreads();
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

// Least and greatest over the eight lanes of a cluster.
__device__ __forceinline__ float least(float v) {
  for (int bit = kClusterSize / 2; bit > 0; bit /= 2)
    v = fminf(v, __shfl_xor_sync(kAllLanes, v, bit));
  return v;
}

// The box around the sites of eight lanes, rounded outwards; of all lanes of a warp at once.
__device__ __forceinline__ ClusterBounds bounds_of(Float4 site, bool atom) {
  float low[3], high[3];
  const float at[3] = {site.x, site.y, site.z};
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    low[d] = least(atom ? at[d] : kFarAway);
    high[d] = -least(atom ? -at[d] : kFarAway);
  }
  const auto half = [&](int d) { return __fmul_ru(__fsub_ru(high[d], low[d]), 0.500001f); };
  return {{0.5f * (low[0] + high[0]), 0.5f * (low[1] + high[1]), 0.5f * (low[2] + high[2])},
          {half(0), half(1), half(2)}};
}

// The slots from `first` on in steps of `stride`, for each of which all threads of the block come.
__device__ void fill_slots(const PlaceGroups& op, const PlacedPatch& patch, Row row, int first,
                           int stride) {
  const int atoms_end = patch.start + patch.atoms;
  const int end = padded_slots(atoms_end);
  for (int base = first; base < end; base += stride) {
    const int slot = base + threadIdx.x;
    const bool atom = slot < atoms_end;
    Float4 site{};
    if (atom) {
      const int g = last_not_above(row.slot, patch.groups, slot);
      site = place_atom(op, op.bin.records[row.record[g]], slot - row.slot[g], slot);
    } else if (slot < end) {
      place_padding(op, patch.patch, slot);
    }
    const ClusterBounds bounds = bounds_of(site, atom);
    if (slot >= end || slot % kClusterSize != 0) continue;
    op.bounds[slot / kClusterSize] = bounds;
    op.slots.patch[slot / kClusterSize] = blockIdx.x;
  }
}

// One block per patch, or several that share its slots.
__global__ void __launch_bounds__(kPlaceThreads)
    place_kernel(const __grid_constant__ PlaceGroups op, Buckets buckets, const int64_t* chunks,
                 LaunchTimes* times) {
  const Timed timed(times);
  __shared__ int records[kRoom], slots[kRoom];
  wait_for_previous();
  if (op.faults->refused) return;
  const int patches = op.bin.grid.cells.x * op.bin.grid.cells.y * op.bin.grid.cells.z;
  const int number = (blockIdx.y * gridDim.x + blockIdx.x) * kPlaceThreads + threadIdx.x;
  for (int p = number; p < patches; p += gridDim.x * gridDim.y * kPlaceThreads)
    op.next_tally[p] = 0;
  if (number == 0) {
    op.faults->violation_step = 0;
    copy_numbers(op.numbers, op.start.numbers);
  }
  const PlacedPatch patch = lay_out(op, chunks);
  if (static_cast<int>(blockIdx.y) * kPlaceThreads >= patch.atoms) return;
  const int* members = buckets.members + static_cast<int64_t>(blockIdx.x) * buckets.room;
  if (patch.groups > buckets.room) {
    collect(op, patch.patch, buckets.more + patch.group_start);
    members = buckets.more + patch.group_start;
  }
  const bool small = patch.groups <= kRoom;
  const Row row{small ? records : buckets.order + patch.group_start,
                small ? slots : buckets.slots + patch.group_start};
  rank_groups(op, members, patch.groups, row.record);
  place_groups(op, patch, row);
  fill_slots(op, patch, row, patch.start + blockIdx.y * kPlaceThreads, gridDim.y * kPlaceThreads);
}

__global__ void __launch_bounds__(kThreads)
    bound_kernel(const __grid_constant__ BoundClusters op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  const bool present = slot < used(op.slot_count, op.slot_capacity);
  const ClusterBounds bounds =
      bounds_of(present ? op.slots.local[slot] : Float4{}, present && op.slots.atom[slot] >= 0);
  if (present && slot % kClusterSize == 0) op.bounds[slot / kClusterSize] = bounds;
}

__global__ void shift_patches_kernel(const __grid_constant__ ShiftPatches op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (static_cast<int>(threadIdx.x) < op.codes) shift_patch(op, threadIdx.x);
}

__global__ void check_patches_kernel(const __grid_constant__ CheckPatches op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  check_patches(op);
}

// One block.
__global__ void check_spread_kernel(const __grid_constant__ CheckSpread op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int layers = op.cells.x + op.cells.y + op.cells.z;
  for (int k = threadIdx.x; k < layers; k += blockDim.x) op.layers[k] = op.places[k];
  __syncthreads();
  for (int p = threadIdx.x; p < op.count; p += blockDim.x) {
    const PlacedPatch patch = op.patches[p];
    if (patch.atoms == 0) continue;
    op.layers[patch.cell.x] = 1;
    op.layers[op.cells.x + patch.cell.y] = 1;
    op.layers[op.cells.x + op.cells.y + patch.cell.z] = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) note_spread(op);
}

__global__ void __launch_bounds__(kThreads)
    check_extents_kernel(const __grid_constant__ CheckExtents op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  const int index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= used(op.count, op.capacity)) return;
  const double room = op.rule.room(op.conditions->box, op.cells);
  if (extends_beyond(op, index, room)) atomicOr(&op.faults->box, kPatchGridChange);
}

}  // namespace layout

namespace {

LaunchShape shape(const char* name, unsigned blocks) {
  return {name, blocks, layout::kThreads, 0, Start::kEarly};
}

void place_groups(const PlaceGroups& op, CudaContext& context) {
  if (op.owned_count == 0) {
    for (int32_t* count : {op.slot_count, op.group_count})
      if (count)
        cuda_check(cudaMemsetAsync(count, 0, sizeof(int32_t), context.stream), "clear a count");
    return;
  }
  const auto owned = static_cast<size_t>(op.owned_count);
  const auto groups = static_cast<size_t>(op.bin.capacity);
  const size_t room = std::min(groups, 2 * (groups / owned) + kWarp);
  const bool has_chunks = op.owned_count > layout::kFew;
  const size_t chunk_count = has_chunks ? blocks_for(op.owned_count, layout::kChunk) : 0;
  auto* const sums = static_cast<int64_t*>(context.scratch->take(
      chunk_count * sizeof(int64_t) + (owned * room + 3 * groups) * sizeof(int)));
  int64_t* const chunks = has_chunks ? sums : nullptr;
  auto* const memory = reinterpret_cast<int*>(sums + chunk_count);
  int* const more = memory + owned * room;
  const layout::Buckets buckets{static_cast<int>(room), memory, more, more + groups,
                                more + 2 * groups};
  launch(context, shape("place_groups.tally", blocks_for(op.bin.capacity, layout::kThreads)),
         layout::tally_kernel, op, buckets);
  if (has_chunks)
    launch(context, shape("place_groups.chunks", static_cast<unsigned>(chunk_count)),
           layout::chunk_kernel, op, chunks);
  const int parts = min(4, max(1, 4 * context.sm_count / op.owned_count));
  launch(context,
         {PlaceGroups::kName, static_cast<unsigned>(owned), layout::kPlaceThreads, 0, Start::kEarly,
          static_cast<unsigned>(parts)},
         layout::place_kernel, op, buckets, chunks);
}

void bound_clusters(const BoundClusters& op, CudaContext& context) {
  launch(context, shape(BoundClusters::kName, blocks_for(op.slot_capacity, layout::kThreads)),
         layout::bound_kernel, op);
}

void shift_patches(const ShiftPatches& op, CudaContext& context) {
  launch(context, {ShiftPatches::kName, 1, kMaxCodes, 0, Start::kEarly},
         layout::shift_patches_kernel, op);
}

void check_patches_of_box(const CheckPatches& op, CudaContext& context) {
  launch(context, {CheckPatches::kName, 1, 1, 0, Start::kEarly}, layout::check_patches_kernel, op);
}

void check_extents(const CheckExtents& op, CudaContext& context) {
  launch(context, shape(CheckExtents::kName, blocks_for(op.capacity, layout::kThreads)),
         layout::check_extents_kernel, op);
}

void check_spread(const CheckSpread& op, CudaContext& context) {
  launch(context, shape(CheckSpread::kName, 1), layout::check_spread_kernel, op);
}

}  // namespace

void add_layout_kernels(CudaKernels& table) {
  table.add<PlaceGroups, place_groups>();
  table.add<BoundClusters, bound_clusters>();
  table.add<ShiftPatches, shift_patches>();
  table.add<CheckPatches, check_patches_of_box>();
  table.add<CheckSpread, check_spread>();
  table.add<CheckExtents, check_extents>();
}

}  // namespace quiltmd
