// SPDX-License-Identifier: Apache-2.0
// Two sieves: bounding boxes of clusters, one pair at a time, leave about twice the clusters that
// count; then the 8 j atoms of a cluster at once against each of the 8 i atoms.
#include "computes/nonbonded/lists_search.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "computes/nonbonded/lists_search.cpp"
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

HWY_INLINE float gap(float centre_i, float centre_j, float half_i, float half_j) {
  return std::max(std::fabs(centre_i - centre_j) - (half_i + half_j + kSlack), 0.0f);
}

HWY_INLINE bool boxes_in_reach(const ClusterBounds& i, const ClusterBounds& j, float reach2) {
  const float x = gap(i.centre.x, j.centre.x, i.half.x, j.half.x);
  const float y = gap(i.centre.y, j.centre.y, i.half.y, j.half.y);
  const float z = gap(i.centre.z, j.centre.z, i.half.z, j.half.z);
  return x * x + y * y + z * z < reach2;
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

int search_here(const SearchCluster& unmoved, const SearchRange& range, float reach,
                int32_t* found) {
  const Df df;
  const hn::RebindToSigned<Df> di;
  const SearchCluster i = moved(unmoved, range.shift);
  const float reach2 = reach * reach;
  int count = 0;
  for (int cluster = range.first; cluster < range.last; ++cluster) {
    if (!boxes_in_reach(i.bounds, range.bounds[cluster], reach2)) continue;
    const int begin = cluster * kClusterSize;
    for (int slot = begin; slot < begin + kClusterSize; slot += static_cast<int>(hn::Lanes(df))) {
      hn::Vec<Df> x, y, z, charge, nearest2 = hn::Set(df, kFarAway);
      hn::LoadInterleaved4(df, &range.local[slot].x, x, y, z, charge);
      for (int a = 0; a < kClusterSize; ++a) {
        const auto dx = hn::Sub(x, hn::Set(df, i.x[a]));
        const auto dy = hn::Sub(y, hn::Set(df, i.y[a]));
        const auto dz = hn::Sub(z, hn::Set(df, i.z[a]));
        nearest2 = hn::Min(
            nearest2, hn::MulAdd(dz, dz, hn::MulAdd(dy, dy, hn::Mul(dx, dx))));
      }
      const auto near = hn::RebindMask(di, hn::Lt(nearest2, hn::Set(df, reach2)));
      count += static_cast<int>(
          hn::CompressStore(hn::Iota(di, slot), near, di, found + count));
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

int search(const SearchCluster& i, const SearchRange& range, float reach, int32_t* found) {
  return HWY_DYNAMIC_DISPATCH(search_here)(i, range, reach, found);
}

}  // namespace quiltmd
#endif
