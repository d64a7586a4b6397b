// SPDX-License-Identifier: Apache-2.0
// What goes before the lists themselves in cuda_lists.cu: which atoms are excluded from an i-cluster,
// and the table of j-clusters and their atoms that a block shares. Clusters that are far from all
// i-clusters of the block do not enter it.
#pragma once

#include "computes/nonbonded/cuda_near.cuh"
#include "computes/nonbonded/operations.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::lists {

constexpr int kWarps = 8;  // i-clusters of a block
constexpr int kThreads = kWarps * kWarp;
constexpr int kBlocks = 4;  // on a multiprocessor; shared memory allows no more
constexpr int kAtOnce = kWarp / kClusterSize;
constexpr int kTable = 192;  // j-clusters in shared memory, fewer than threads: some are not near
constexpr int kVisitors = 1024;  // j-clusters that the entries of a list can name
constexpr int kPartners = 32;    // clusters with excluded partners of an i-cluster
constexpr int kMaskedRoom = 64;  // masked entries of a list in shared memory
constexpr int kBins = 256;       // of squared distances, by the bits of a float
static_assert(kPartners == kWarp);
constexpr int kNobody = -1;
constexpr unsigned kSuspect = 1;  // marks clusters that may hold excluded atoms
constexpr unsigned kPlace = 4;    // unit of places in the table that bear this mark

// An entry in 16 bits: visitor | atom | shell.
using Brief = uint16_t;
constexpr int kAtomBits = 3, kShellBits = 3;
static_assert(kShells == 1 << kShellBits && kClusterSize == 1 << kAtomBits);
static_assert(kVisitors << (kAtomBits + kShellBits) == 1 << 16);

// A patch that a compute's clusters look into; all their clusters are numbered in a row.
struct Neighbour {
  float shift[3];
  int cluster;  // first of the patch
  int begin;    // its number
};

struct Box {
  float3 centre, half;
};

// The j-clusters that the block looks at, and one more that is nowhere.
struct Table {
  uint4 rows[(kTable + 1) * kClusterSize];
  float centre[3][kTable], half[3][kTable];
  uint32_t visitors[kVisitors];  // first slot | code; also of tables before this one
  int next;                      // number of the first cluster that is still to come
  Box common;                    // of the block's clusters; coordinates count from its centre
  uint8_t shell[kBins + 1];      // by bin
};

// What a warp works with; the plain entries of its list follow in shared memory.
struct Desk {
  int partner[kPartners];                 // clusters that hold excluded atoms, by hash; or kNobody
  uint32_t excluded[kPartners][2];        // their atoms: a byte each, by i atom
  uint16_t picked[kTable + 2 * kAtOnce];  // kPlace times a place in the table, | kSuspect
  uint32_t masked[kMaskedRoom];
  uint8_t masks[kMaskedRoom];
  int next[kShells];  // where the next entry of a shell goes
  Box box;            // of the cluster
};

// How squared distances fall into bins: the upper bits of the float, counted from those of the least.
struct Bins {
  int shift, first;
  uint8_t shell[kBins + 1];  // of the least distance in the bin; the last is for rounding
};

// A list in the making: where its entries go, how many fit, and how many there are.
struct Draft {
  Brief* brief;     // in shared memory, or
  uint32_t* plain;  // in its final place
  uint32_t* masked;
  uint8_t* masks;
  int plain_room, masked_room;
  int plain_count, masked_count;
  int visitors;  // clusters in this and former tables

  __device__ bool fits() const {
    return plain_count <= plain_room && masked_count <= masked_room && visitors <= kVisitors;
  }
};

struct Search {
  const BuildLists& op;
  const Neighbour* shell;  // by code, and one more for the end
  Table& table;
  Desk& desk;
  uint32_t cluster;  // of the warp
  const Bins& bins;
  int lane;
  unsigned earlier;  // the lanes before

  __device__ const float3& origin() const { return table.common.centre; }
};

__device__ __forceinline__ int clusters_of(const PlacedPatch& patch) {
  return (patch.atoms + kClusterSize - 1) / kClusterSize;
}

__device__ void load_shell(const BuildLists& op, int compute, Neighbour* shell) {
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
      shell[code] = {{shift.x, shift.y, shift.z}, patch.start / kClusterSize, 0};
      count = clusters_of(patch);
    }
    int inclusive = count;
    for (int step = 1; step < kWarp; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, inclusive, step);
      if (lane >= step) inclusive += other;
    }
    if (code < codes) shell[code].begin = before + inclusive - count;
    before += __shfl_sync(kAllLanes, inclusive, kWarp - 1);
  }
  if (lane == 0) shell[codes].begin = before;
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
  for (unsigned n = 0; n < kPartners; ++n) {
    const int at = (cluster + n) % kPartners, partner = s.desk.partner[at];
    if (partner == cluster) return s.desk.excluded[at][place / 4] >> place % 4 * 8 & 0xffu;
    if (partner == kNobody) return 0;
  }
  return search_exclusions(s.op, s.cluster, s.op.slots.atom[slot]);
}

// ---- the block's table ---------------------------------------------------------------------

__device__ __forceinline__ float least(float v) {
  for (int bit = kWarps / 2; bit > 0; bit /= 2) v = fminf(v, __shfl_xor_sync(kAllLanes, v, bit));
  return v;
}

// The box of the block's clusters, first <= number < first + kWarps of the patch.
__device__ Box common_box(const BuildLists& op, int own_first, int clusters, int first, int lane) {
  const ClusterBounds b = op.bounds[own_first + min(first + lane % kWarps, clusters - 1)];
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

// The cluster that this thread brings to the table next, on its way from memory.
struct Visitor {
  ClusterBounds bounds;
  uint32_t entry;
  bool present;
};
__device__ __forceinline__ Visitor invite(const Search& s, int base) {
  const Neighbour* const shell = s.shell;
  const int codes = s.op.grid.codes, number = base + static_cast<int>(threadIdx.x);
  Visitor v{};
  v.present = number < shell[codes].begin;
  if (!v.present) return v;
  int code = 0;
#pragma unroll 1
  for (int step = codes <= 16 ? 8 : kMaxCodes / 2; step > 0; step /= 2) {
    if (code + step < codes && shell[code + step].begin <= number) code += step;
  }
  const int cluster = shell[code].cluster + number - shell[code].begin;
  v.bounds = s.op.bounds[cluster];
  v.entry = static_cast<uint32_t>(cluster) * kClusterSize | static_cast<uint32_t>(code)
                                                                << kSlotBits;
  return v;
}

// Enter the visitors that are near the block's box, after `before` earlier ones, as many as the table
// holds; returns how many. The others must be invited again.
__device__ __forceinline__ int enter_clusters(const Search& s, const Visitor& v, int base,
                                              int before, float reach2) {
  Table& t = s.table;
  const ClusterBounds& b = v.bounds;
  const float* shift = s.shell[v.entry >> kSlotBits].shift;
  const float3 origin = s.origin();
  const Box other{{b.centre.x + (shift[0] - origin.x), b.centre.y + (shift[1] - origin.y),
                   b.centre.z + (shift[2] - origin.z)},
                  {b.half.x, b.half.y, b.half.z}};
  const bool near = v.present && gap2({{0, 0, 0}, t.common.half}, other) < reach2;
  if (threadIdx.x == 0) t.next = base + kThreads;
  int count;
  const int place = block_rank(near, s.lane, &count);
  if (near && place < kTable) {
    t.visitors[static_cast<unsigned>(before + place) % kVisitors] = v.entry;
    t.centre[0][place] = other.centre.x, t.half[0][place] = other.half.x;
    t.centre[1][place] = other.centre.y, t.half[1][place] = other.half.y;
    t.centre[2][place] = other.centre.z, t.half[2][place] = other.half.z;
  }
  if (near && place == kTable) t.next = base + static_cast<int>(threadIdx.x);
  __syncthreads();
  return min(count, kTable);
}

__device__ __forceinline__ uint32_t visitor_at(const Search& s, unsigned number) {
  return s.table.visitors[number % kVisitors];
}

// Bring the atoms of the table's clusters, several on their way at once.
__device__ __forceinline__ void enter_atoms(const Search& s, int before, int count) {
  constexpr int kBatch = 3;
  const int end = count * kClusterSize;
  const float3 origin = s.origin();
#pragma unroll 1
  for (int base = threadIdx.x; base < end; base += kBatch * kThreads) {
    Float4 site[kBatch];
    uint32_t code[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const unsigned n = min(base + k * kThreads, end - 1);
      const uint32_t entry = visitor_at(s, before + n / kClusterSize) + n % kClusterSize;
      code[k] = entry >> kSlotBits;
      site[k] = s.op.slots.local[entry & kSlotMask];
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const float* shift = s.shell[code[k]].shift;
      const uint4 row = site[k].x < 0.5f * kFarAway ? matrix_row(site[k].x + (shift[0] - origin.x),
                                                                 site[k].y + (shift[1] - origin.y),
                                                                 site[k].z + (shift[2] - origin.z))
                                                    : nowhere_row();
      if (base + k * kThreads < end) s.table.rows[base + k * kThreads] = row;
    }
  }
}

}  // namespace quiltmd::lists
