// SPDX-License-Identifier: Apache-2.0
// What a warp knows of the list that it evaluates, and where the sums over its lanes go: forces, energies and
// virial.
#pragma once

#include "computes/nonbonded/cuda_pair_math.cuh"
#include "computes/nonbonded/operations.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/symmetric.h"

namespace quiltmd::pairs {

constexpr int kHalf = kClusterSize / 2;
// The sums of energies - pair form, Coulomb, the virial's parts - are taken in so many places and
// then added up: additions to one place wait for each other.
constexpr int kEnergyPlaces = 64, kEnergySums = 2 + Symmetric::kParts;

// The i-cluster of a block, atoms with the pair form first.
template <class Form>
struct Cluster {
  float4 site[kClusterSize];  // position and charge
  typename Form::template Site<Single> form[kClusterSize];
  int index[kClusterSize];  // place in the cluster's slots
};

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

// Evaluated part of a list: places among all entries.
struct List {
  int cluster, begin;
  int masked;  // the end of those with a mask
  int end;     // of those that are evaluated with charges
  // First entry and end of the rounds of this piece that evaluate only the form.
  int apart, apart_end;
};

template <class F, bool kTwo>
struct Kernel {
  using Form = F;
  static constexpr bool kTwoCutoffs = kTwo;
  const PairForces& op;
  const PairParameters& parameters;  // those of op, some of them held in registers
  const Cluster<F>& cluster;
  const float4* shifts;
  List list;
  int lane;
  LaneEnergies* energies;  // this lane's; null without
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

// One warp for each sum; that of the form is an energy of this kind.
static __global__ void __launch_bounds__(kEnergySums* kWarp)
    add_places(const int64_t* places, EnergyKind form, int64_t* energy, LaunchTimes* times) {
  const Timed timed(times);
  const int sum = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  long long total = 0;
  for (int place = lane; place < kEnergyPlaces; place += kWarp)
    total += places[place * kEnergySums + sum];
  total = warp_sum(total);
  const int kind = sum == 0 ? form : sum == 1 ? kCoulombDirect : kVirial + sum - 2;
  if (lane == 0) add_fixed(energy + kind, total);
}

// A kernel of pairs whose energies go to the places, and then the sums of these.
template <class Op>
void launch_with_energies(CudaContext& context, const LaunchShape& shape,
                          void (*kernel)(Op, LaunchTimes*), Op op, EnergyKind form,
                          const char* name_of_sums) {
  constexpr size_t bytes = kEnergyPlaces * kEnergySums * sizeof(int64_t);
  int64_t* const total = op.energy;
  op.energy = static_cast<int64_t*>(context.scratch->take(bytes));
  cuda_check(cudaMemsetAsync(op.energy, 0, bytes, context.stream), "clear sums of energies");
  launch(context, shape, kernel, op);
  launch(context, {name_of_sums, 1, kEnergySums * kWarp}, add_places, op.energy, form, total);
}

}  // namespace quiltmd::pairs
