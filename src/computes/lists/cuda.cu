// SPDX-License-Identifier: Apache-2.0
// Pair lists on the GPU: one block for eight i-clusters that follow each other on the Hilbert curve,
// one warp for each. The block first finds all j-clusters near any of the eight; then it
// brings their atoms into shared memory, a table at a time, as seen from the middle of its box. Each
// warp picks those near its own cluster, and measures their atoms four clusters at a time
// (cuda_near_atoms.cuh). Hardly any work is done per warp that the block can share; the price is that the
// warps wait for each other, and so the block waits for memory as few times as can be.
//
// A list grows in shared memory, 16 bits an entry: the first shell from the start, what is beyond it
// from the end. When it is whole, a counter in global memory gives it its place, and it is sorted by
// shells on its way there. So lists are packed without a second search or a scan; where they lie
// differs between runs, what they hold does not. If one outgrows shared memory, its block searches
// once more, and that list goes straight to its place, unsorted: all of it is in the first shell.
// Where PairMemory asks for it, the lists are then put in order of length (cuda_order.cuh).
//
// Lists hold what is in reach and, for the rounding of the measure, a little beyond.
#include <bit>
#include <cstddef>
#include <vector>

#include "computes/lists/cuda_near_clusters.cuh"
#include "computes/lists/cuda_order.cuh"
#include "computes/lists/operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace lists {

// Pick the clusters near the warp's from a table of `count`; returns how many.
__device__ __forceinline__ int pick_clusters(const Search& s, int before, int count) {
  const unsigned warp = threadIdx.x / kWarp;
  int picked = 0;
#pragma unroll 1
  for (int base = 0; base < count; base += kWarp) {
    const unsigned n = base + s.lane, number = (before + n) % kNearClusters;
    const bool near = n < count && (s.table.near_warps[number] >> warp & 1u);
    const unsigned lanes = __ballot_sync(kAllLanes, near);
    if (near) {
      const int cluster = (s.table.near_clusters[number] & kSlotMask) / kClusterSize;
      s.scratch.picked[picked + __popc(lanes & s.earlier)] =
          static_cast<uint16_t>(n * kPlace | possible_exclusions(s, cluster));
    }
    picked += __popc(lanes);
  }
  if (s.lane < 2 * kAtOnce) s.scratch.picked[picked + s.lane] = kTable * kPlace;
  return picked;
}

// The place of this lane's entry among those listed, `count` of them already.
__device__ __forceinline__ int next_place(const Search& s, bool listed, int& count) {
  const unsigned lanes = __ballot_sync(kAllLanes, listed);
  const int place = count + __popc(lanes & s.earlier);
  count += __popc(lanes);
  return place;
}

// Append those entries that have a mask; returns whether this lane's has none.
__device__ __forceinline__ bool append_masked(const Search& s, unsigned marks, uint32_t entry,
                                              bool near, Draft& list) {
  const uint32_t own = s.cluster * kClusterSize, place = entry % kClusterSize;
  const bool itself = entry - place == own;
  const unsigned excluded = near ? exclusions_of(s, marks, entry & kSlotMask) : 0;
  const bool masked = near && (itself || excluded != 0);
  const bool listed = masked && entry != own;  // the first atom has none before it
  const int n = next_place(s, listed, list.masked_count);
  if (listed && n < list.masked_room) {
    list.masked[n] = entry;
    list.masks[n] = static_cast<uint8_t>((itself ? (1u << place) - 1 : 0xffu) & ~excluded);
  }
  return near && !masked;
}

constexpr unsigned kShellsOfKind = 4;  // bits of a bin

// The shell of an atom at this squared distance; beyond all, the last.
template <bool kTwoCutoffs>
__device__ __forceinline__ unsigned shell_of(const Search& s, unsigned kind, float distance2) {
  const int bin = (__float_as_int(distance2) >> s.bins.shift) - s.bins.first;
  const unsigned shells = s.table.shell[min(max(bin, 0), kBins)];
  return kTwoCutoffs ? shells >> kShellsOfKind * kind & (kShells - 1u) : shells;
}

// The kind of the atom whose row lies here in shared memory.
__device__ __forceinline__ unsigned kind_in(unsigned row) {
  unsigned kind;
  asm volatile("ld.shared.u32 %0, [%1];"
               : "=r"(kind)
               : "r"(row + static_cast<unsigned>(offsetof(uint4, w)))
               : "memory");
  return kind & 1u;
}

// Measure the atoms of the picked clusters: four clusters at a time, twice, so that one is under way
// while the other waits.
template <bool kPlaced, bool kTwoCutoffs>
__device__ __forceinline__ void test_atoms(const Search& s, const NearTest& test, float reach2,
                                           int before, int picked, Draft& list) {
  const int cluster = s.lane / kClusterSize, place = s.lane % kClusterSize;
  const unsigned so_far = kept(2 * s.earlier + 1);
  const auto short_entry =
      kept(static_cast<unsigned>(before << (kAtomBits + kShellBits) | place << kShellBits));
  static_assert(sizeof(uint4) * kClusterSize == 2 * kPlace);
  constexpr unsigned kPlaces = kMayExclude - kPlace;
  const unsigned own_row = kept(shared_address(s.table.rows + place));
  const auto measure = [&](unsigned mark) { return nearest2(test, own_row + 2 * mark); };
  const auto entry_of = [&](unsigned mark) {
    return near_cluster(s, before + mark / kPlace) + place;
  };
  const auto keep_placed = [&](unsigned mark, bool near) {
    int count = list.near_last + 1;
    const int at = next_place(s, near, count);
    list.near_last = count - 1;
    if (near && at < list.plain_room) list.plain[at] = entry_of(mark);
  };
  const auto kind_of = [&](unsigned mark) {
    return kTwoCutoffs ? kind_in(own_row + 2 * mark) : unsigned{kPlainKind};
  };
  const auto is_listed = [&](unsigned kind, float distance2) {
    if constexpr (!kTwoCutoffs) return distance2 < reach2;
    return distance2 < (kind == kFormKind ? reach2 : s.bins.listed[kPlainKind]);
  };
  const auto keep = [&](unsigned mark, bool listed, unsigned kind, float distance2) {
    if constexpr (kPlaced) return keep_placed(mark, listed);
    const bool near = distance2 < (kind == kFormKind ? s.bins.near[kFormKind] : s.bins.near[0]);
    const unsigned all = __ballot_sync(kAllLanes, listed);
    const unsigned nears = __ballot_sync(kAllLanes, near) & all, fars = all & ~nears;
    const int rank = __popc((near ? nears : fars) & so_far);
    const int at = near ? list.near_last + rank : list.far_first - rank;
    list.near_last += __popc(nears);
    list.far_first -= __popc(fars);
    const auto value =
        static_cast<ShortEntry>(short_entry + mark + shell_of<kTwoCutoffs>(s, kind, distance2));
    if (listed && list.near_last < list.far_first) list.short_entries[at] = value;
  };
#pragma unroll 1
  for (int first = 0; first < picked; first += 2 * kAtOnce) {
    const unsigned pick_a = s.scratch.picked[first + cluster], a = pick_a & kPlaces;
    const unsigned pick_b = s.scratch.picked[first + cluster + kAtOnce], b = pick_b & kPlaces;
    const float distance2_a = measure(a), distance2_b = measure(b);
    const unsigned kind_a = kind_of(a), kind_b = kind_of(b);
    bool near_a = is_listed(kind_a, distance2_a), near_b = is_listed(kind_b, distance2_b);
    if (__any_sync(kAllLanes, near_a && pick_a >= kMayExclude))
      near_a = append_masked(s, pick_a, entry_of(a), near_a, list);
    if (__any_sync(kAllLanes, near_b && pick_b >= kMayExclude))
      near_b = append_masked(s, pick_b, entry_of(b), near_b, list);
    keep(a, near_a, kind_a, distance2_a);
    keep(b, near_b, kind_b, distance2_b);
  }
}

// All threads of the block fill their warps' lists, from the block's first cluster on.
template <bool kPlaced, bool kTwoCutoffs>
__device__ __forceinline__ void fill_lists(const Search& s, int first, bool wanted, Draft& list) {
  const int end = s.shell[s.op.grid.codes].begin;
  const auto first_entry = static_cast<uint32_t>(s.shell[0].cluster + first) * kClusterSize;
  const float3 origin = s.origin();
  const BoundingBox box = s.table.boxes[threadIdx.x / kWarp];
  const float3 corner{fabsf(box.centre.x) + box.half.x, fabsf(box.centre.y) + box.half.y,
                      fabsf(box.centre.z) + box.half.z};
  const float radius2 = fmaf(corner.x, corner.x, fmaf(corner.y, corner.y, corner.z * corner.z));
  const float reach2 = squared_reach(s.op.reach[kShells - 1]);
  const NearTest test = make_near_test(s.op.slots.local + s.cluster * kClusterSize, origin,
                                       matrix_error(radius2, reach2), s.lane);
  list.near_clusters = 0;
#pragma unroll 1
  for (int base = first; base < end; base += kNearClusters) {
    if (list.near_clusters > 0) __syncthreads();  // the last table has been used
    const int gathered = find_near_clusters(s, base, first_entry, list.near_clusters, reach2);
#pragma unroll 1
    for (int done = 0; done < gathered; done += kTable) {
      if (done > 0) __syncthreads();
      const int before = list.near_clusters + done, count = min(kTable, gathered - done);
      enter_atoms<kTwoCutoffs>(s, before, count);
      const int picked = wanted ? pick_clusters(s, before, count) : 0;
      __syncthreads();
      test_atoms<kPlaced, kTwoCutoffs>(s, test, reach2, before, picked, list);
    }
    list.near_clusters += gathered;
  }
}

// Rare, and so kept apart.
template <bool kTwoCutoffs>
__device__ __noinline__ void fill_again(const Search& s, int first, bool wanted, Draft list) {
  fill_lists<true, kTwoCutoffs>(s, first, wanted, list);
}

// Place of a list with `count` entries, or -1 without room.
__device__ int reserve_entries(const BuildLists& op, int count, int lane) {
  const int lines = (count + kListAlign - 1) / kListAlign * kListAlign;
  int begin = 0;
  if (lane == 0) begin = atomicAdd(op.entry_count, lines);
  begin = __shfl_sync(kAllLanes, begin, 0);
  if (begin >= 0 && begin <= op.entry_capacity - lines) return begin;
  // A sum that has become negative needs more than can be numbered.
  if (lane == 0)
    atomicMax(&op.faults->room_needed[kListEntries], begin < 0 ? 0x7fffffff : begin + lines);
  return -1;
}

__device__ __forceinline__ uint32_t full_entry(const Search& s, unsigned short_entry) {
  return s.table.near_clusters[short_entry >> (kAtomBits + kShellBits)] +
         (short_entry >> kShellBits) % kClusterSize;
}

// Count the entries beyond the first shell, 8 bits for each shell in a lane; returns those before
// shell lane % 8, and in `within` those up to it.
__device__ __forceinline__ int count_shells(const Draft& list, int lane, int* within) {
  unsigned long long counts = 0;
#pragma unroll 1
  for (int n = lane; n < list.far_count(); n += kWarp)
    counts += 1ull << (list.far(n) % kShells * 8);
  constexpr unsigned kEven = 0x00ff00ffu;  // 16 bits for the sum of all lanes
  const auto low = static_cast<unsigned>(counts), high = static_cast<unsigned>(counts >> 32);
  const unsigned even_low = __reduce_add_sync(kAllLanes, low & kEven);
  const unsigned odd_low = __reduce_add_sync(kAllLanes, low >> 8 & kEven);
  const unsigned even_high = __reduce_add_sync(kAllLanes, high & kEven);
  const unsigned odd_high = __reduce_add_sync(kAllLanes, high >> 8 & kEven);
  const unsigned even = lane & 4 ? even_high : even_low, odd = lane & 4 ? odd_high : odd_low;
  const int own = static_cast<int>((lane & 1 ? odd : even) >> (lane & 2) * 8 & 0xffffu);
  int sum = own;
  for (int step = 1; step < kShells; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, step, kShells);
    if (lane % kShells >= step) sum += other;
  }
  *within = sum;
  return sum - own;
}

// The lanes whose entries are of the same shell.
__device__ __forceinline__ unsigned lanes_like(unsigned present, unsigned shell) {
  unsigned lanes = present;
#pragma unroll
  for (unsigned bit = 1; bit < kShells; bit *= 2) {
    const bool has = shell & bit;
    const unsigned with = __ballot_sync(kAllLanes, has);
    lanes &= has ? with : ~with;
  }
  return lanes;
}

// Write the entries beyond the first shell from place `first` on, shell by shell, each in their order.
__device__ void scatter_far(const Search& s, const Draft& list, int first) {
#pragma unroll 1
  for (int n = s.lane; n - s.lane < list.far_count(); n += kWarp) {
    const bool present = n < list.far_count();
    const unsigned short_entry = list.far(min(n, list.far_count() - 1)),
                   shell = short_entry % kShells;
    const unsigned lanes = lanes_like(__ballot_sync(kAllLanes, present), shell);
    int* const next = s.scratch.next + shell;
    const int at = *next + __popc(lanes & s.earlier);
    __syncwarp();
    if (present) {
      if ((lanes & s.earlier) == 0) *next = at + __popc(lanes);
      s.op.entries[first + at] = full_entry(s, short_entry);
    }
    __syncwarp();
  }
}

__device__ void sort_list(const Search& s, const Draft& list, int begin, PairList& header) {
#pragma unroll 1
  for (int n = s.lane; n < list.masked_count; n += kWarp) {
    s.op.entries[begin + n] = list.masked[n];
    s.op.masks[begin + n] = list.masks[n];
  }
  begin += list.masked_count;
#pragma unroll 4
  for (int n = s.lane; n < list.near_count(); n += kWarp)
    s.op.entries[begin + n] = full_entry(s, list.short_entries[n]);
  int within;
  const int before = count_shells(list, s.lane, &within);
  if (s.lane < kShells) {
    s.scratch.next[s.lane] = before;
    header.within[s.lane] = list.masked_count + list.near_count() + within;
  }
  __syncwarp();
  scatter_far(s, list, begin + list.near_count());
}

// Give the list its place, and write it there if it is whole. Returns whether it must be searched
// again, to be written there; `list` is then that place.
__device__ bool place_list(const Search& s, int number, Draft& list) {
  __syncwarp();  // all lanes' entries are there
  const int masked = list.masked_count, count = masked + list.plain_count();
  const int begin = reserve_entries(s.op, count, s.lane);
  const bool placed = begin >= 0, whole = list.fits();
  PairList& header = s.op.lists[number];
  if (s.lane == 0) {
    header.cluster = static_cast<int>(s.cluster);
    header.begin = max(begin, 0);
    header.masked = placed ? masked : 0;
  }
  if (placed && whole) {
    sort_list(s, list, begin, header);
    return false;
  }
  if (s.lane < kShells) header.within[s.lane] = placed ? count : 0;
  uint32_t* const entries = s.op.entries + begin;
  const int plain = count - masked;
  list = {nullptr, entries + masked, entries, s.op.masks + begin, plain, masked, plain};
  return placed;
}

template <bool kTwoCutoffs>
__global__ void __launch_bounds__(kThreads, kBlocks)
    build_kernel(const __grid_constant__ BuildLists op, int room, const __grid_constant__ Bins bins,
                 LaunchTimes* times) {
  const Timed timed(times);
  extern __shared__ uint4 memory[];
  Table& table = *reinterpret_cast<Table*>(memory);
  WarpScratch* const scratches = reinterpret_cast<WarpScratch*>(&table + 1);
  ShortEntry* const short_entries = reinterpret_cast<ShortEntry*>(scratches + kWarps);
  Neighbour* const shell = reinterpret_cast<Neighbour*>(short_entries + kWarps * room);
  if (threadIdx.x < kBins) table.shell[threadIdx.x] = bins.shell[threadIdx.x];
  if (threadIdx.x == 0) table.shell[kBins] = bins.shell[kBins];
  wait_for_previous();
  if (op.faults->refused) return;
  const int compute = blockIdx.x, warp = threadIdx.x / kWarp;
  const int lane = kept(static_cast<int>(threadIdx.x % kWarp));
  const PlacedPatch own = op.patches[op.computes[compute]];
  const int first_list = op.first_list[compute];
  if (warp == 0) load_shell(op, compute, shell, lane);
  const int own_first = own.start / kClusterSize, clusters = clusters_of(own);
  if (threadIdx.x < kClusterSize) table.rows[kTable * kClusterSize + threadIdx.x] = padding_row();
#pragma unroll 1
  for (int first = blockIdx.y * kWarps; first < clusters; first += gridDim.y * kWarps) {
    const int n = first + warp, number = first_list + n;
    const bool wanted = n < clusters && number < op.list_capacity;
    const auto cluster = static_cast<uint32_t>(own_first + min(n, clusters - 1));
    const Search s{op, shell, table, scratches[warp], cluster, bins, lane, kept((1u << lane) - 1)};
    if (warp == kWarps - 1) store_boxes(op, {own_first + first, clusters - first}, table, lane);
    store_partners(s);
    __syncthreads();  // the shell and the boxes are complete
    Draft list{short_entries + kept(warp * room),
               nullptr,
               s.scratch.masked,
               s.scratch.masks,
               room,
               kMaskedRoom,
               room};
    fill_lists<false, kTwoCutoffs>(s, first, wanted, list);
    const bool again = wanted && place_list(s, number, list);
    if (__syncthreads_or(again)) fill_again<kTwoCutoffs>(s, first, again, list);
    if (op.long_exclusion_masks && wanted) note_long_exclusions(op, number);
    if (op.unordered && wanted) count_length(op, compute >= op.interior, number, lane);
  }
}

// Plain entries of a list to expect at most, in matter as dense as water. Fewer than the least would
// not let more blocks fit; lanes count up to 255 of a shell.
int room_for(float reach) {
  constexpr int kLeast = 864;
  return max(kLeast, min(static_cast<int>(500 * reach * reach * reach), 4 * kLeast));
}

// A shell, and how far it reaches.
struct Reach {
  int shell;
  float reach;
};

// The shells of a kind, in order.
std::vector<Reach> shells_of(const BuildLists& op, Kind kind) {
  std::vector<Reach> shells;
  const bool has_form = op.two_cutoffs && kind == kFormKind;
  if (has_form) shells.push_back({0, op.reach[kChargeShells - 1]});
  const int end = op.two_cutoffs && !has_form ? kChargeShells : kShells;
  for (int s = has_form ? kChargeShells : 0; s < end; ++s) shells.push_back({s, op.reach[s]});
  return shells;
}

// As fine as the number of bins allows. Distances below the first bin count as in it.
Bins make_bins(const BuildLists& op) {
  const auto bits_of = [](float reach) { return std::bit_cast<int32_t>(reach * reach); };
  const int lowest = bits_of(op.reach[0]), highest = bits_of(op.reach[kShells - 1]);
  Bins bins{12, 0, {}, {}, {}};
  while ((highest >> bins.shift) - (lowest >> bins.shift) >= kBins) ++bins.shift;
  bins.first = lowest >> bins.shift;
  for (int kind = 0; kind < (op.two_cutoffs ? kKinds : 1); ++kind) {
    const std::vector<Reach> shells = shells_of(op, static_cast<Kind>(kind));
    size_t k = 0;
    int far = 1;
    for (int bin = 1; bin <= kBins; ++bin) {
      const int least = (bins.first + bin) << bins.shift;
      while (k + 1 < shells.size() && bits_of(shells[k].reach) <= least) ++k;
      bins.shell[bin] |= static_cast<uint8_t>(shells[k].shell << kShellsOfKind * kind);
      if (k == 0) far = bin + 1;
    }
    bins.near[kind] = std::bit_cast<float>((bins.first + far) << bins.shift);
    bins.listed[kind] = squared_reach(shells.back().reach);
  }
  return bins;
}

constexpr unsigned kNumberThreads = 1024;

// Every block sums up for itself what lies before it: more reading, but no waiting for others.
__global__ void __launch_bounds__(kNumberThreads)
    number_kernel(const __grid_constant__ NumberLists op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  if (op.faults->refused) return;
  const auto lists_of = [&](int compute) { return clusters_of(op.patches[op.computes[compute]]); };
  const int threads = blockDim.x, first = blockIdx.x * threads, compute = first + threadIdx.x;
  const bool present = compute < op.compute_count;
  const auto sum_up_to = [&](int end) {
    int sum = 0, all;
#pragma unroll 4
    for (int c = threadIdx.x; c < end; c += threads) sum += lists_of(c);
    block_sum(sum, &all);
    return all;
  };
  const bool has_boundary = op.interior < op.compute_count;
  const int before = sum_up_to(first), interior = has_boundary ? sum_up_to(op.interior) : 0;
  const int gap = has_boundary ? max(op.interior_room - interior, 0) : 0;
  int here;
  const int own = before + block_sum(present ? lists_of(compute) : 0, &here);
  if (present) op.first_list[compute] = own + (compute >= op.interior ? gap : 0);
  if (threadIdx.x != 0 || first + threads < op.compute_count) return;
  const int all = before + here, interior_end = has_boundary ? interior : all;
  op.first_list[op.compute_count] = all + gap;
  op.ranges[0] = *op.entry_count = 0;
  op.ranges[1] = interior_end;
  op.ranges[2] = interior_end + gap;
  op.ranges[3] = all + gap;
  const int boundary = all - interior_end;
  if (interior_end > op.interior_room)
    atomicMax(&op.faults->room_needed[kInteriorLists], interior_end);
  if (boundary > op.boundary_room) atomicMax(&op.faults->room_needed[kBoundaryLists], boundary);
}

}  // namespace lists

void number_lists(const NumberLists& op, CudaContext& context) {
  const unsigned computes = max(1, op.compute_count);
  const unsigned threads = min(lists::kNumberThreads, blocks_for(computes, kWarp) * kWarp);
  launch(context, {NumberLists::kName, blocks_for(computes, threads), threads, 0, Start::kEarly},
         lists::number_kernel, op);
}

namespace lists {

void launch_build(const BuildLists& op, CudaContext& context) {
  const int room = room_for(op.reach[kShells - 1]);
  const size_t shared = sizeof(Table) + kWarps * (sizeof(WarpScratch) + room * sizeof(ShortEntry)) +
                        (op.grid.codes + 1) * sizeof(Neighbour);
  // Room for a fifth more clusters than the mean patch has; blocks of fuller patches go round again.
  const auto mean = blocks_for(op.list_capacity, op.compute_count);
  launch(context,
         {BuildLists::kName, static_cast<unsigned>(op.compute_count), kThreads, shared,
          Start::kEarly, blocks_for(mean + mean / 5, kWarps)},
         op.two_cutoffs ? build_kernel<true> : build_kernel<false>, op, room, make_bins(op));
}

void build_in_order(const BuildLists& op, CudaContext& context) {
  cuda_check(cudaMemsetAsync(op.lengths, 0, sizeof *op.lengths, context.stream),
             "clear lengths of lists");
  BuildLists building = op;
  building.lists = op.unordered;
  launch_build(building, context);
  const unsigned kinds = op.interior < op.compute_count ? 2 : 1;
  launch(context,
         {"build_lists.order", blocks_for(op.list_capacity, kOrderThreads), kOrderThreads, 0,
          Start::kEarly, kinds},
         order_kernel, op);
}

}  // namespace lists

void build_lists(const BuildLists& op, CudaContext& context) {
  if (op.compute_count == 0 || op.list_capacity == 0) return;
  if (op.unordered)
    lists::build_in_order(op, context);
  else
    lists::launch_build(op, context);
}

void add_lists_kernels(CudaKernels& table) {
  table.add<NumberLists, number_lists>();
  table.add<BuildLists, build_lists>();
}

}  // namespace quiltmd
