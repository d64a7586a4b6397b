// SPDX-License-Identifier: Apache-2.0
// How atoms screen each other in generalized Born: the first pass finds the integrals and radii, the third
// the forces as radii change with distances.
#pragma once

#include "computes/all_pairs/cuda_sums.cuh"

namespace quiltmd::all_pairs {

// Formulas of a tile: three or six terms of the series for atoms that are so far apart, else logarithms.
struct ThreeTerms {
  static constexpr int kUnroll = 8;
};
struct SixTerms {
  static constexpr int kUnroll = 4;
};
struct Logarithms {
  static constexpr int kUnroll = 4;
};

// An atom that screens others.
struct Screen {
  BornSite site;
  ScreeningSeries series;
};

template <int kOwn, class Turn>
__device__ __forceinline__ void choose_terms(const SeriesReach& reach, const GroupBox& box,
                                             const Point (&at)[kOwn], const Turn& turn) {
  float r2 = box.distance2(at[0]);
#pragma unroll
  for (int n = 1; n < kOwn; ++n) r2 = fminf(r2, box.distance2(at[n]));
  if (__all_sync(kAllLanes, r2 > reach.three_terms * reach.three_terms)) {
    turn(ThreeTerms{});
  } else if (__all_sync(kAllLanes, r2 > reach.six_terms * reach.six_terms)) {
    turn(SixTerms{});
  } else {
    turn(Logarithms{});
  }
}

// ---- First pass ----

template <bool kNecks, Range kRange, int kRowGroups>
struct RadiusPass {
  static constexpr bool kEndsAtoms = true, kCutoff = kRange == Range::kCutoff,
                        kStartsBefore = false;
  static constexpr int kOwn = kRowGroups;
  struct Other {
    float4 place;  // and the scaled radius
    ScreeningSeries series;
    float offset_radius, per_offset, radius;
    int neck_type;
  };
  struct Back {
    float sum;
    __device__ __forceinline__ void pass_on() { sum = from_next_lane(sum); }
    __device__ __forceinline__ void give(const RadiusPass& pass, int slot) const {
      add_fixed(pass.op.sums + slot, to_fixed(sum, kScreeningScale));
    }
  };
  const BornRadii& op;
  Point at[kOwn];
  Screen own[kOwn];
  float per_offset[kOwn];
  float sum[kOwn];
  long long total[kOwn];

  __device__ __forceinline__ explicit RadiusPass(const BornRadii& o) : op(o) {}
  __device__ __forceinline__ Screen screen_of(const Placed& atom) const {
    const BornSite site = atom.exists ? load_site(op.sites, atom.slot) : BornSite{};
    return {site, ScreeningSeries::of_value(site.scaled_radius)};
  }
  __device__ __forceinline__ void load(const Placed (&atoms)[kOwn]) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      own[n] = screen_of(atoms[n]);
      per_offset[n] = 1 / own[n].site.offset_radius;
      sum[n] = 0;
      total[n] = 0;
    }
  }
  __device__ __forceinline__ unsigned excluded(int, int) { return 0; }
  __device__ __forceinline__ Other bring(const Placed& atom, const Point& point) const {
    const Screen s = screen_of(atom);
    return {{point.x, point.y, point.z, s.site.scaled_radius},
            s.series,
            s.site.offset_radius,
            1 / s.site.offset_radius,
            s.site.radius,
            s.site.neck_type};
  }
  template <class Turn>
  __device__ __forceinline__ void choose(const GroupBox& box, const Other&, bool,
                                         const Turns<kOwn>&, const Turn& turn) const {
    choose_terms(op.reach, box, at, turn);
  }
  __device__ __forceinline__ void pair(ThreeTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const float r2 = Way(at[n], other).r2, t = inverse(r2), t2 = t * t;
    if (is_beyond<kCutoff>(op.pairs, r2)) return;
    sum[n] = fmaf(t2, other.series.three_terms(t), sum[n]);
    back.sum = fmaf(t2, own[n].series.three_terms(t), back.sum);
  }
  __device__ __forceinline__ void pair(SixTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const float r2 = Way(at[n], other).r2, t = inverse(r2), t2 = t * t;
    if (is_beyond<kCutoff>(op.pairs, r2)) return;
    const float theirs = other.place.w, mine = own[n].site.scaled_radius;
    sum[n] = fmaf(t2 * other.series.leading, six_values(theirs * theirs * t), sum[n]);
    back.sum = fmaf(t2 * own[n].series.leading, six_values(mine * mine * t), back.sum);
  }
  __device__ __forceinline__ void pair(Logarithms, int n, const Other& other, bool itself, bool,
                                       Back& back) {
    const float r2 = unless_itself(Way(at[n], other).r2, itself), per_r = inverse_root(r2);
    if (is_beyond<kCutoff>(op.pairs, r2)) return;
    const float r = r2 * per_r;
    const BornSite& mine = own[n].site;
    const BornSite theirs{other.offset_radius, other.place.w, other.radius, other.neck_type};
    sum[n] += screening_value(r, per_r, mine.offset_radius, per_offset[n], theirs.scaled_radius,
                              other.series.leading);
    back.sum += screening_value(r, per_r, theirs.offset_radius, other.per_offset,
                                mine.scaled_radius, own[n].series.leading);
    if constexpr (kNecks) {
      sum[n] += neck_of<float>(op.necks, mine, theirs, r).value;
      back.sum += neck_of<float>(op.necks, theirs, mine, r).value;
    }
  }
  __device__ __forceinline__ void end_tile(bool) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      total[n] += to_fixed(sum[n], kScreeningScale);
      sum[n] = 0;
    }
  }
  __device__ __forceinline__ void end_row(const Placed (&atoms)[kOwn]) const {
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      if (atoms[n].counts) add_fixed(op.sums + atoms[n].slot, total[n]);
  }
  __device__ __forceinline__ int32_t* visits() const { return op.visits; }
  __device__ __forceinline__ void end_atom(const Placed& atom) const {
    if (atom.counts) set_radius(op, atom.slot);
  }
};

// ---- Third pass ----

template <bool kNecks, Range kRange, int kRowGroups>
struct ChainPass {
  static constexpr bool kEndsAtoms = false, kCutoff = kRange == Range::kCutoff,
                        kStartsBefore = true;
  static constexpr int kOwn = kRowGroups;
  struct Other {
    float4 place;  // and the slope
    ScreeningSeries series;
    float scaled_radius, offset_radius, radius;
    int neck_type;
  };
  struct Back {
    ForceSum force;
    __device__ __forceinline__ void pass_on() { force.pass_on(); }
    __device__ __forceinline__ void give(const ChainPass& pass, int slot) const {
      force.give(pass.op.pairs.slots, slot);
    }
  };
  const BornForces& op;
  Point at[kOwn];
  Screen own[kOwn];
  float slope[kOwn];
  ForceSum force[kOwn];
  ForceTotal total[kOwn];

  __device__ __forceinline__ explicit ChainPass(const BornForces& o) : op(o) {}
  __device__ __forceinline__ Screen screen_of(const Placed& atom) const {
    const BornSite site = atom.exists ? load_site(op.sites, atom.slot) : BornSite{};
    return {site, ScreeningSeries::of_slope(site.scaled_radius)};
  }
  __device__ __forceinline__ float slope_of(const Placed& atom) const {
    return atom.exists ? op.slopes[atom.slot] : 0.0f;
  }
  __device__ __forceinline__ void load(const Placed (&atoms)[kOwn]) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      own[n] = screen_of(atoms[n]);
      slope[n] = slope_of(atoms[n]);
      force[n] = {};
      total[n] = {};
    }
  }
  __device__ __forceinline__ unsigned excluded(int, int) { return 0; }
  __device__ __forceinline__ Other bring(const Placed& atom, const Point& point) const {
    const Screen s = screen_of(atom);
    return {{point.x, point.y, point.z, slope_of(atom)},
            s.series,
            s.site.scaled_radius,
            s.site.offset_radius,
            s.site.radius,
            s.site.neck_type};
  }
  template <class Turn>
  __device__ __forceinline__ void choose(const GroupBox& box, const Other&, bool,
                                         const Turns<kOwn>&, const Turn& turn) const {
    choose_terms(op.reach, box, at, turn);
  }
  __device__ __forceinline__ void act(int n, float over_r, const Way& way, Back& back) {
    force[n].add(over_r, way);
    back.force.take(over_r, way);
  }
  __device__ __forceinline__ void pair(ThreeTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const Way way(at[n], other);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float t = inverse(way.r2);
    const float here = slope[n] * other.series.three_terms(t);
    act(n, fmaf(other.place.w, own[n].series.three_terms(t), here) * (t * t * t), way, back);
  }
  __device__ __forceinline__ void pair(SixTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const Way way(at[n], other);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float t = inverse(way.r2);
    const float theirs = other.scaled_radius, mine = own[n].site.scaled_radius;
    const float here = slope[n] * other.series.leading * six_slopes(theirs * theirs * t);
    const float there = other.place.w * own[n].series.leading;
    act(n, fmaf(there, six_slopes(mine * mine * t), here) * (t * t * t), way, back);
  }
  __device__ __forceinline__ void pair(Logarithms, int n, const Other& other, bool itself, bool,
                                       Back& back) {
    Way way(at[n], other);
    way.r2 = unless_itself(way.r2, itself);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float per_r = inverse_root(way.r2), r = way.r2 * per_r;
    const BornSite& mine = own[n].site;
    const BornSite theirs{other.offset_radius, other.scaled_radius, other.radius, other.neck_type};
    float here = screening_slope(r, per_r, mine.offset_radius, theirs.scaled_radius),
          there = screening_slope(r, per_r, theirs.offset_radius, mine.scaled_radius);
    if constexpr (kNecks) {
      here += neck_of<float>(op.necks, mine, theirs, r).slope;
      there += neck_of<float>(op.necks, theirs, mine, r).slope;
    }
    act(n, -fmaf(slope[n], here, other.place.w * there) * per_r, way, back);
  }
  __device__ __forceinline__ void end_tile(bool) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) total[n].take(force[n]);
  }
  __device__ __forceinline__ void end_row(const Placed (&atoms)[kOwn]) const {
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      if (atoms[n].counts) total[n].give(op.pairs.slots, atoms[n].slot);
  }
};

}  // namespace quiltmd::all_pairs
