// SPDX-License-Identifier: Apache-2.0
// All pairs of the roster by tiles, each pair once. A group is 32 atoms, four clusters of the roster; a
// row is two groups, of which a lane of a warp holds one atom each. A warp takes one group after another
// through its row: each lane begins with the atom of its own number and goes on to the next one in each
// turn, so that after 32 turns all have met, and what the atoms of the group get is passed from lane to
// lane beside them. A row meets the groups behind it; its own two it meets atom by atom, each pair from
// both sides.
//
// The tiles of all rows in their order are dealt out to warps in equal runs. Sums over a tile are
// floating-point numbers of a set and an order that the roster alone decides, which all ranks know alike;
// sums over tiles are integers. With several ranks each does the tiles in which it has atoms.
//
// A pass says what it needs of its own atoms (load), of others (Other, bring), which formula serves a
// tile (choose), what a pair adds (pair), what goes to others (Back) and where sums go (end_tile,
// end_row). Where kEndsAtoms, all of an atom's sums are complete when end_atom is called for it.
#pragma once

#include <climits>

#include "computes/all_pairs/operations.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::all_pairs {

constexpr int kGroup = kWarp;  // atoms
constexpr int kOwn = 2;        // groups of a row
constexpr int kWarps = 4;      // of a block
constexpr int kThreads = kWarps * kWarp;

// An atom of the roster. Behind its end there are none.
struct Placed {
  int place, slot;
  bool exists;
  bool counts;  // it is an atom of this rank
  Int3 cell;
  float x, y, z;  // from the centre of its patch; `nowhere` if it does not exist

  __device__ __forceinline__ Placed(const AllPairs& p, int at, float nowhere) : place(at) {
    const int cluster = place / kClusterSize;
    const RosterEntry entry = p.roster[min(cluster, *p.roster_count - 1)];
    slot = entry.cluster * kClusterSize + place % kClusterSize;
    cell = entry.cell;
    exists = cluster < *p.roster_count && p.slots.atom[slot] >= 0;
    counts = exists && slot < min(*p.owned_slots, p.slot_capacity);
    const float4 site = *reinterpret_cast<const float4*>(p.slots.local + slot);
    x = exists ? site.x : nowhere;
    y = exists ? site.y : nowhere;
    z = exists ? site.z : nowhere;
  }
};

// Widths of patches as two floats each, for the sum of products is as exact as a coordinate.
struct PatchWidths {
  float high[3], low[3];
  __device__ __forceinline__ explicit PatchWidths(const AllPairs& p) {
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      high[d] = static_cast<float>(p.patch_width[d]);
      low[d] = static_cast<float>(p.patch_width[d] - static_cast<double>(high[d]));
    }
  }
  // A coordinate as seen from a patch that is so many patches away.
  __device__ __forceinline__ float from(int d, int apart, float x) const {
    const auto back = static_cast<float>(-apart);
    return fmaf(back, low[d], fmaf(back, high[d], x));
  }
};

struct Point {
  float x, y, z;
};

// An atom as seen from the patch `cell`.
__device__ __forceinline__ Point seen_from(const AllPairs& p, const PatchWidths& widths, Int3 cell,
                                           const Placed& atom) {
  return {widths.from(0, p.apart(atom.cell, cell, 0), atom.x),
          widths.from(1, p.apart(atom.cell, cell, 1), atom.y),
          widths.from(2, p.apart(atom.cell, cell, 2), atom.z)};
}

// Integers that are ordered as floats are, and back.
__device__ __forceinline__ int ordered(float x) {
  const int bits = __float_as_int(x);
  return bits ^ (bits >> 31 & INT_MAX);
}
__device__ __forceinline__ float from_ordered(int bits) {
  return __int_as_float(bits ^ (bits >> 31 & INT_MAX));
}

// The box around the atoms of a group.
class GroupBox {
 public:
  // By the whole warp. The first atom of a group exists.
  __device__ __forceinline__ GroupBox(const Point& at, bool exists) {
    const float along[3] = {at.x, at.y, at.z};
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const float first = __shfl_sync(kAllLanes, along[d], 0);
      const int value = ordered(exists ? along[d] : first);
      const float low = from_ordered(__reduce_min_sync(kAllLanes, value)),
                  high = from_ordered(__reduce_max_sync(kAllLanes, value));
      centre_[d] = 0.5f * (low + high);
      half_[d] = high - centre_[d];
    }
  }
  __device__ __forceinline__ float distance2(const Point& from) const {
    const float along[3] = {from.x, from.y, from.z};
    float r2 = 0;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const float outside = fmaxf(fabsf(along[d] - centre_[d]) - half_[d], 0.0f);
      r2 = fmaf(outside, outside, r2);
    }
    return r2;
  }

  // Whether anything of it may be within a distance, squared, of these atoms of any lane.
  __device__ __forceinline__ bool is_near(float reach2, const Point (&from)[kOwn]) const {
    bool near = false;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) near = near || distance2(from[n]) < reach2;
    return __any_sync(kAllLanes, near);
  }

 private:
  float centre_[3], half_[3];
};

// Where the excluded atoms of an atom are, from one group to the next.
class Partners {
 public:
  Partners() = default;
  __device__ __forceinline__ Partners(const AllPairs& p, const Placed& own) {
    if (!own.exists) return;
    const int32_t atom = p.slots.atom[own.slot];
    at_ = p.partner_start[atom];
    end_ = p.partner_start[atom + 1];
    load(p);
  }
  // Bits of those in a group that begins at this place.
  __device__ __forceinline__ unsigned among(const AllPairs& p, int first) {
    unsigned bits = 0;
    while (next_ < first + kGroup) {
      if (next_ >= first) bits |= 1u << (next_ - first);
      ++at_;
      load(p);
    }
    return bits;
  }

 private:
  __device__ __forceinline__ void load(const AllPairs& p) {
    next_ = at_ < end_ ? p.partners[at_] : INT_MAX;
  }
  int at_ = 0, end_ = 0, next_ = INT_MAX;
};

// The tiles of all rows: those of row r are r and the groups behind it, kOwn * r to the last.
struct Triangle {
  int groups;

  QMD_HD long long before(int row) const {
    return static_cast<long long>(row) * groups -
           static_cast<long long>(row) * (row - 1) / 2 * kOwn;
  }
  QMD_HD long long tiles() const { return before((groups + kOwn - 1) / kOwn); }
  __device__ __forceinline__ int row_of(long long tile) const {
    constexpr float kHalf = 0.5f * kOwn;
    const float b = static_cast<float>(groups) + kHalf,
                root = sqrtf(fmaxf(b * b - 2 * kOwn * static_cast<float>(tile), 0.0f));
    int row = max(static_cast<int>((b - root) / kOwn), 0);
    while (before(row) > tile) --row;
    while (before(row + 1) <= tile) ++row;
    return row;
  }
  // How many tiles a group is in.
  __device__ __forceinline__ int tiles_of(int group) const {
    const int row = group / kOwn;
    return row + groups - kOwn * row;
  }
};

// What is special about a tile, by own atom: the turn in which it meets itself or an excluded atom.
struct Turns {
  unsigned itself[kOwn], excluded[kOwn];
  __device__ __forceinline__ bool itself_in(int n, int turn) const {
    return itself[n] >> turn & 1u;
  }
  __device__ __forceinline__ bool excluded_in(int n, int turn) const {
    return excluded[n] >> turn & 1u;
  }
};

// The turns of a tile by one formula. `ring`: the group twice over, from the atom of this lane on.
template <class Formula, class Pass>
__device__ __forceinline__ void take_turns(Formula formula, Pass& pass,
                                           const typename Pass::Other* ring, const Turns& turns,
                                           typename Pass::Back& back) {
#pragma unroll Formula::kUnroll
  for (int turn = 0; turn < kGroup; ++turn) {
    const typename Pass::Other other = ring[turn];
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      pass.pair(formula, n, other, turns.itself_in(n, turn), turns.excluded_in(n, turn), back);
    back.pass_on();
  }
}

__device__ __forceinline__ float from_next_lane(float value) {
  return __shfl_sync(kAllLanes, value, (threadIdx.x + 1) % kWarp);
}

// What a warp does of one row without a break: some tiles, of which those that gave something to atoms of
// this rank in the other group are marked.
constexpr int kLongestRun = kWarp - kOwn;  // a lane for each tile and each own group
struct Run {
  int row, begin, tiles;
  unsigned given;
};

// Once all that a run gave is visible, its tiles are counted for their groups. Who does the last tile of a
// group ends its atoms. Groups without atoms of this rank are not counted, for it leaves out tiles.
template <class Pass>
__device__ __forceinline__ void end_groups(const AllPairs& p, const Triangle& triangle,
                                           const Run& run, const Placed (&own)[kOwn], Pass& pass) {
  const int lane = threadIdx.x % kWarp, which = lane - kLongestRun;  // of the own groups
  bool counts = run.given >> lane & 1u;
#pragma unroll
  for (int n = 0; n < kOwn; ++n)
    counts = __any_sync(kAllLanes, own[n].counts) && which == n || counts;
  const int group = which < 0 ? run.begin + lane : run.row * kOwn + which;
  const int tiles = which < 0 ? 1 : run.tiles;
  __threadfence();
  __syncwarp();
  const bool is_last =
      counts && atomicAdd(pass.visits() + group, tiles) + tiles == triangle.tiles_of(group);
  unsigned last = __ballot_sync(kAllLanes, is_last);
  if (!last) return;
  __threadfence();
  if (is_last) pass.visits()[group] = 0;
  for (; last; last &= last - 1) {
    const int done = __shfl_sync(kAllLanes, group, __ffs(last) - 1);
    pass.end_atom(Placed(p, done * kGroup + lane, kFarAway));
  }
}

template <class Pass>
__device__ __forceinline__ void meet_all(const AllPairs& p, Pass& pass) {
  using Other = typename Pass::Other;
  __shared__ Other rings[kWarps][2 * kGroup];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  Other* const ring = rings[warp] + lane;
  const Triangle triangle{(*p.roster_count * kClusterSize + kGroup - 1) / kGroup};
  const long long tiles = triangle.tiles(), warps = gridDim.x * kWarps;
  const long long share = (tiles + warps - 1) / warps, mine = (blockIdx.x * kWarps + warp) * share;
  const long long end = min(mine + share, tiles);
  const PatchWidths widths(p);
#pragma unroll 1
  for (long long tile = mine; tile < end;) {
    const int row = triangle.row_of(tile), first = row * kOwn;
    const int begin = first + static_cast<int>(tile - triangle.before(row));
    const int most = static_cast<int>(min(end - tile, static_cast<long long>(kLongestRun)));
    const int stop = min(triangle.groups, begin + most);
    Run run{row, begin, stop - begin, 0};
    const Placed own[kOwn] = {Placed(p, first * kGroup + lane, -kFarAway),
                              Placed(p, (first + 1) * kGroup + lane, -kFarAway)};
    const bool row_counts = __any_sync(kAllLanes, own[0].counts || own[1].counts);
    pass.load(own);
#pragma unroll 1
    for (int group = begin; group < stop; ++group) {
      const Placed other(p, group * kGroup + lane, kFarAway);
      const bool both = group >= first + kOwn;
      const bool gives = __any_sync(kAllLanes, both && other.counts);
      if (!row_counts && !gives) continue;
      if (gives) run.given |= 1u << (group - begin);
      const Int3 cell = {__shfl_sync(kAllLanes, other.cell.x, 0),
                         __shfl_sync(kAllLanes, other.cell.y, 0),
                         __shfl_sync(kAllLanes, other.cell.z, 0)};
      const Point at = seen_from(p, widths, cell, other);
      Turns turns;
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        pass.at[n] = seen_from(p, widths, cell, own[n]);
        const unsigned excluded = pass.excluded(n, group * kGroup);
        turns.excluded[n] = __funnelshift_r(excluded, excluded, lane);
        turns.itself[n] = group == first + n ? 1u : 0u;
      }
      const GroupBox box(at, other.exists);
      if (Pass::kCutoff && !box.is_near(p.cutoff2, pass.at)) continue;
      const Other brought = pass.bring(other, at);
      __syncwarp();
      ring[0] = ring[kGroup] = brought;
      __syncwarp();
      typename Pass::Back back{};
      pass.choose(box, brought, other.exists, turns,
                  [&](auto formula) { take_turns(formula, pass, ring, turns, back); });
      pass.end_tile(both);
      if (both && other.counts) back.give(pass, other.slot);
    }
    pass.end_row(own);
    if constexpr (Pass::kEndsAtoms) end_groups(p, triangle, run, own, pass);
    tile += run.tiles;
  }
}

}  // namespace quiltmd::all_pairs
