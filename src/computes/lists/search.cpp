// SPDX-License-Identifier: Apache-2.0
// Two sieves: bounding boxes of clusters, several at once, leave about twice the clusters that
// count; then the 8 j atoms of a cluster at once against each of the 8 i atoms.
#include "computes/lists/search.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/lists/search.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Df = hn::CappedTag<float, kClusterSize>;

// Boxes count as this much larger (nm), more than rounding can shrink them.
constexpr float kSlack = 1e-5f;

HWY_INLINE hn::Vec<Df> gap(float centre, float half, const float* centres, const float* halves) {
  const Df df;
  const auto between = hn::Abs(hn::Sub(hn::Set(df, centre), hn::LoadU(df, centres)));
  const auto halves_sum = hn::Add(hn::Set(df, half + kSlack), hn::LoadU(df, halves));
  return hn::Max(hn::Sub(between, halves_sum), hn::Zero(df));
}

// Which of the clusters from number `c` on have boxes in reach: a bit for each lane.
HWY_INLINE unsigned boxes_in_reach(const ClusterBounds& i, const BoundColumns& j, int c,
                                   float reach2) {
  const Df df;
  const auto x = gap(i.centre.x, i.half.x, j.x + c, j.half_x + c);
  const auto y = gap(i.centre.y, i.half.y, j.y + c, j.half_y + c);
  const auto z = gap(i.centre.z, i.half.z, j.z + c, j.half_z + c);
  const auto gap2 = hn::MulAdd(z, z, hn::MulAdd(y, y, hn::Mul(x, x)));
  return static_cast<unsigned>(hn::BitsFromMask(df, hn::Lt(gap2, hn::Set(df, reach2))));
}

HWY_INLINE SearchCluster moved(const SearchCluster& i, Vec3f shift) {
  SearchCluster to = i;
  to.bounds.centre -= shift;
  for (int a = 0; a < kClusterSize; ++a) {
    to.x[a] -= shift.x;
    to.y[a] -= shift.y;
    to.z[a] -= shift.z;
  }
  return to;
}

// Write the slots of a cluster that are closer than reach to any of the i atoms; returns how many.
HWY_INLINE int search_cluster(const SearchCluster& i, const Float4* local, int cluster,
                              float reach2, int32_t* found, float* distance2) {
  const Df df;
  const hn::RebindToSigned<Df> di;
  const int begin = cluster * kClusterSize, end = begin + kClusterSize;
  int count = 0;
  for (int slot = begin; slot < end; slot += static_cast<int>(hn::Lanes(df))) {
    hn::Vec<Df> x, y, z, charge, nearest2 = hn::Set(df, kFarAway);
    hn::LoadInterleaved4(df, &local[slot].x, x, y, z, charge);
    for (int a = 0; a < kClusterSize; ++a) {
      const auto dx = hn::Sub(x, hn::Set(df, i.x[a]));
      const auto dy = hn::Sub(y, hn::Set(df, i.y[a]));
      const auto dz = hn::Sub(z, hn::Set(df, i.z[a]));
      const auto r2 = hn::MulAdd(dz, dz, hn::MulAdd(dy, dy, hn::Mul(dx, dx)));
      nearest2 = hn::Min(nearest2, r2);
    }
    const auto near = hn::Lt(nearest2, hn::Set(df, reach2));
    hn::CompressStore(nearest2, near, df, distance2 + count);
    count += static_cast<int>(
        hn::CompressStore(hn::Iota(di, slot), hn::RebindMask(di, near), di, found + count));
  }
  return count;
}

int search_here(const SearchCluster& unmoved, const SearchRange& range, float reach, int32_t* found,
                float* nearest2) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Df()));
  const SearchCluster i = moved(unmoved, range.shift);
  const float reach2 = reach * reach;
  int count = 0;
  for (int c = range.first; c < range.last; c += kLanes) {
    unsigned bits = boxes_in_reach(i.bounds, range.bounds, c, reach2);
    if (range.last - c < kLanes) bits &= (1u << (range.last - c)) - 1;
    for (; bits; bits &= bits - 1) {
      const int cluster = c + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
      count += search_cluster(i, range.local, cluster, reach2, found + count, nearest2 + count);
    }
  }
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(search_here);

int search(const SearchCluster& i, const SearchRange& range, float reach, int32_t* found,
           float* nearest2) {
  return HWY_DYNAMIC_DISPATCH(search_here)(i, range, reach, found, nearest2);
}

}  // namespace quiltmd
#endif
