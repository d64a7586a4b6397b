// SPDX-License-Identifier: Apache-2.0
// Pair lists on the GPU: one warp per i-cluster, in a single pass. Boxes of clusters are tested
// first, 32 at a time; the atoms of those in reach are then tested against the eight i atoms, four
// clusters at a time. Every list has a region of its own of equal size (entry_capacity /
// list_capacity), so that no count has to be known before entries are written; that spends about
// half as much memory again as packed lists, and saves a second pass or a scan.
//
// While a list grows, its region holds entries without a mask from the front and those with one
// from the back. At the end the masked ones go to the front and the entries that were there behind
// the last. So the order is: masked entries by (code, slot); then unmasked ones by (code, slot), of
// which the first (as many as there are masked) come last.
#include "computes/nonbonded/cuda_operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace lists {

constexpr int kWarps = 4;         // i-clusters that a block works on at once
constexpr int kBlocksPerPatch = 4;  // 16 clusters at once, what a patch of 1 nm holds
constexpr int kAtOnce = kWarp / kClusterSize;

// The patches that a compute's clusters look into.
struct Shell {
  float4 shift[kMaxCodes];          // w unused
  int cluster[kMaxCodes];           // first cluster of the patch
  int first[kMaxCodes + 1];         // number of the patch's first cluster in the whole shell
};

// The i-cluster of a warp.
struct Own {
  float4 site[kClusterSize];
  int2 excluded[kClusterSize];  // lowest excluded partner, and how far above it the highest is
};

struct List {
  uint32_t* region;
  uint8_t* masks;
  int size;         // of the region
  int plain, masked;
};

__device__ void load_shell(const BuildLists& op, int compute, Shell& shell) {
  const int codes = op.grid.codes;
  for (int code = threadIdx.x; code < codes; code += blockDim.x) {
    const PlacedPatch& patch = op.patches[op.neighbours[compute * codes + code]];
    const Vec3f shift = op.grid.shifts[code];
    shell.shift[code] = {shift.x, shift.y, shift.z, 0};
    shell.cluster[code] = patch.start / kClusterSize;
    shell.first[code + 1] = (patch.atoms + kClusterSize - 1) / kClusterSize;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    shell.first[0] = 0;
    for (int code = 0; code < codes; ++code) shell.first[code + 1] += shell.first[code];
  }
  __syncthreads();
}

// Which patch of the shell holds its n-th cluster.
__device__ int code_of(const Shell& shell, int codes, int n) {
  int low = 0, high = codes - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (shell.first[middle] <= n) low = middle;
    else high = middle - 1;
  }
  return low;
}

__device__ void load_own(const BuildLists& op, int cluster, int lane, Own& own) {
  if (lane < kClusterSize) {
    const int slot = cluster * kClusterSize + lane;
    own.site[lane] = *reinterpret_cast<const float4*>(op.slots.local + slot);
    const int atom = op.slots.atom[slot];
    int2 range = {-2, 0};  // no atom has this number
    if (atom >= 0) {
      const int begin = op.constants.exclusion_start[atom];
      const int end = op.constants.exclusion_start[atom + 1];
      if (end > begin) {
        range.x = op.constants.exclusions[begin];
        range.y = op.constants.exclusions[end - 1] - range.x;
      }
    }
    own.excluded[lane] = range;
  }
  __syncwarp();
}

__device__ bool is_excluded(const Constants& constants, int i, int j) {
  int low = constants.exclusion_start[i], high = constants.exclusion_start[i + 1];
  while (low < high) {
    const int middle = (low + high) / 2;
    if (constants.exclusions[middle] < j) low = middle + 1;
    else high = middle;
  }
  return low < constants.exclusion_start[i + 1] && constants.exclusions[low] == j;
}

// Bits of the i atoms that atom j is excluded from.
__device__ unsigned exclusions_of(const BuildLists& op, const Own& own, int cluster, int j) {
  unsigned possible = 0, found = 0;
#pragma unroll
  for (int i = 0; i < kClusterSize; ++i) {
    const int2 range = own.excluded[i];
    if (static_cast<unsigned>(j - range.x) <= static_cast<unsigned>(range.y)) possible |= 1u << i;
  }
  while (possible) {
    const int i = __ffs(possible) - 1;
    possible &= possible - 1;
    const int atom = op.slots.atom[cluster * kClusterSize + i];
    if (is_excluded(op.constants, atom, j)) found |= 1u << i;
  }
  return found;
}

// Whether the j atom is within reach of any of the first `limit` i atoms.
__device__ __forceinline__ bool in_reach(const Own& own, float4 j, int limit, float reach2) {
  float least = 3.0e38f;
#pragma unroll
  for (int i = 0; i < kClusterSize; ++i) {
    const float4 site = own.site[i];
    const float dx = j.x - site.x, dy = j.y - site.y, dz = j.z - site.z;
    const float r2 = fmaf(dx, dx, fmaf(dy, dy, dz * dz));
    least = i < limit ? fminf(least, r2) : least;
  }
  return least < reach2;
}

// Append the lanes' entries: to the front those without a mask, to the back those with one.
__device__ __forceinline__ void append(List& list, int lane, bool listed, bool masked,
                                       uint32_t entry, unsigned mask) {
  const unsigned before = (1u << lane) - 1;
  const unsigned plain_lanes = __ballot_sync(kAllLanes, listed && !masked);
  const unsigned masked_lanes = __ballot_sync(kAllLanes, listed && masked);
  const int plain = __popc(plain_lanes), more = __popc(masked_lanes);
  if (list.plain + plain + 2 * (list.masked + more) <= list.size && listed) {
    const int place = masked ? list.size - 1 - list.masked - __popc(masked_lanes & before)
                             : list.plain + __popc(plain_lanes & before);
    list.region[place] = entry;
    if (masked) list.masks[place] = static_cast<uint8_t>(mask);
  }
  list.plain += plain;
  list.masked += more;
}

// Test the atoms of up to four clusters; `candidate` is (first slot | code) of the lane's cluster.
__device__ __forceinline__ void test_atoms(const BuildLists& op, const Shell& shell, const Own& own,
                                           int cluster, uint32_t candidate, bool present, int lane,
                                           List& list) {
  const int atom = lane & (kClusterSize - 1);
  const uint32_t entry = candidate + atom, slot = entry & kSlotMask;
  float4 site = *reinterpret_cast<const float4*>(op.slots.local + slot);
  const int number = op.slots.atom[slot];
  const float4 shift = shell.shift[entry >> kSlotBits];
  site.x += shift.x;
  site.y += shift.y;
  site.z += shift.z;
  const bool itself = candidate == static_cast<uint32_t>(cluster) * kClusterSize;
  const int limit = itself ? atom : kClusterSize;
  const bool listed =
      present && number >= 0 && in_reach(own, site, limit, op.reach * op.reach);
  unsigned excluded = 0;
  if (listed) excluded = exclusions_of(op, own, cluster, number);
  const unsigned counts = (1u << limit) - 1;
  append(list, lane, listed, itself || excluded, entry, counts & ~excluded);
}

// Squared gap between two boxes.
__device__ __forceinline__ float gap2(const ClusterBounds& a, const ClusterBounds& b, float4 shift) {
  const float x = fmaxf(fabsf(b.centre.x + shift.x - a.centre.x) - a.half.x - b.half.x, 0.0f);
  const float y = fmaxf(fabsf(b.centre.y + shift.y - a.centre.y) - a.half.y - b.half.y, 0.0f);
  const float z = fmaxf(fabsf(b.centre.z + shift.z - a.centre.z) - a.half.z - b.half.z, 0.0f);
  return fmaf(x, x, fmaf(y, y, z * z));
}

// Masked entries to the front; the plain entries that were there go behind the last.
__device__ void close_list(const List& list, int lane) {
  const int moved = min(list.masked, list.plain), to = max(list.masked, list.plain);
  __syncwarp();
  for (int n = lane; n < moved; n += kWarp) list.region[to + n] = list.region[n];
  __syncwarp();
  for (int n = lane; n < list.masked; n += kWarp) {
    list.region[n] = list.region[list.size - 1 - n];
    list.masks[n] = list.masks[list.size - 1 - n];
  }
}

// Go through the clusters of the shell from the own one on.
__device__ void fill_list(const BuildLists& op, const Shell& shell, const Own& own, int own_number,
                          int cluster, int lane, uint32_t* queue, List& list) {
  const ClusterBounds bounds = op.bounds[cluster];
  const int codes = op.grid.codes, clusters = shell.first[codes];
  // Distances of boxes are rounded; a little more reach never loses a pair.
  const float reach2 = op.reach * op.reach * 1.00001f;
  int waiting = 0;
  for (int base = own_number; base < clusters; base += kWarp) {
    const int n = base + lane;
    bool near = false;
    uint32_t candidate = 0;
    if (n < clusters) {
      const int code = code_of(shell, codes, n);
      const int other = shell.cluster[code] + n - shell.first[code];
      near = gap2(bounds, op.bounds[other], shell.shift[code]) < reach2;
      candidate = static_cast<uint32_t>(other) * kClusterSize |
                  static_cast<uint32_t>(code) << kSlotBits;
    }
    const unsigned lanes = __ballot_sync(kAllLanes, near);
    if (near) queue[waiting + __popc(lanes & ((1u << lane) - 1))] = candidate;
    waiting += __popc(lanes);
    __syncwarp();
    const bool last = base + kWarp >= clusters;
    int done = 0;
    for (; waiting - done >= kAtOnce || (last && done < waiting); done += kAtOnce) {
      const int mine = done + lane / kClusterSize;
      const bool present = mine < waiting;
      test_atoms(op, shell, own, cluster, queue[present ? mine : done], present, lane, list);
    }
    // What is left, fewer than four, goes to the front of the queue.
    const uint32_t left = done + lane < waiting ? queue[done + lane] : 0;
    __syncwarp();
    if (done + lane < waiting) queue[lane] = left;
    waiting = max(waiting - done, 0);
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kWarps* kWarp, 6)
    build_kernel(const __grid_constant__ BuildLists op, int region) {
  __shared__ Shell shell;
  __shared__ Own owns[kWarps];
  __shared__ uint32_t queues[kWarps][kWarp + kAtOnce];
  wait_for_previous();
  const int compute = blockIdx.x, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  load_shell(op, compute, shell);
  for (int n = blockIdx.y * kWarps + warp; n < shell.first[1]; n += kBlocksPerPatch * kWarps) {
    const int number = op.first_list[compute] + n;
    if (number >= op.list_capacity) {
      if (lane == 0) atomicMax(&op.faults->list_overflow, op.entry_capacity + region);
      break;
    }
    const int cluster = shell.cluster[0] + n, begin = number * region;
    load_own(op, cluster, lane, owns[warp]);
    List list{op.entries + begin, op.masks + begin, region, 0, 0};
    fill_list(op, shell, owns[warp], n, cluster, lane, queues[warp], list);
    const int need = list.plain + 2 * list.masked;
    if (need <= region) {
      close_list(list, lane);
    } else {
      if (lane == 0) atomicMax(&op.faults->list_overflow, need * op.list_capacity);
      list.plain = list.masked = 0;
    }
    if (lane == 0) {
      op.lists[number] = {cluster, begin, list.masked, list.plain + list.masked};
      atomicAdd(op.entry_count, list.plain + list.masked);
    }
    __syncwarp();
  }
}

constexpr int kNumberThreads = 1024;

__global__ void __launch_bounds__(kNumberThreads)
    number_kernel(const __grid_constant__ NumberLists op) {
  wait_for_previous();
  int done = 0;
  for (int base = 0; base < op.compute_count; base += kNumberThreads) {
    const int compute = base + threadIdx.x;
    const bool present = compute < op.compute_count;
    const int atoms = present ? op.patches[op.computes[compute]].atoms : 0;
    int total;
    const int before =
        done + block_sum((atoms + kClusterSize - 1) / kClusterSize, &total);
    if (present) op.first_list[compute] = before;
    if (present && compute == op.interior) op.ranges[1] = op.ranges[2] = before;
    done += total;
  }
  if (threadIdx.x == 0) {
    op.first_list[op.compute_count] = done;
    op.ranges[0] = 0;
    op.ranges[3] = done;
    if (op.interior >= op.compute_count) op.ranges[1] = op.ranges[2] = done;
  }
}

}  // namespace lists

void number_lists(const NumberLists& op, CudaContext& context) {
  launch(context, {NumberLists::kName, 1, lists::kNumberThreads, 0, Start::kEarly},
         lists::number_kernel, op);
}

void build_lists(const BuildLists& op, CudaContext& context) {
  if (op.compute_count == 0 || op.list_capacity == 0) return;
  // Whole lines of 32 entries.
  const int region = op.entry_capacity / op.list_capacity & ~31;
  cuda_check(cudaMemsetAsync(op.entry_count, 0, sizeof(int32_t), context.stream),
             "clear the count of list entries");
  launch(context,
         {BuildLists::kName, static_cast<unsigned>(op.compute_count), lists::kWarps * kWarp,
          0, Start::kAfterPrevious, lists::kBlocksPerPatch},
         lists::build_kernel, op, region);
}

void add_nonbonded_kernels(CudaKernels& table) {
  table.add<NumberLists, number_lists>();
  table.add<BuildLists, build_lists>();
  table.add<PairForces, pair_forces>();
}

}  // namespace quiltmd
