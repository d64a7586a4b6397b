// SPDX-License-Identifier: Apache-2.0
// Pair lists on the GPU: one warp per i-cluster. Boxes of clusters are tested first, 32 at a time,
// and those in reach queued; then their atoms are tested against the eight i atoms, four clusters at
// a time, the next four on their way from memory meanwhile. A list grows in shared memory; when it
// is whole, a counter in global memory gives it its place and it is copied there in one go. So lists
// are packed without a second search or a scan; where they lie differs between runs, what they hold
// does not. A list that outgrows shared memory is searched once more, straight to its place.
//
// Hardly any j atom is excluded from an i atom. A filter of 1024 bits by the excluded partners'
// numbers sends the few suspects to the exact search.
#include "computes/nonbonded/cuda_near.cuh"
#include "computes/nonbonded/cuda_operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace lists {

constexpr int kWarps = 4;  // i-clusters that a block works on at once
constexpr int kAtOnce = kWarp / kClusterSize;
constexpr int kQueue = 256;       // clusters that wait for their atoms to be tested
constexpr int kMaskedRoom = 128;  // masked entries of a list in shared memory
constexpr unsigned kFilterBits = 1024;

// The patches that a compute's clusters look into.
struct Shell {
  float4 shift[kMaxCodes];  // w unused
  int cluster[kMaxCodes];   // first cluster of the patch
  int count[kMaxCodes];     // its clusters
};

// What a warp works with; the plain entries of its list follow in shared memory.
struct Desk {
  uint32_t filter[kFilterBits / 32];  // numbers of the atoms excluded from any i atom
  uint32_t queue[kQueue];             // first slot | code of a cluster
  uint32_t masked[kMaskedRoom];
  uint8_t masks[kMaskedRoom];
};

// A list in the making: where its entries go, how many fit, and how many there are.
struct Draft {
  uint32_t *plain, *masked;
  uint8_t* masks;
  int plain_room, masked_room;
  int plain_count, masked_count;

  __device__ bool fits() const { return plain_count <= plain_room && masked_count <= masked_room; }
};

struct Search {
  const BuildLists& op;
  const Shell& shell;
  Desk& desk;
  int cluster;
  int own_number;  // of the cluster in its patch
  int lane;
};

// The j atom of a lane.
struct Candidate {
  float4 site;
  uint32_t entry;
  int atom;
  bool present;
};

__device__ __forceinline__ int clusters_of(const PlacedPatch& patch) {
  return (patch.atoms + kClusterSize - 1) / kClusterSize;
}

__device__ void load_shell(const BuildLists& op, int compute, Shell& shell) {
  const int codes = op.grid.codes;
  for (int code = threadIdx.x; code < codes; code += blockDim.x) {
    const PlacedPatch& patch = op.patches[op.neighbours[compute * codes + code]];
    const Vec3f shift = op.grid.shifts[code];
    shell.shift[code] = {shift.x, shift.y, shift.z, 0};
    shell.cluster[code] = patch.start / kClusterSize;
    shell.count[code] = clusters_of(patch);
  }
}

// Four lanes to an i atom.
__device__ void fill_filter(const Search& s) {
  s.desk.filter[s.lane] = 0;
  __syncwarp();
  const int atom = s.op.slots.atom[s.cluster * kClusterSize + s.lane / kAtOnce];
  if (atom >= 0) {
    const Constants& c = s.op.constants;
    const int end = c.exclusion_start[atom + 1];
    for (int e = c.exclusion_start[atom] + s.lane % kAtOnce; e < end; e += kAtOnce) {
      const unsigned bit = static_cast<unsigned>(c.exclusions[e]) % kFilterBits;
      atomicOr(&s.desk.filter[bit / 32], 1u << bit % 32);
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

// Bits of the i atoms that atom j is excluded from.
__device__ unsigned exclusions_of(const Search& s, int j) {
  unsigned found = 0;
#pragma unroll 1
  for (int i = 0; i < kClusterSize; ++i) {
    const int atom = s.op.slots.atom[s.cluster * kClusterSize + i];
    if (atom >= 0 && is_excluded(s.op.constants, atom, j)) found |= 1u << i;
  }
  return found;
}

// Append the lanes' entries, in the order of the lanes.
__device__ __forceinline__ void append(Draft& list, int lane, bool listed, bool masked,
                                       uint32_t entry, unsigned mask) {
  const unsigned before = (1u << lane) - 1;
  const unsigned plain_lanes = __ballot_sync(kAllLanes, listed && !masked);
  const unsigned masked_lanes = __ballot_sync(kAllLanes, listed && masked);
  if (listed) {
    const int place = masked ? list.masked_count + __popc(masked_lanes & before)
                             : list.plain_count + __popc(plain_lanes & before);
    if (masked && place < list.masked_room) {
      list.masked[place] = entry;
      list.masks[place] = static_cast<uint8_t>(mask);
    }
    if (!masked && place < list.plain_room) list.plain[place] = entry;
  }
  list.plain_count += __popc(plain_lanes);
  list.masked_count += __popc(masked_lanes);
}

// Atom of one of the four clusters from place `first` of the queue.
__device__ __forceinline__ Candidate load_candidate(const Search& s, int first, int waiting) {
  const int place = first + s.lane / kClusterSize;
  Candidate j;
  j.present = place < waiting;
  j.entry = s.desk.queue[j.present ? place : first] + s.lane % kClusterSize;
  j.site = load_site(s.op.slots, j.entry & kSlotMask);
  j.atom = s.op.slots.atom[j.entry & kSlotMask];
  return j;
}

__device__ __forceinline__ void test_candidate(const Search& s, const NearTest& test, float reach2,
                                               const Candidate& j, Draft& list) {
  const int place = s.lane % kClusterSize;
  const bool itself = j.entry - place == static_cast<uint32_t>(s.cluster) * kClusterSize;
  const bool near = nearest2(test, j.site, s.shell.shift[j.entry >> kSlotBits]) < reach2;
  const bool listed = near && j.present && j.atom >= 0 && !(itself && place == 0);
  const unsigned bit = static_cast<unsigned>(j.atom) % kFilterBits;
  const bool suspect = listed && (s.desk.filter[bit / 32] >> bit % 32 & 1u);
  unsigned mask = itself ? (1u << place) - 1 : 0xffu;
  bool masked = itself;
  if (suspect) {
    const unsigned excluded = exclusions_of(s, j.atom);
    masked = masked || excluded;
    mask &= ~excluded;
  }
  append(list, s.lane, listed, masked, j.entry, mask);
}

// Test the atoms of the waiting clusters, in fours; returns how many clusters are left.
__device__ int drain(const Search& s, const NearTest& test, float reach2, int waiting, bool all,
                     Draft& list) {
  const int end = all ? waiting : waiting / kAtOnce * kAtOnce;
  __syncwarp();
  Candidate next = load_candidate(s, 0, waiting);
#pragma unroll 1
  for (int first = 0; first < end; first += kAtOnce) {
    const Candidate j = next;
    next = load_candidate(s, min(first + kAtOnce, waiting - 1), waiting);
    test_candidate(s, test, reach2, j, list);
  }
  const int left = waiting - end;
  const uint32_t kept = s.desk.queue[s.lane < left ? end + s.lane : 0];
  __syncwarp();
  if (s.lane < left) s.desk.queue[s.lane] = kept;
  return left;
}

// Squared gap between two boxes.
__device__ __forceinline__ float gap2(const ClusterBounds& a, const ClusterBounds& b,
                                      float4 shift) {
  const float x = fmaxf(fabsf(b.centre.x + shift.x - a.centre.x) - a.half.x - b.half.x, 0.0f);
  const float y = fmaxf(fabsf(b.centre.y + shift.y - a.centre.y) - a.half.y - b.half.y, 0.0f);
  const float z = fmaxf(fabsf(b.centre.z + shift.z - a.centre.z) - a.half.z - b.half.z, 0.0f);
  return fmaf(x, x, fmaf(y, y, z * z));
}

// Go through the clusters of the shell from the own one on.
__device__ void fill_list(const Search& s, Draft& list) {
  const ClusterBounds bounds = s.op.bounds[s.cluster];
  const NearTest test = make_near_test(s.op.slots, s.cluster);
  const float reach2 = squared_reach(s.op.reach);
  int waiting = 0;
#pragma unroll 1
  for (int code = 0; code < s.op.grid.codes; ++code) {
    const int count = s.shell.count[code], first = s.shell.cluster[code];
    const float4 shift = s.shell.shift[code];
#pragma unroll 1
    for (int base = code == 0 ? s.own_number : 0; base < count; base += kWarp) {
      const int n = base + s.lane;
      const bool near =
          n < count && gap2(bounds, s.op.bounds[first + min(n, count - 1)], shift) < reach2;
      const unsigned lanes = __ballot_sync(kAllLanes, near);
      if (near) {
        s.desk.queue[waiting + __popc(lanes & ((1u << s.lane) - 1))] =
            static_cast<uint32_t>(first + n) * kClusterSize | static_cast<uint32_t>(code)
                                                                  << kSlotBits;
      }
      waiting += __popc(lanes);
      if (waiting > kQueue - kWarp) waiting = drain(s, test, reach2, waiting, false, list);
    }
  }
  if (waiting > 0) drain(s, test, reach2, waiting, true, list);
  __syncwarp();
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
  for (int n = lane; n < list.masked_count; n += kWarp) {
    op.entries[begin + n] = list.masked[n];
    op.masks[begin + n] = list.masks[n];
  }
  uint32_t* const plain = op.entries + begin + list.masked_count;
  for (int n = lane; n < list.plain_count; n += kWarp) plain[n] = list.plain[n];
}

__device__ void make_list(const Search& s, uint32_t* plain, int room, int number) {
  fill_filter(s);
  Draft list{plain, s.desk.masked, s.desk.masks, room, kMaskedRoom, 0, 0};
  fill_list(s, list);
  const int masked = list.masked_count, count = masked + list.plain_count;
  const int begin = take_place(s.op, count, s.lane);
  if (begin >= 0 && list.fits()) {
    copy_list(s.op, list, begin, s.lane);
  } else if (begin >= 0) {
    Draft again{s.op.entries + begin + masked,
                s.op.entries + begin,
                s.op.masks + begin,
                count - masked,
                masked,
                0,
                0};
    fill_list(s, again);
  }
  if (s.lane == 0) {
    s.op.lists[number] =
        begin >= 0 ? PairList{s.cluster, begin, masked, count} : PairList{s.cluster, 0, 0, 0};
  }
  __syncwarp();
}

__global__ void __launch_bounds__(kWarps* kWarp, 6)
    build_kernel(const __grid_constant__ BuildLists op, int room) {
  __shared__ Shell shell;
  __shared__ Desk desks[kWarps];
  extern __shared__ uint32_t plain[];
  wait_for_previous();
  const int compute = blockIdx.x, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int clusters = op.first_list[compute + 1] - op.first_list[compute];
  const int first = blockIdx.y * kWarps;
  if (first >= clusters) return;
  load_shell(op, compute, shell);
  __syncthreads();
#pragma unroll 1
  for (int n = first + warp; n < clusters; n += gridDim.y * kWarps) {
    const int number = op.first_list[compute] + n;
    if (number >= op.list_capacity) {
      if (lane == 0) atomicMax(&op.faults->list_overflow, op.entry_capacity + kListAlign);
      break;
    }
    make_list({op, shell, desks[warp], shell.cluster[0] + n, n, lane}, plain + warp * room, room,
              number);
  }
}

// Plain entries of a list to expect at most, in matter as dense as water.
int room_for(float reach) {
  const int expected = static_cast<int>(700 * reach * reach * reach);
  return (min(max(expected, 128), 1536) + kListAlign - 1) / kListAlign * kListAlign;
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
  // Room for a fifth more clusters than the mean patch has; blocks of fuller patches go round again.
  const auto mean = blocks_for(op.list_capacity, op.compute_count);
  launch(context,
         {BuildLists::kName, static_cast<unsigned>(op.compute_count), lists::kWarps * kWarp,
          lists::kWarps * room * sizeof(uint32_t), Start::kEarly,
          min(16u, blocks_for(mean + mean / 5, lists::kWarps))},
         lists::build_kernel, op, room);
}

void add_nonbonded_kernels(CudaKernels& table) {
  table.add<NumberLists, number_lists>();
  table.add<BuildLists, build_lists>();
  table.add<PruneLists, prune_lists>();
  table.add<PairForces, pair_forces>();
}

}  // namespace quiltmd
