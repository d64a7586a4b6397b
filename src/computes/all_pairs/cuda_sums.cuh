// SPDX-License-Identifier: Apache-2.0
// What the passes over all pairs share: which pairs, the way between two atoms, and sums of forces.
#pragma once

#include "computes/all_pairs/cuda_tiles.cuh"
#include "computes/nonbonded/cuda_pair_math.cuh"

namespace quiltmd::all_pairs {

using pairs::force_to_fixed;
using pairs::limited_force;
using pairs::Single;

// Range of pairs: all, or up to a cutoff.
enum class Range { kAny, kCutoff };

// From another atom.
struct Way {
  float x, y, z, r2;
  template <class Other>
  __device__ __forceinline__ Way(const Point& own, const Other& other)
      : x(own.x - other.place.x), y(own.y - other.place.y), z(own.z - other.place.z) {
    r2 = fmaf(x, x, fmaf(y, y, z * z));
  }
};

template <bool kCutoff>
__device__ __forceinline__ bool is_beyond(const AllPairs& p, float r2) {
  return kCutoff && r2 >= p.cutoff2;
}

struct ForceSum {
  float x, y, z;
  __device__ __forceinline__ void add(float over_r, const Way& way) {
    x = fmaf(over_r, way.x, x);
    y = fmaf(over_r, way.y, y);
    z = fmaf(over_r, way.z, z);
  }
  __device__ __forceinline__ void take(float over_r, const Way& way) {
    x = fmaf(-over_r, way.x, x);
    y = fmaf(-over_r, way.y, y);
    z = fmaf(-over_r, way.z, z);
  }
  __device__ __forceinline__ void pass_on() {
    x = from_next_lane(x);
    y = from_next_lane(y);
    z = from_next_lane(z);
  }
  __device__ __forceinline__ void give(const Slots& slots, int slot) const {
    add_fixed(slots.force[0] + slot, force_to_fixed(limited_force(x)));
    add_fixed(slots.force[1] + slot, force_to_fixed(limited_force(y)));
    add_fixed(slots.force[2] + slot, force_to_fixed(limited_force(z)));
  }
};

// The force on an atom over several tiles.
struct ForceTotal {
  long long along[3] = {0, 0, 0};

  __device__ __forceinline__ void take(ForceSum& sum) {
    along[0] += force_to_fixed(limited_force(sum.x));
    along[1] += force_to_fixed(limited_force(sum.y));
    along[2] += force_to_fixed(limited_force(sum.z));
    sum = {};
  }
  __device__ __forceinline__ void give(const Slots& slots, int slot) const {
#pragma unroll
    for (int d = 0; d < 3; ++d) add_fixed(slots.force[d] + slot, along[d]);
  }
};

__device__ __forceinline__ BornSite load_site(const BornSite* sites, int slot) {
  const float4 s = *reinterpret_cast<const float4*>(sites + slot);
  return {s.x, s.y, s.z, __float_as_int(s.w)};
}

// An atom is to itself as far away as nothing else is.
__device__ __forceinline__ float unless_itself(float r2, bool itself) {
  return itself ? 1.0e20f : r2;
}

}  // namespace quiltmd::all_pairs
