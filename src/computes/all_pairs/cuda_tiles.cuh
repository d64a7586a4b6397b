// SPDX-License-Identifier: Apache-2.0
// All pairs of the roster by tiles, each pair once. A group is 32 atoms, four clusters of the roster; a
// row is one group or two (kOwn), of which a lane of a warp holds one atom each. A warp takes one group
// after another through its row: each lane begins with the atom of its own number and goes on to the next
// one in each turn, so that after 32 turns all have met, and what the atoms of the group get is passed from
// lane to lane beside them. A row meets the groups behind it; its own it meets atom by atom, each pair from
// both sides. Rows of two groups take fewer instructions for a pair; rows of one make twice as many tiles,
// for systems in which a warp has no second one.
//
// The tiles of all rows in their order are dealt out to warps in equal runs. Sums over a tile are
// floating-point numbers of a set and an order that the roster alone decides, which all ranks know alike;
// sums over tiles are integers. With several ranks each does the tiles in which it has atoms.
//
// A pass says what it needs of its own atoms (load), of others (Other, bring), which formula serves a
// tile (choose), what a pair adds (pair), what goes to others (Back) and where sums go (end_tile,
// end_row). Where kEndsAtoms, all of an atom's sums are complete when end_atom is called for it. Where
// kStartsBefore, the places of atoms are final before the previous kernel begins, so they are read while
// that one ends.
#pragma once

#include <utility>

#include "computes/all_pairs/operations.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::all_pairs {

constexpr int kGroup = kWarp;  // atoms
constexpr int kWarps = 4;      // of a block
constexpr int kThreads = kWarps * kWarp;

// An atom of the roster. Behind its end there are none.
struct Placed {
  int place, slot;
  bool exists;
  bool counts;  // it is an atom of this rank
  Int3 cell;
  float x, y, z;  // from the centre of its patch; `nowhere` if it does not exist
  float charge;

  __device__ __forceinline__ Placed(const AllPairs& p, int at, float nowhere) : place(at) {
    const int4 atom = *reinterpret_cast<const int4*>(p.roster_atoms + place);
    slot = atom.x;
    cell = {atom.y, atom.z, atom.w};
    exists = slot >= 0;
    counts = exists && slot < min(*p.owned_slots, p.slot_capacity);
    const float4 site = exists ? *reinterpret_cast<const float4*>(p.slots.local + slot)
                               : make_float4(nowhere, nowhere, nowhere, 0);
    x = site.x;
    y = site.y;
    z = site.z;
    charge = site.w;
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
  // A coordinate as seen from a patch that is `apart` patches away.
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
  // Called by the whole warp. The first atom of a group exists.
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
  template <int kOwn>
  __device__ __forceinline__ bool is_near(float reach2, const Point (&from)[kOwn]) const {
    bool near = false;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) near = near || distance2(from[n]) < reach2;
    return __any_sync(kAllLanes, near);
  }

 private:
  float centre_[3], half_[3];
};

// Places of the excluded atoms of an atom.
class Partners {
 public:
  Partners() = default;
  __device__ __forceinline__ Partners(const AllPairs& p, const Placed& own)
      : range_(*reinterpret_cast<const int4*>(p.partner_ranges + own.place)) {
    if (!own.exists) range_.w = -1;
  }
  // Bits of those in a group that begins at this place.
  __device__ __forceinline__ unsigned among(const AllPairs& p, int first) const {
    if (range_.z >= first + kGroup || range_.w < first) return 0;
    unsigned bits = 0;
#pragma unroll 4
    for (int k = range_.x; k < range_.y; ++k) {
      const int way = p.partners[k] - first;
      if (0 <= way && way < kGroup) bits |= 1u << way;
    }
    return bits;
  }

 private:
  int4 range_{};  // as PartnerRange
};

// The tiles of all rows: those of row r are r and the groups behind it, kOwn * r to the last.
template <int kOwn>
struct Triangle {
  int groups;

  QMD_HD int before(int row) const { return row * groups - row * (row - 1) / 2 * kOwn; }
  QMD_HD int tiles() const { return before((groups + kOwn - 1) / kOwn); }
  __device__ __forceinline__ int row_of(int tile) const {
    constexpr float kHalf = 0.5f * kOwn;
    const float b = static_cast<float>(groups) + kHalf,
                root = sqrtf(fmaxf(b * b - 2 * kOwn * static_cast<float>(tile), 0.0f));
    int row = max(static_cast<int>((b - root) / kOwn), 0);
    while (before(row) > tile) --row;
    while (before(row + 1) <= tile) ++row;
    return row;
  }
  // Number of tiles that contain a group.
  __device__ __forceinline__ int tiles_of(int group) const {
    const int row = group / kOwn;
    return row + groups - kOwn * row;
  }
};

// Special turns of a tile, by own atom: the turn in which the atom meets itself or an excluded atom.
template <int kOwn>
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
                                           const typename Pass::Other* ring,
                                           const Turns<Pass::kOwn>& turns,
                                           typename Pass::Back& back) {
#pragma unroll Formula::kUnroll
  for (int turn = 0; turn < kGroup; ++turn) {
    const typename Pass::Other other = ring[turn];
#pragma unroll
    for (int n = 0; n < Pass::kOwn; ++n)
      pass.pair(formula, n, other, turns.itself_in(n, turn), turns.excluded_in(n, turn), back);
    back.pass_on();
  }
}

__device__ __forceinline__ float from_next_lane(float value) {
  return __shfl_sync(kAllLanes, value, (threadIdx.x + 1) % kWarp);
}

// Uninterrupted work of a warp on one row: some tiles; tiles that added something to atoms of this rank in
// the other group are marked.
template <int kOwn>
constexpr int kLongestRun = kWarp - kOwn;  // a lane for each tile and each own group
struct Run {
  int row, begin, tiles;
  unsigned given;
};

// Once all that a run gave is visible, its tiles are counted for their groups. Who does the last tile of a
// group ends its atoms. Groups without atoms of this rank are not counted, for it leaves out tiles.
template <int kOwn, class Pass>
__device__ __forceinline__ void end_groups(const AllPairs& p, const Triangle<kOwn>& triangle,
                                           const Run& run, const Placed (&own)[kOwn], Pass& pass) {
  const int lane = threadIdx.x % kWarp, which = lane - kLongestRun<kOwn>;  // of the own groups
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

// The atoms of a row.
template <int kOwn>
struct Row {
  Placed atoms[kOwn];
};
template <int... kNumbers>
__device__ __forceinline__ Row<sizeof...(kNumbers)> row_at(
    const AllPairs& p, int place, std::integer_sequence<int, kNumbers...>) {
  return {{Placed(p, place + kNumbers * kGroup, -kFarAway)...}};
}

// Runs of one warp after another lie side by side in long rows. In few tiles those near each other, which
// take longest, would come to one multiprocessor, so runs are dealt out to blocks in turn.
template <class Pass>
__device__ __forceinline__ int number_of_run() {
  const int warp = threadIdx.x / kWarp;
  return Pass::kOwn == 1 ? warp * gridDim.x + blockIdx.x : blockIdx.x * kWarps + warp;
}

template <class Pass>
__device__ __forceinline__ void meet_all(const AllPairs& p, Pass& pass) {
  using Other = typename Pass::Other;
  constexpr int kOwn = Pass::kOwn;
  __shared__ Other rings[kWarps][2 * kGroup];
  const int lane = threadIdx.x % kWarp;
  Other* const ring = rings[threadIdx.x / kWarp] + lane;
  const Triangle<kOwn> triangle{(*p.roster_count * kClusterSize + kGroup - 1) / kGroup};
  const int tiles = triangle.tiles(), warps = static_cast<int>(gridDim.x) * kWarps;
  const int share = (tiles + warps - 1) / warps, mine = number_of_run<Pass>() * share;
  const int end = min(mine + share, tiles);
  const PatchWidths widths(p);
  bool waits = Pass::kStartsBefore;
#pragma unroll 1
  for (int tile = mine; tile < end;) {
    const int row = triangle.row_of(tile), first = row * kOwn;
    const int begin = first + tile - triangle.before(row);
    const int stop = min(triangle.groups, begin + min(end - tile, kLongestRun<kOwn>));
    Run run{row, begin, stop - begin, 0};
    const Row<kOwn> own = row_at(p, first * kGroup + lane, std::make_integer_sequence<int, kOwn>{});
    if (waits) {
      wait_for_previous();
      release_next();
      waits = false;
    }
    bool counts = false;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) counts = counts || own.atoms[n].counts;
    const bool row_counts = __any_sync(kAllLanes, counts);
    pass.load(own.atoms);
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
      Turns<kOwn> turns;
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        pass.at[n] = seen_from(p, widths, cell, own.atoms[n]);
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
    pass.end_row(own.atoms);
    if constexpr (Pass::kEndsAtoms) end_groups(p, triangle, run, own.atoms, pass);
    tile += run.tiles;
  }
  if (waits) wait_for_previous();
}

}  // namespace quiltmd::all_pairs
