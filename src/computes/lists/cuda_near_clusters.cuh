// SPDX-License-Identifier: Apache-2.0
// What goes before the lists themselves in cuda.cu: which atoms are excluded from an i-cluster,
// the j-clusters near any of a block's i-clusters, and the table of their atoms that its warps
// share.
#pragma once

#include "computes/lists/cuda_near_atoms.cuh"
#include "computes/lists/operations.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::lists {

constexpr int kWarps = 8;  // i-clusters of a block
constexpr int kThreads = kWarps * kWarp;
constexpr int kBlocks = 4;  // on a multiprocessor; shared memory allows no more
constexpr int kAtOnce = kWarp / kClusterSize;
constexpr int kTable = 216;          // j-clusters whose atoms are in shared memory
constexpr int kNearClusters = 1024;  // j-clusters that the entries of a list can name
constexpr int kChunks = kNearClusters / kWarp;
constexpr int kPartners = 32;    // clusters with excluded partners of an i-cluster
constexpr int kMaskedRoom = 64;  // masked entries of a list in shared memory
constexpr int kBins = 256;       // of squared distances, by the bits of a float
static_assert(kPartners == kWarp && kChunks == kWarp);
constexpr int kNoCluster = -1;

// An entry in 16 bits: near cluster | atom | shell.
using ShortEntry = uint16_t;
constexpr int kAtomBits = 3, kShellBits = 3;
static_assert(kShells == 1 << kShellBits && kClusterSize == 1 << kAtomBits);
static_assert(kNearClusters << (kAtomBits + kShellBits) == 1 << 16);

// A picked cluster in 16 bits: kPlace times its place in the table, and for those that hold excluded
// atoms kMayExclude and their place among the partners, kPartners if that must be searched for.
constexpr unsigned kPlace = 1 << (kAtomBits + kShellBits);
constexpr unsigned kMayExclude = 1 << 15;
static_assert((kTable + 1) * kPlace <= kMayExclude && kPartners < kPlace);

// A patch that a compute's clusters look into; all their clusters are numbered in a row.
struct Neighbour {
  float shift[3];
  int cluster;  // first of the patch
  int begin;    // its number
};

struct BoundingBox {
  float3 centre, half;
};

// A j-cluster that is near one of the block's clusters.
struct NearCluster {
  uint32_t entry;       // first slot | code
  unsigned near_warps;  // a bit for each warp whose cluster it is near
};

// The j-clusters that the block looks at: the atoms of some, and of one more that is padding, far from all.
struct Table {
  union {
    uint4 rows[(kTable + 1) * kClusterSize];
    NearCluster found[kNearClusters];  // by chunk, until those of all chunks are counted
  };
  uint32_t near_clusters[kNearClusters];  // the entries of all
  uint8_t near_warps[kNearClusters];
  int found_count[kChunks];        // how many of each chunk
  alignas(16) BoundingBox common;  // of the block's clusters; coordinates count from its centre
  BoundingBox boxes[kWarps];       // of each
  uint8_t shell[kBins + 1];        // by bin
};
static_assert(sizeof(NearCluster) * kNearClusters <= sizeof(uint4) * kTable * kClusterSize);

// Scratch memory of a warp; the plain entries of its list follow in shared memory.
struct WarpScratch {
  int partner[kPartners];           // clusters that hold excluded atoms, by hash; or kNoCluster
  uint32_t excluded[kPartners][2];  // their atoms: a byte each, by i atom
  uint16_t picked[kTable + 2 * kAtOnce];  // kPlace times a place in the table, | kMayExclude
  uint32_t masked[kMaskedRoom];
  uint8_t masks[kMaskedRoom];
  int next[kShells];  // where the next entry of a shell goes
};

// Kinds of j atoms, of which there are two where charges have a cutoff of their own: without the pair form, and
// with it. With a single cutoff all are of the first.
enum Kind { kPlainKind, kFormKind, kKinds };

// Bins of squared distances: the upper bits of the float, counted from those of the smallest.
struct Bins {
  int shift, first;
  // For each kind: squared distances of listed atoms, and of atoms in the first shell.
  float listed[kKinds], near[kKinds];
  // The shell of the least distance in each bin, four bits for each kind; the last bin is for rounding.
  uint8_t shell[kBins + 1];
};

// A list in the making: where its entries go, how many fit, and how many there are. In shared memory
// those beyond the first shell stand at the end, the last of them first.
struct Draft {
  ShortEntry* short_entries;  // in shared memory, or
  uint32_t* plain;            // in its final place
  uint32_t* masked;
  uint8_t* masks;
  int plain_room, masked_room;
  int far_first;       // the place of the last entry beyond the first shell,
  int near_last = -1;  // and of the last one in it
  int masked_count = 0;
  int near_clusters = 0;  // clusters near the block's so far

  __device__ int near_count() const { return near_last + 1; }
  __device__ int far_count() const { return plain_room - far_first; }
  __device__ int plain_count() const { return near_count() + far_count(); }
  __device__ ShortEntry far(int n) const { return short_entries[plain_room - 1 - n]; }
  __device__ bool fits() const {
    return plain_count() <= plain_room && masked_count <= masked_room &&
           near_clusters <= kNearClusters;
  }
};

struct Search {
  const BuildLists& op;
  const Neighbour* shell;  // by code, and one more for the end
  Table& table;
  WarpScratch& scratch;
  uint32_t cluster;  // of the warp
  const Bins& bins;
  int lane;
  unsigned earlier;  // the lanes before

  __device__ const float3& origin() const { return table.common.centre; }
};

// One warp's work.
__device__ void load_shell(const BuildLists& op, int compute, Neighbour* shell, int lane) {
  const int codes = op.grid.codes;
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

// Clusters that follow each other, as partners often do, are kept apart.
__device__ __forceinline__ int partner_hash(int cluster) {
  return static_cast<unsigned>(cluster) * 0x9e3779b1u / (1u << 27);
}

// Note the excluded partners of the i atoms, four lanes to an atom, and the cluster itself. When
// there are too many clusters of them all places are taken, and partners are searched for instead.
__device__ void store_partners(const Search& s) {
  const int own = static_cast<int>(s.cluster);
  s.scratch.partner[s.lane] = s.lane == partner_hash(own) ? own : kNoCluster;
  s.scratch.excluded[s.lane][0] = s.scratch.excluded[s.lane][1] = 0;
  __syncwarp();
  constexpr int kBatch = 3;
  const int i = s.lane / kAtOnce;
  const int atom = s.op.slots.atom[s.cluster * kClusterSize + i];
  const auto note = [&](int slot) {
    if (slot < 0) return;
    const int cluster = slot / kClusterSize, place = slot % kClusterSize;
    const int hash = partner_hash(cluster);
#pragma unroll 1
    for (int n = 0; n < kPartners; ++n) {
      const int at = (hash + n) % kPartners;
      const int before = atomicCAS(&s.scratch.partner[at], kNoCluster, cluster);
      if (before != kNoCluster && before != cluster) continue;
      atomicOr(&s.scratch.excluded[at][place / 4], 1u << (place % 4 * 8 + i));
      return;
    }
  };
  if (atom >= 0) {
    const ExclusionTable& c = s.op.exclusions;
    const int end = c.start[atom + 1];
#pragma unroll 1
    for (int e = c.start[atom] + s.lane % kAtOnce; e < end; e += kBatch * kAtOnce) {
      int slot[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k)
        slot[k] = e + k * kAtOnce < end ? s.op.slot_of_atom[c.partners[e + k * kAtOnce]] : -1;
#pragma unroll
      for (int k = 0; k < kBatch; ++k) note(slot[k]);
    }
  }
  __syncwarp();
}

// Bits of the atoms of a cluster that are paired with atom `j`; rarely needed, and so kept apart.
__device__ __noinline__ unsigned search_pairs(const ExclusionTable& table, const int32_t* cluster,
                                              int j) {
  return table.bits(cluster, j);
}

// Once a list of this warp is in its place.
__device__ __noinline__ void note_long_exclusions(const BuildLists& op, int number) {
  __syncwarp();
  const PairList& list = op.lists[number];
  const int32_t* const cluster = op.slots.atom + list.cluster * kClusterSize;
#pragma unroll 1
  for (int n = list.begin + threadIdx.x % kWarp; n < list.begin + list.masked; n += kWarp)
    op.long_exclusion_masks[n] = static_cast<uint8_t>(
        search_pairs(op.long_exclusions, cluster, op.slots.atom[op.entries[n] & kSlotMask]));
}

// Marks of a picked cluster: none if no atom of it is excluded, nor is it the warp's own.
__device__ __forceinline__ unsigned possible_exclusions(const Search& s, int cluster) {
  const int hash = partner_hash(cluster);
#pragma unroll 1
  for (int n = 0; n < kPartners; ++n) {
    const int at = (hash + n) % kPartners, partner = s.scratch.partner[at];
    if (partner == cluster) return kMayExclude | at;
    if (partner == kNoCluster) return 0;
  }
  return kMayExclude | kPartners;
}

// Bits of the i atoms that the atom of a slot is excluded from, given the marks of its cluster.
__device__ __forceinline__ unsigned exclusions_of(const Search& s, unsigned marks, uint32_t slot) {
  if (marks < kMayExclude) return 0;
  const unsigned at = marks % kPlace, place = slot % kClusterSize;
  if (at == kPartners)
    return search_pairs(s.op.exclusions, s.op.slots.atom + s.cluster * kClusterSize,
                        s.op.slots.atom[slot]);
  return s.scratch.excluded[at][place / 4] >> place % 4 * 8 & 0xffu;
}

// ---- the block's table ---------------------------------------------------------------------

__device__ __forceinline__ float least(float v) {
  for (int bit = kWarps / 2; bit > 0; bit /= 2) v = fminf(v, __shfl_xor_sync(kAllLanes, v, bit));
  return v;
}

// First cluster of a block, and the number of clusters of its patch.
struct BlockClusters {
  int cluster, count;
};

// One warp notes the boxes of the block's clusters and the one around them all, from whose centre
// coordinates count.
__device__ void store_boxes(const BuildLists& op, BlockClusters clusters, Table& table, int lane) {
  const ClusterBounds b = op.bounds[clusters.cluster + min(lane % kWarps, clusters.count - 1)];
  const float3 low{least(b.centre.x - b.half.x), least(b.centre.y - b.half.y),
                   least(b.centre.z - b.half.z)};
  const float3 high{-least(-b.centre.x - b.half.x), -least(-b.centre.y - b.half.y),
                    -least(-b.centre.z - b.half.z)};
  const float3 centre{0.5f * (low.x + high.x), 0.5f * (low.y + high.y), 0.5f * (low.z + high.z)};
  if (lane < kWarps)
    table.boxes[lane] = {{b.centre.x - centre.x, b.centre.y - centre.y, b.centre.z - centre.z},
                         {b.half.x, b.half.y, b.half.z}};
  if (lane == 0)
    table.common = {centre,
                    {0.5f * (high.x - low.x), 0.5f * (high.y - low.y), 0.5f * (high.z - low.z)}};
}

// Squared gap between two boxes, at most.
__device__ __forceinline__ float gap2(const BoundingBox& a, const BoundingBox& b) {
  const float x = fmaxf(fabsf(b.centre.x - a.centre.x) - (a.half.x + b.half.x), 0.0f);
  const float y = fmaxf(fabsf(b.centre.y - a.centre.y) - (a.half.y + b.half.y), 0.0f);
  const float z = fmaxf(fabsf(b.centre.z - a.centre.z) - (a.half.z + b.half.z), 0.0f);
  return fmaf(x, x, fmaf(y, y, z * z));
}

// Cluster `number` of those that the block may have to look at.
struct Candidate {
  ClusterBounds bounds;
  uint32_t entry;
  bool present;
};
__device__ __forceinline__ Candidate load_candidate(const Search& s, int number) {
  const Neighbour* const shell = s.shell;
  const int codes = s.op.grid.codes;
  Candidate c{};
  c.present = number < shell[codes].begin;
  if (!c.present) return c;
  int code = 0;
#pragma unroll 1
  for (int step = codes <= 16 ? 8 : kMaxCodes / 2; step > 0; step /= 2) {
    if (code + step < codes && shell[code + step].begin <= number) code += step;
  }
  const int cluster = shell[code].cluster + number - shell[code].begin;
  c.bounds = s.op.bounds[cluster];
  c.entry = static_cast<uint32_t>(cluster) * kClusterSize | static_cast<uint32_t>(code)
                                                                << kSlotBits;
  return c;
}

// The warps that a candidate is near to, from their own cluster on: entry `first` for the block's
// first.
__device__ __forceinline__ unsigned find_near_warps(const Search& s, const Candidate& c,
                                                    uint32_t first, float reach2) {
  const float* shift = s.shell[c.entry >> kSlotBits].shift;
  const float3 origin = s.origin();
  const BoundingBox box{
      {c.bounds.centre.x + (shift[0] - origin.x), c.bounds.centre.y + (shift[1] - origin.y),
       c.bounds.centre.z + (shift[2] - origin.z)},
      {c.bounds.half.x, c.bounds.half.y, c.bounds.half.z}};
  const bool near = c.present && gap2({{0, 0, 0}, s.table.common.half}, box) < reach2;
  unsigned near_warps = 0;
  if (!__any_sync(kAllLanes, near)) return near_warps;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const bool near_warp =
        c.entry >= first + w * kClusterSize && gap2(s.table.boxes[w], box) < reach2;
    near_warps |= near_warp ? 1u << w : 0;
  }
  return near ? near_warps : 0;
}

// Find those of the next kNearClusters candidates, from number `base` on, that the block has to look at;
// returns how many. Each warp takes chunks of them in turn, so the clusters stay in order.
__device__ __forceinline__ int find_near_clusters(const Search& s, int base, uint32_t first,
                                                  int before, float reach2) {
  Table& t = s.table;
  const int warp = threadIdx.x / kWarp, end = s.shell[s.op.grid.codes].begin;
  const int chunks = min(kChunks, (end - base + kWarp - 1) / kWarp);
  Candidate c = load_candidate(s, base + warp * kWarp + s.lane);
#pragma unroll 1
  for (int chunk = warp; chunk < chunks; chunk += kWarps) {
    const unsigned near_warps = find_near_warps(s, c, first, reach2);
    const unsigned lanes = __ballot_sync(kAllLanes, near_warps != 0);
    if (near_warps) t.found[chunk * kWarp + __popc(lanes & s.earlier)] = {c.entry, near_warps};
    if (s.lane == 0) t.found_count[chunk] = __popc(lanes);
    c = load_candidate(s, base + (chunk + kWarps) * kWarp + s.lane);
  }
  __syncthreads();
  const int own = s.lane < chunks ? t.found_count[s.lane] : 0;
  int sum = own;
  for (int step = 1; step < kWarp; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, step);
    if (s.lane >= step) sum += other;
  }
#pragma unroll 1
  for (int chunk = warp; chunk < chunks; chunk += kWarps) {
    const int count = __shfl_sync(kAllLanes, own, chunk);
    const unsigned at = before + __shfl_sync(kAllLanes, sum, chunk) - count + s.lane;
    if (s.lane >= count) continue;
    const NearCluster near = t.found[chunk * kWarp + s.lane];
    t.near_clusters[at % kNearClusters] = near.entry;
    t.near_warps[at % kNearClusters] = static_cast<uint8_t>(near.near_warps);
  }
  __syncthreads();
  return __shfl_sync(kAllLanes, sum, kWarp - 1);
}

__device__ __forceinline__ uint32_t near_cluster(const Search& s, unsigned number) {
  return s.table.near_clusters[number % kNearClusters];
}

// A row with the kind of its atom in a bit that matrix units do not read.
__device__ __forceinline__ uint4 with_kind(uint4 row, Kind kind) {
  return {row.x, row.y, row.z, (row.w & ~1u) | kind};
}

// Bring the atoms of the table's clusters, several on their way at once.
template <bool kTwoCutoffs>
__device__ __forceinline__ void enter_atoms(const Search& s, int before, int count) {
  constexpr int kBatch = 3;
  const int end = count * kClusterSize;
  const float3 origin = s.origin();
#pragma unroll 1
  for (int base = threadIdx.x; base < end; base += kBatch * kThreads) {
    Float4 site[kBatch];
    uint32_t code[kBatch];
    Kind kind[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const unsigned n = min(base + k * kThreads, end - 1);
      const uint32_t entry = near_cluster(s, before + n / kClusterSize) + n % kClusterSize;
      code[k] = entry >> kSlotBits;
      site[k] = s.op.slots.local[entry & kSlotMask];
      if constexpr (kTwoCutoffs)
        kind[k] = s.op.slots.pair_numbers[entry & kSlotMask].y != 0 ? kFormKind : kPlainKind;
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const float* shift = s.shell[code[k]].shift;
      uint4 row = site[k].x < 0.5f * kFarAway ? matrix_row(site[k].x + (shift[0] - origin.x),
                                                           site[k].y + (shift[1] - origin.y),
                                                           site[k].z + (shift[2] - origin.z))
                                              : padding_row();
      if constexpr (kTwoCutoffs) row = with_kind(row, kind[k]);
      if (base + k * kThreads < end) s.table.rows[base + k * kThreads] = row;
    }
  }
}

}  // namespace quiltmd::lists
