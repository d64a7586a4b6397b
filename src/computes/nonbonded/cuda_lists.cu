// SPDX-License-Identifier: Apache-2.0
// Pair lists on the GPU: one block for eight i-clusters that follow each other on the Hilbert curve,
// one warp for each. The block brings the clusters near its common box into shared memory, a table
// at a time: their boxes, and their atoms as seen from the middle of the box. Each warp picks those
// near its own box, and tests their atoms four clusters at a time (cuda_near.cuh). Hardly any work
// is done per warp that the block can share; the price is that the warps wait for each other.
//
// A list grows in shared memory; when it is whole, a counter in global memory gives it its place and
// it is copied there in one go. So lists are packed without a second search or a scan; where they
// lie differs between runs, what they hold does not. If one outgrows shared memory, its block
// searches once more, and that list goes straight to its place.
//
// Lists hold what is in reach and, for the rounding of the test, a little beyond.
#include "computes/nonbonded/cuda_near.cuh"
#include "computes/nonbonded/cuda_operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace lists {

constexpr int kWarps = 8;               // i-clusters of a block
constexpr int kThreads = kWarps * kWarp;
constexpr int kBlocks = 3;              // on a multiprocessor; shared memory allows no more
constexpr int kAtOnce = kWarp / kClusterSize;
constexpr int kTable = kThreads;        // j-clusters in shared memory
constexpr int kPartners = 32;           // clusters with excluded partners of an i-cluster
constexpr int kMaskedRoom = 64;         // masked entries of a list in shared memory
constexpr int kNobody = -1;
constexpr unsigned kSuspect = 0x8000;   // marks clusters that may hold excluded atoms

// The patches that a compute's clusters look into, and the numbers of their clusters in a row.
struct Shell {
  float shift[kMaxCodes][3];
  int cluster[kMaxCodes];    // first cluster of the patch
  int begin[kMaxCodes + 1];  // number of its first cluster
};

// The j-clusters that the block looks at, and one more that is nowhere.
struct Table {
  uint4 rows[(kTable + 1) * kClusterSize];
  float centre[3][kTable], half[3][kTable];
  uint32_t entry[kTable + 1];  // first slot | code
};

// What a warp works with; the plain entries of its list follow in shared memory.
struct Desk {
  int partner[kPartners];              // clusters that hold excluded atoms, by hash; or kNobody
  uint32_t excluded[kPartners][2];     // their atoms: a byte each, by i atom
  uint16_t picked[kTable + kAtOnce];   // places in the table | kSuspect
  uint32_t masked[kMaskedRoom];
  uint8_t masks[kMaskedRoom];
};

struct Box {
  float3 centre, half;
};

// A list in the making: where its entries go, how many fit, and how many there are.
struct Draft {
  uint32_t *plain, *masked;
  uint8_t* masks;
  int plain_room, masked_room;
  int plain_count, masked_count;
  bool placed;  // in its final place

  __device__ bool fits() const { return plain_count <= plain_room && masked_count <= masked_room; }
};

struct Search {
  const BuildLists& op;
  const Shell& shell;
  Table& table;
  Desk& desk;
  float3 origin;     // coordinates count from here: the middle of the block's clusters
  uint32_t cluster;  // of the warp
  int lane;
};

__device__ __forceinline__ int clusters_of(const PlacedPatch& patch) {
  return (patch.atoms + kClusterSize - 1) / kClusterSize;
}

__device__ void load_shell(const BuildLists& op, int compute, Shell& shell) {
  const int codes = op.grid.codes, lane = threadIdx.x;
  if (lane >= kWarp) return;
  int before = 0;
#pragma unroll 1
  for (int base = 0; base < codes; base += kWarp) {
    const int code = base + lane;
    int count = 0;
    if (code < codes) {
      const PlacedPatch& patch = op.patches[op.neighbours[compute * codes + code]];
      const Vec3f shift = op.grid.shifts[code];
      shell.shift[code][0] = shift.x, shell.shift[code][1] = shift.y;
      shell.shift[code][2] = shift.z;
      shell.cluster[code] = patch.start / kClusterSize;
      count = clusters_of(patch);
    }
    int inclusive = count;
    for (int step = 1; step < kWarp; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, inclusive, step);
      if (lane >= step) inclusive += other;
    }
    if (code < codes) shell.begin[code] = before + inclusive - count;
    before += __shfl_sync(kAllLanes, inclusive, kWarp - 1);
  }
  if (lane == 0) shell.begin[codes] = before;
}

// ---- exclusions ----------------------------------------------------------------------------

// Note the excluded partners of the i atoms, four lanes to an atom, and the cluster itself. When
// there are too many clusters of them all places are taken, and partners are searched for instead.
__device__ void note_partners(const Search& s) {
  const int own = static_cast<int>(s.cluster);
  s.desk.partner[s.lane] = s.lane == own % kPartners ? own : kNobody;
  s.desk.excluded[s.lane][0] = s.desk.excluded[s.lane][1] = 0;
  __syncwarp();
  const int i = s.lane / kAtOnce;
  const int atom = s.op.slots.atom[s.cluster * kClusterSize + i];
  const auto note = [&](int slot) {
    const int cluster = slot / kClusterSize, place = slot % kClusterSize;
#pragma unroll 1
    for (int n = 0; n < kPartners; ++n) {
      const int at = (cluster + n) % kPartners;
      const int before = atomicCAS(&s.desk.partner[at], kNobody, cluster);
      if (before != kNobody && before != cluster) continue;
      atomicOr(&s.desk.excluded[at][place / 4], 1u << (place % 4 * 8 + i));
      return;
    }
  };
  if (atom >= 0) {
    const Constants& c = s.op.constants;
    const int end = c.exclusion_start[atom + 1];
#pragma unroll 1
    for (int e = c.exclusion_start[atom] + s.lane % kAtOnce; e < end; e += kAtOnce) {
      const int slot = s.op.slot_of_atom[c.exclusions[e]];
      if (slot >= 0) note(slot);
    }
  }
  __syncwarp();
}

__device__ bool is_excluded(const Constants& constants, int i, int j) {
  int low = constants.exclusion_start[i], high = constants.exclusion_start[i + 1];
  const int end = high;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (constants.exclusions[middle] < j)
      low = middle + 1;
    else
      high = middle;
  }
  return low < end && constants.exclusions[low] == j;
}

__device__ __noinline__ unsigned search_exclusions(const BuildLists& op, uint32_t cluster, int j) {
  unsigned found = 0;
#pragma unroll 1
  for (int i = 0; i < kClusterSize; ++i) {
    const int atom = op.slots.atom[cluster * kClusterSize + i];
    if (atom >= 0 && is_excluded(op.constants, atom, j)) found |= 1u << i;
  }
  return found;
}

// Bits of the i atoms that the atom of a slot is excluded from.
__device__ __forceinline__ unsigned exclusions_of(const Search& s, uint32_t slot) {
  const int cluster = static_cast<int>(slot / kClusterSize), place = slot % kClusterSize;
#pragma unroll 1
  for (int n = 0; n < kPartners; ++n) {
    const int at = (cluster + n) % kPartners, partner = s.desk.partner[at];
    if (partner == cluster) return s.desk.excluded[at][place / 4] >> place % 4 * 8 & 0xffu;
    if (partner == kNobody) return 0;
  }
  return search_exclusions(s.op, s.cluster, s.op.slots.atom[slot]);
}

// ---- the block's table ---------------------------------------------------------------------

__device__ __forceinline__ float least(float v) {
  for (int bit = kWarps / 2; bit > 0; bit /= 2)
    v = fminf(v, __shfl_xor_sync(kAllLanes, v, bit));
  return v;
}

// The box of the block's clusters, first <= number < first + kWarps.
__device__ Box common_box(const BuildLists& op, const Shell& shell, int first, int lane) {
  const int last = shell.begin[1] - 1;
  const ClusterBounds b = op.bounds[shell.cluster[0] + min(first + lane % kWarps, last)];
  const float3 low{least(b.centre.x - b.half.x), least(b.centre.y - b.half.y),
                   least(b.centre.z - b.half.z)};
  const float3 high{-least(-b.centre.x - b.half.x), -least(-b.centre.y - b.half.y),
                    -least(-b.centre.z - b.half.z)};
  return {{0.5f * (low.x + high.x), 0.5f * (low.y + high.y), 0.5f * (low.z + high.z)},
          {0.5f * (high.x - low.x), 0.5f * (high.y - low.y), 0.5f * (high.z - low.z)}};
}

// Squared gap between two boxes, at most.
__device__ __forceinline__ float gap2(const Box& a, const Box& b) {
  const float x = fmaxf(fabsf(b.centre.x - a.centre.x) - (a.half.x + b.half.x), 0.0f);
  const float y = fmaxf(fabsf(b.centre.y - a.centre.y) - (a.half.y + b.half.y), 0.0f);
  const float z = fmaxf(fabsf(b.centre.z - a.centre.z) - (a.half.z + b.half.z), 0.0f);
  return fmaf(x, x, fmaf(y, y, z * z));
}

// How many threads of the block before this one have `chosen` set; `all`: of the whole block.
__device__ __forceinline__ int block_rank(bool chosen, int lane, int* all) {
  __shared__ int counts[kWarps];
  const int warp = threadIdx.x / kWarp;
  const unsigned lanes = __ballot_sync(kAllLanes, chosen);
  if (lane == 0) counts[warp] = __popc(lanes);
  __syncthreads();
  int before = __popc(lanes & ((1u << lane) - 1)), sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    before += w < warp ? counts[w] : 0;
    sum += counts[w];
  }
  *all = sum;
  return before;
}

// Enter the clusters numbered `base` and on that are near the block's box; returns how many.
__device__ int enter_clusters(const Search& s, const Box& box, int base, float reach2) {
  const Shell& shell = s.shell;
  const int codes = s.op.grid.codes, number = base + static_cast<int>(threadIdx.x);
  Box other{};
  uint32_t entry = 0;
  bool near = false;
  if (number < shell.begin[codes]) {
    int code = 0;
    for (int step = kMaxCodes / 2; step > 0; step /= 2) {
      if (code + step < codes && shell.begin[code + step] <= number) code += step;
    }
    const int cluster = shell.cluster[code] + number - shell.begin[code];
    const ClusterBounds b = s.op.bounds[cluster];
    const float* shift = shell.shift[code];
    other = {{b.centre.x + (shift[0] - s.origin.x), b.centre.y + (shift[1] - s.origin.y),
              b.centre.z + (shift[2] - s.origin.z)},
             {b.half.x, b.half.y, b.half.z}};
    near = gap2({{0, 0, 0}, box.half}, other) < reach2;
    entry = static_cast<uint32_t>(cluster) * kClusterSize | static_cast<uint32_t>(code)
                                                                << kSlotBits;
  }
  int count;
  const int place = block_rank(near, s.lane, &count);
  if (near) {
    Table& t = s.table;
    t.entry[place] = entry;
    t.centre[0][place] = other.centre.x, t.half[0][place] = other.half.x;
    t.centre[1][place] = other.centre.y, t.half[1][place] = other.half.y;
    t.centre[2][place] = other.centre.z, t.half[2][place] = other.half.z;
  }
  __syncthreads();
  return count;
}

// Bring the atoms of the table's clusters.
__device__ __forceinline__ void enter_atoms(const Search& s, int count) {
#pragma unroll 2
  for (int n = threadIdx.x; n < count * kClusterSize; n += kThreads) {
    const uint32_t entry = s.table.entry[n / kClusterSize] + n % kClusterSize;
    const Float4 site = s.op.slots.local[entry & kSlotMask];
    const float* shift = s.shell.shift[entry >> kSlotBits];
    s.table.rows[n] = site.x < 0.5f * kFarAway
                          ? matrix_row(site.x + (shift[0] - s.origin.x),
                                       site.y + (shift[1] - s.origin.y),
                                       site.z + (shift[2] - s.origin.z))
                          : nowhere_row();
  }
}

// ---- the warp's list -----------------------------------------------------------------------

// Whether the pairs of this cluster with that of an entry are in this cluster's list. In the same
// patch the lower of two has them when both numbers are even or both odd, the higher otherwise:
// lists become equally long, and longest ones decide how soon everyone is done.
__device__ __forceinline__ bool is_ours(uint32_t cluster, uint32_t entry) {
  const uint32_t other = entry / kClusterSize;
  const bool even = ((cluster ^ other) & 1) == 0, other_patch = entry >> kSlotBits != 0;
  return other_patch || other == cluster || even == (other > cluster);
}

// Pick the table's clusters near the warp's box; returns how many.
__device__ __forceinline__ int pick_clusters(const Search& s, const Box& box, float reach2,
                                             int count) {
  const Table& t = s.table;
  int picked = 0;
#pragma unroll 1
  for (int base = 0; base < count; base += kWarp) {
    const int n = base + s.lane;
    const Box other{{t.centre[0][n], t.centre[1][n], t.centre[2][n]},
                    {t.half[0][n], t.half[1][n], t.half[2][n]}};
    const uint32_t entry = t.entry[n];
    const bool near = n < count && is_ours(s.cluster, entry) && gap2(box, other) < reach2;
    const unsigned lanes = __ballot_sync(kAllLanes, near);
    if (near) {
      const bool suspect = s.desk.partner[entry / kClusterSize % kPartners] != kNobody;
      s.desk.picked[picked + __popc(lanes & ((1u << s.lane) - 1))] =
          static_cast<uint16_t>(suspect ? n | kSuspect : n);
    }
    picked += __popc(lanes);
  }
  if (s.lane < kAtOnce) s.desk.picked[picked + s.lane] = kTable;
  return picked;
}

// The place of this lane's entry among those listed, `count` of them already.
__device__ __forceinline__ int next_place(int lane, bool listed, int& count) {
  const unsigned lanes = __ballot_sync(kAllLanes, listed);
  const int place = count + __popc(lanes & ((1u << lane) - 1));
  count += __popc(lanes);
  return place;
}

// Append those entries that have a mask; returns whether this lane's has none.
__device__ __forceinline__ bool append_masked(const Search& s, uint32_t entry, bool near,
                                              Draft& list) {
  const uint32_t own = s.cluster * kClusterSize, place = entry % kClusterSize;
  const bool itself = entry - place == own;
  const unsigned excluded = near ? exclusions_of(s, entry & kSlotMask) : 0;
  const bool masked = near && (itself || excluded != 0);
  const bool listed = masked && entry != own;  // the first atom has none before it
  const int n = next_place(s.lane, listed, list.masked_count);
  if (listed && n < list.masked_room) {
    list.masked[n] = entry;
    list.masks[n] = static_cast<uint8_t>((itself ? (1u << place) - 1 : 0xffu) & ~excluded);
  }
  return near && !masked;
}

// Test the atoms of the picked clusters, four clusters at a time.
__device__ __forceinline__ void test_atoms(const Search& s, const NearTest& test, int picked,
                                           Draft& list) {
  const int cluster = s.lane / kClusterSize, place = s.lane % kClusterSize;
#pragma unroll 1
  for (int first = 0; first < picked; first += kAtOnce) {
    const unsigned mark = s.desk.picked[first + cluster], n = mark & ~kSuspect;
    const uint32_t entry = s.table.entry[n] + place;
    bool near = is_near(test, s.table.rows + n * kClusterSize + place, s.lane);
    if (__any_sync(kAllLanes, near && mark != n)) near = append_masked(s, entry, near, list);
    const int at = next_place(s.lane, near, list.plain_count);
    if (near && at < list.plain_room) list.plain[at] = entry;
  }
}

// All threads of the block fill their warps' lists.
__device__ void fill_lists(const Search& s, const Box& common, bool wanted, Draft& list) {
  const float reach = s.op.reach;
  const ClusterBounds b = s.op.bounds[s.cluster];
  const Box box{{b.centre.x - s.origin.x, b.centre.y - s.origin.y, b.centre.z - s.origin.z},
                {b.half.x, b.half.y, b.half.z}};
  const float3 corner{fabsf(box.centre.x) + box.half.x, fabsf(box.centre.y) + box.half.y,
                      fabsf(box.centre.z) + box.half.z};
  const float radius =
      sqrtf(fmaf(corner.x, corner.x, fmaf(corner.y, corner.y, corner.z * corner.z)));
  // Rounding of boxes must lose no pair.
  const float reach2 = reach * reach * 1.00001f;
  const NearTest test =
      make_near_test(s.op.slots.local + s.cluster * kClusterSize, s.origin,
                     reach2 + matrix_error(radius, reach), s.lane);
#pragma unroll 1
  for (int base = 0; base < s.shell.begin[s.op.grid.codes]; base += kTable) {
    const int count = enter_clusters(s, common, base, reach2);
    enter_atoms(s, count);
    const int picked = wanted ? pick_clusters(s, box, reach2, count) : 0;
    __syncthreads();
    test_atoms(s, test, picked, list);
    __syncthreads();
  }
}

// Where a list of so many entries goes, or -1 when there is no room.
__device__ int take_place(const BuildLists& op, int count, int lane) {
  const int lines = (count + kListAlign - 1) / kListAlign * kListAlign;
  int begin = 0;
  if (lane == 0) begin = atomicAdd(op.entry_count, lines);
  begin = __shfl_sync(kAllLanes, begin, 0);
  if (begin >= 0 && begin <= op.entry_capacity - lines) return begin;
  // A sum that has become negative needs more than can be numbered.
  if (lane == 0) atomicMax(&op.faults->list_overflow, begin < 0 ? 0x7fffffff : begin + lines);
  return -1;
}

__device__ void copy_list(const BuildLists& op, const Draft& list, int begin, int lane) {
#pragma unroll 1
  for (int n = lane; n < list.masked_count; n += kWarp) {
    op.entries[begin + n] = list.masked[n];
    op.masks[begin + n] = list.masks[n];
  }
  uint32_t* const plain = op.entries + begin + list.masked_count;
  for (int n = lane; n < list.plain_count; n += kWarp) plain[n] = list.plain[n];
}

// Give the list its place. Returns whether it has one but must be searched again, to be written
// there; `list` is then that place.
__device__ bool settle_list(const Search& s, int number, Draft& list) {
  const int masked = list.masked_count, count = masked + list.plain_count;
  const int begin = take_place(s.op, count, s.lane);
  const bool placed = begin >= 0;
  if (s.lane == 0) {
    const int cluster = static_cast<int>(s.cluster);
    s.op.lists[number] =
        placed ? PairList{cluster, begin, masked, count} : PairList{cluster, 0, 0, 0};
  }
  __syncwarp();
  if (placed && list.fits()) copy_list(s.op, list, begin, s.lane);
  if (!placed || list.fits()) return false;
  uint32_t* const entries = s.op.entries + begin;
  list = {entries + masked, entries, s.op.masks + begin, count - masked, masked, 0, 0, true};
  return true;
}

__global__ void __launch_bounds__(kThreads, kBlocks)
    build_kernel(const __grid_constant__ BuildLists op, int room) {
  extern __shared__ uint4 memory[];
  Table& table = *reinterpret_cast<Table*>(memory);
  Desk* const desks = reinterpret_cast<Desk*>(&table + 1);
  uint32_t* const plain = reinterpret_cast<uint32_t*>(desks + kWarps);
  __shared__ Shell shell;
  wait_for_previous();
  const int compute = blockIdx.x, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int first_list = op.first_list[compute];
  const int clusters = op.first_list[compute + 1] - first_list;
  if (static_cast<int>(blockIdx.y) * kWarps >= clusters) return;
  load_shell(op, compute, shell);
  if (threadIdx.x < kClusterSize) table.rows[kTable * kClusterSize + threadIdx.x] = nowhere_row();
  if (threadIdx.x == 0) table.entry[kTable] = 0;
  __syncthreads();
#pragma unroll 1
  for (int first = blockIdx.y * kWarps; first < clusters; first += gridDim.y * kWarps) {
    const int n = first + warp, number = first_list + n;
    bool wanted = n < clusters && number < op.list_capacity;
    if (n < clusters && !wanted && lane == 0)
      atomicMax(&op.faults->list_overflow, op.entry_capacity + kListAlign);
    const Box common = common_box(op, shell, first, lane);
    const Search s{op,
                   shell,
                   table,
                   desks[warp],
                   common.centre,
                   static_cast<uint32_t>(shell.cluster[0] + min(n, clusters - 1)),
                   lane};
    note_partners(s);
    Draft list{plain + warp * room, s.desk.masked, s.desk.masks, room, kMaskedRoom,
               0,                  0,              false};
    do {
      fill_lists(s, common, wanted, list);
      wanted = wanted && !list.placed && settle_list(s, number, list);
    } while (__syncthreads_or(wanted));
  }
}

// Plain entries of a list to expect at most, in matter as dense as water.
int room_for(float reach) {
  const int expected = static_cast<int>(500 * reach * reach * reach);
  return (min(max(expected, 128), 1024) + kListAlign - 1) / kListAlign * kListAlign;
}

constexpr int kNumberThreads = 1024;

// Every block sums up for itself what lies before it: more reading, but no waiting for others.
__global__ void __launch_bounds__(kNumberThreads)
    number_kernel(const __grid_constant__ NumberLists op) {
  wait_for_previous();
  const auto lists_of = [&](int compute) { return clusters_of(op.patches[op.computes[compute]]); };
  const int first = blockIdx.x * kNumberThreads, compute = first + threadIdx.x;
  const bool present = compute < op.compute_count;
  int earlier = 0, before, here;
#pragma unroll 4
  for (int c = threadIdx.x; c < first; c += kNumberThreads) earlier += lists_of(c);
  block_sum(earlier, &before);
  const int own = before + block_sum(present ? lists_of(compute) : 0, &here);
  if (present) op.first_list[compute] = own;
  if (present && compute == op.interior) op.ranges[1] = op.ranges[2] = own;
  if (threadIdx.x == 0 && first + kNumberThreads >= op.compute_count) {
    op.first_list[op.compute_count] = before + here;
    op.ranges[0] = 0;
    op.ranges[3] = before + here;
    if (op.interior >= op.compute_count) op.ranges[1] = op.ranges[2] = before + here;
  }
}

}  // namespace lists

void number_lists(const NumberLists& op, CudaContext& context) {
  launch(context,
         {NumberLists::kName, max(1u, blocks_for(op.compute_count, lists::kNumberThreads)),
          lists::kNumberThreads, 0, Start::kEarly},
         lists::number_kernel, op);
}

void build_lists(const BuildLists& op, CudaContext& context) {
  if (op.compute_count == 0 || op.list_capacity == 0) return;
  cuda_check(cudaMemsetAsync(op.entry_count, 0, sizeof(int32_t), context.stream),
             "clear the count of list entries");
  const int room = lists::room_for(op.reach);
  const size_t shared = sizeof(lists::Table) +
                        lists::kWarps * (sizeof(lists::Desk) + room * sizeof(uint32_t));
  // Room for a fifth more clusters than the mean patch has; blocks of fuller patches go round again.
  const auto mean = blocks_for(op.list_capacity, op.compute_count);
  launch(context,
         {BuildLists::kName, static_cast<unsigned>(op.compute_count), lists::kThreads, shared,
          Start::kEarly, blocks_for(mean + mean / 5, lists::kWarps)},
         lists::build_kernel, op, room);
}

void add_nonbonded_kernels(CudaKernels& table) {
  table.add<NumberLists, number_lists>();
  table.add<BuildLists, build_lists>();
  table.add<PruneLists, prune_lists>();
  table.add<RenewReference, renew_reference>();
  table.add<PairForces, pair_forces>();
}

}  // namespace quiltmd
