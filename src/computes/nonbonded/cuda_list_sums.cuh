// SPDX-License-Identifier: Apache-2.0
// Where the sums of a warp over the list of an i-cluster go: forces, energies and virial. `K` knows the operation
// (op.slots), the cluster (site, index), the list (list.cluster), the lane, and its energies.
#pragma once

#include "decomposition/slots.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"
#include "math/symmetric.h"

namespace quiltmd::pairs {

// 1/sqrt(x), 2 units in the last place; infinity at zero.
__device__ __forceinline__ float inverse_sqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Forces in fixed point are limited to this magnitude, 2^51 units.
constexpr float kForceLimit = 524288.0f;
static_assert(kLargestForce < kForceLimit);

// The clamp turns a NaN into the lower limit.
__device__ __forceinline__ float limited_force(float value) {
  return fminf(fmaxf(value, -kForceLimit), kForceLimit);
}

// Fixed point of a limited force. The sum with 1.5 * 2^20 has a last place of 2^-32 and so leaves the
// rounded integer in the low bits of the double.
__device__ __forceinline__ long long force_to_fixed(float value) {
  static_assert(kForceScale == 4294967296.0);
  const double shifted = static_cast<double>(value) + 1572864.0;
  const auto high = static_cast<uint32_t>(__double2hiint(shifted)) - 0x41380000u;
  const auto low = static_cast<uint32_t>(__double2loint(shifted));
  return static_cast<long long>(static_cast<unsigned long long>(high) << 32 | low);
}

// The sums of energies - pair form, Coulomb, the virial's parts - are taken in so many places and
// then added up: additions to one place wait for each other.
constexpr int kEnergyPlaces = 64, kEnergySums = 2 + Symmetric::kParts;

// Sums of a lane over its entries.
struct Sums {
  float force[kClusterSize][3];  // on i atoms, negative; the first is not used
  long long j_force[3];          // fixed point
};

// Energies and virial that a lane sums up, in shared memory. An odd number of doubles, so that lanes use
// different banks.
struct LaneEnergies {
  double form, coulomb;
  Symmetric virial;
  double unused;
};

// Origin of the virial: the first i atom, whose own force then has no effect, because the forces of a piece
// add up to zero.
template <class K>
__device__ __forceinline__ Vec3d from_first(const K& k, Vec3f r) {
  const float4 first = k.cluster.site[0];
  return {r.x - first.x, r.y - first.y, r.z - first.z};
}

// A pair's force divided by r, along the vector from an i atom to the j atom.
template <class Separation>
__device__ __forceinline__ void add_force(float over_r, const Separation& d, int i,
                                          float (&force)[3], Sums& sums) {
  force[0] = fmaf(over_r, d.x, force[0]);
  force[1] = fmaf(over_r, d.y, force[1]);
  force[2] = fmaf(over_r, d.z, force[2]);
  if (i == 0) return;
  sums.force[i][0] = fmaf(over_r, d.x, sums.force[i][0]);
  sums.force[i][1] = fmaf(over_r, d.y, sums.force[i][1]);
  sums.force[i][2] = fmaf(over_r, d.z, sums.force[i][2]);
}

// Add two halves of an array of sums over lanes that differ in `bit`: each lane keeps the half that
// the bit of its number names.
template <int kHalf, int kParts>
__device__ __forceinline__ void fold(float (&v)[kClusterSize][kParts], int lane, int bit) {
  const bool upper = lane & bit;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
#pragma unroll
    for (int c = 0; c < kParts; ++c) {
      const float give = upper ? v[i][c] : v[i + kHalf][c];
      const float keep = upper ? v[i + kHalf][c] : v[i][c];
      v[i][c] = keep + __shfl_xor_sync(kAllLanes, give, bit);
    }
  }
}

// Add the sums of all lanes: v[0] of the lanes 4 i .. 4 i + 3 becomes that of i atom i.
template <int kParts>
__device__ __forceinline__ void fold_lanes(float (&v)[kClusterSize][kParts], int lane) {
  fold<4>(v, lane, 16);
  fold<2>(v, lane, 8);
  fold<1>(v, lane, 4);
#pragma unroll
  for (int bit = 2; bit > 0; bit >>= 1) {
#pragma unroll
    for (int c = 0; c < kParts; ++c) v[0][c] += __shfl_xor_sync(kAllLanes, v[0][c], bit);
  }
}

// The force on the j atom of a lane, which is at this place.
template <bool kEnergy, class K>
__device__ __forceinline__ void add_j_force(const K& k, Vec3f at, uint32_t slot, float (&force)[3],
                                            Sums& sums) {
  const float most = fmaxf(fmaxf(fabsf(force[0]), fabsf(force[1])), fabsf(force[2]));
  if (__any_sync(kAllLanes, !(most < kForceLimit))) {  // a branch that is hardly ever taken
    for (float& component : force) component = limited_force(component);
    __syncwarp();
  }
  if (most == 0) return;
  if constexpr (kEnergy)
    k.energies->virial.add_product(from_first(k, at), {force[0], force[1], force[2]});
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const long long fixed = force_to_fixed(force[c]);
    sums.j_force[c] += fixed;
    add_fixed(k.op.slots.force[c] + slot, fixed);
  }
}

// Forces on the i atoms. Lanes 4 i .. 4 i + 2 end up with the components of atom i.
template <class K>
__device__ __forceinline__ void add_i_forces(const K& k, Sums& sums) {
  sums.force[0][0] = sums.force[0][1] = sums.force[0][2] = 0;
  fold_lanes(sums.force, k.lane);
  const int i = k.lane >> 2, component = k.lane & 3;
  const float* total = sums.force[0];
  const float mine = component == 0 ? total[0] : component == 1 ? total[1] : total[2];
  long long fixed = -force_to_fixed(limited_force(mine));  // zero for i = 0
  long long rest = 0;
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const long long all = warp_sum(sums.j_force[c] + (component == c ? fixed : 0));
    rest = component == c ? all : rest;
  }
  if (i == 0) fixed = -rest;
  if (component == 3 || fixed == 0) return;
  int64_t* const array = component == 0   ? k.op.slots.force[0]
                         : component == 1 ? k.op.slots.force[1]
                                          : k.op.slots.force[2];
  const int slot = k.list.cluster * kClusterSize + k.cluster.index[i];
  add_fixed(array + slot, fixed);
}

// Contribution of the forces on i atoms, folded by add_i_forces(), to the virial.
template <class K>
__device__ __forceinline__ void add_i_virial(const K& k, const Sums& sums) {
  if (k.lane & 3) return;
  const float4 site = k.cluster.site[k.lane >> 2];
  const float* total = sums.force[0];
  k.energies->virial.add_product(from_first(k, {site.x, site.y, site.z}),
                                 {-total[0], -total[1], -total[2]});
}

// Zero; null where there are none.
template <bool kEnergy>
__device__ __forceinline__ LaneEnergies* energies_of(int lane) {
  if constexpr (!kEnergy) return nullptr;
  __shared__ LaneEnergies of_lanes[kWarp];
  of_lanes[lane] = {};
  return of_lanes + lane;
}

__device__ __forceinline__ void add_energy(double value, int64_t* total, int lane) {
  const long long sum = warp_sum(to_fixed(value, kEnergyScale));
  if (lane == 0) add_fixed(total, sum);
}

template <class K>
__device__ __forceinline__ void add_energies(const K& k, int64_t* place) {
  add_energy(k.energies->form, place, k.lane);
  add_energy(k.energies->coulomb, place + 1, k.lane);
#pragma unroll
  for (int part = 0; part < Symmetric::kParts; ++part)
    add_energy(k.energies->virial[part], place + 2 + part, k.lane);
}

}  // namespace quiltmd::pairs
