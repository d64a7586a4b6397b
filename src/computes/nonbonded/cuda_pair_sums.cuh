// SPDX-License-Identifier: Apache-2.0
// What a warp knows of the list that it evaluates, and the launch of kernels that also sum up energies.
#pragma once

#include "computes/nonbonded/cuda_list_sums.cuh"
#include "computes/nonbonded/cuda_pair_math.cuh"
#include "computes/nonbonded/operations.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd::pairs {

constexpr int kHalf = kClusterSize / 2;

// The i-cluster of a block, atoms with the pair form first.
template <class Form>
struct Cluster {
  float4 site[kClusterSize];  // position and charge
  typename Form::template Site<Single> form[kClusterSize];
  int index[kClusterSize];  // place in the cluster's slots
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
