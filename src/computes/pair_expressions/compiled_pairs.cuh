// SPDX-License-Identifier: Apache-2.0
// Pairs of an expression on a GPU, in single precision, as those of pair forms (nonbonded/cuda_pairs.cu): a warp has
// a piece of the list of one i-cluster, a lane a j atom, which meets the eight i atoms. Compiled while a program
// runs, with the program of the expression as C++ (expressions/program_source.h).
#pragma once

#include "computes/expressions/operation_parts.h"
#include "computes/nonbonded/cuda_list_sums.cuh"
#include "computes/pair_expressions/operations.h"
#include "decomposition/cuda_faults.cuh"
#include "device/cuda/timed.cuh"

namespace quiltmd::pairs {

// i atoms for each vote of the lanes on whether any pair is within the cutoff.
constexpr int kAtomsAtOnce = 2;
// A longer program is in the kernel once, not once for each i atom.
constexpr int kMostStepsUnrolled = 200;

// Sets of groups of pairs that an atom is in.
struct AtomSets {
  uint64_t first, second;

  __device__ bool joins(const AtomSets& other) const {
    return ((first & other.second) | (other.first & second)) != 0;
  }
};

// What the program reads of an atom.
template <class Program>
struct AtomGiven {
  float parameters[Program::kParameters + 1];  // without any, there still is an array
  AtomSets sets;                               // where there are groups

  __device__ static AtomGiven of(const EvaluatePairExpression& op, int32_t atom) {
    AtomGiven given;
    const double* const from = op.parameters + static_cast<ptrdiff_t>(atom) * Program::kParameters;
    for (int p = 0; p < Program::kParameters; ++p)
      given.parameters[p] = static_cast<float>(from[p]);
    if constexpr (Program::kHasSets) given.sets = {op.first_sets[atom], op.second_sets[atom]};
    return given;
  }
};

template <class Program>
struct ExpressionCluster {
  float4 site[kClusterSize];
  AtomGiven<Program> given[kClusterSize];
  int index[kClusterSize];  // place in the cluster's slots
};

// The j atom of a lane.
template <class Program>
struct ExpressionPartner {
  float x, y, z;
  uint32_t slot;
  unsigned interacts;  // bits by i atom
  AtomGiven<Program> given;
};

// Places among all entries.
struct ExpressionList {
  int cluster, begin, masked, end;
};

template <class P>
struct ExpressionWarp {
  using Program = P;
  const EvaluatePairExpression& op;
  const ExpressionCluster<P>& cluster;
  ExpressionList list;
  int lane;
  LaneEnergies* energies;  // this lane's; null without
  float cutoff2;
  float constants[P::kConstants + 1];
};

template <class Program>
__device__ __forceinline__ void load_cluster(const EvaluatePairExpression& op, int number, int lane,
                                             ExpressionCluster<Program>& cluster) {
  if (lane < kClusterSize) {
    const int slot = number * kClusterSize + lane;
    const Float4 at = op.slots.local[slot];
    cluster.site[lane] = {at.x, at.y, at.z, 0};
    cluster.given[lane] = AtomGiven<Program>::of(op, max(op.slots.atom[slot], 0));
    cluster.index[lane] = lane;
  }
  __syncwarp();
}

// The entry at a place; beyond the end of the list the last one.
template <class W>
__device__ __forceinline__ uint32_t load_entry(const W& w, int index) {
  return w.op.entries[min(index, w.list.end - 1)];
}

// Beyond the end of the list it interacts with no atom.
template <class W>
__device__ __forceinline__ ExpressionPartner<typename W::Program> load_partner(const W& w,
                                                                               uint32_t entry,
                                                                               int index) {
  using Program = typename W::Program;
  const uint32_t slot = entry & kSlotMask;
  const Float4 at = w.op.slots.local[slot];
  const Vec3f shift = w.op.shifts[entry >> kSlotBits];
  const unsigned mask = index < w.list.masked ? w.op.masks[index] : 0xffu;
  return {at.x + shift.x,
          at.y + shift.y,
          at.z + shift.z,
          slot,
          index < w.list.end ? mask : 0u,
          AtomGiven<Program>::of(w.op, w.op.slots.atom[slot])};
}

// The vector from an i atom to the j atom.
struct ExpressionSeparation {
  float x, y, z, square;
  bool near;  // within the cutoff, and the pair interacts
};

template <class W, class Partner>
__device__ __forceinline__ ExpressionSeparation separation(const W& w, const Partner& j, int i) {
  const float4 site = w.cluster.site[i];
  const float x = j.x - site.x, y = j.y - site.y, z = j.z - site.z;
  const float square = fmaf(x, x, fmaf(y, y, z * z));
  bool near = square < w.cutoff2 && (j.interacts & (1u << i));
  if constexpr (W::Program::kHasSets) near = near && j.given.sets.joins(w.cluster.given[i].sets);
  return {x, y, z, square, near};
}

struct PairResult {
  float over_r, energy;  // the force divided by r
};

template <class W, class Partner>
__device__ __forceinline__ PairResult evaluate_pair(const W& w, const Partner& j, int i,
                                                    float square) {
  using Program = typename W::Program;
  const float inverse = inverse_sqrt(square);
  float given[Program::kConstants + 1 + 2 * Program::kParameters], results[2];
  float* next = given;
  for (int c = 0; c < Program::kConstants; ++c) *next++ = w.constants[c];
  *next++ = square * inverse;
  for (int p = 0; p < Program::kParameters; ++p) *next++ = w.cluster.given[i].parameters[p];
  for (int p = 0; p < Program::kParameters; ++p) *next++ = j.given.parameters[p];
  Program::run(given, results, w.op.program.tables, w.op.program.table_size, nullptr);
  return {-results[1] * inverse, results[0]};
}

template <bool kEnergy, class W, class Partner>
__device__ __forceinline__ void meet_cluster(const W& w, const Partner& j, Sums& sums) {
  constexpr int kUnrolled =
      W::Program::kSteps <= kMostStepsUnrolled ? kClusterSize / kAtomsAtOnce : 1;
  float force[3] = {}, energy = 0;
#pragma unroll kUnrolled
  for (int first = 0; first < kClusterSize; first += kAtomsAtOnce) {
    ExpressionSeparation d[kAtomsAtOnce];
    bool near = false;
#pragma unroll
    for (int n = 0; n < kAtomsAtOnce; ++n) {
      d[n] = separation(w, j, first + n);
      near = near || d[n].near;
    }
    if (!__any_sync(kAllLanes, near)) continue;
#pragma unroll
    for (int n = 0; n < kAtomsAtOnce; ++n) {
      const PairResult pair = evaluate_pair(w, j, first + n, d[n].square);
      if (!d[n].near) continue;
      add_force(pair.over_r, d[n], first + n, force, sums);
      if constexpr (kEnergy) energy += pair.energy;
    }
  }
  if constexpr (kEnergy) w.energies->form += energy;
  // Not finite, if one of them or the energy is not.
  const float all = fabsf(force[0]) + fabsf(force[1]) + fabsf(force[2]) + fabsf(energy);
  if (!(all < INFINITY))
    report_fault(*w.op.faults, &w.op.faults->blowup_step, &w.op.faults->blowup_atom, *w.op.step,
                 w.op.slots.atom[j.slot]);
  add_j_force<kEnergy>(w, {j.x, j.y, j.z}, j.slot, force, sums);
}

}  // namespace quiltmd::pairs

namespace quiltmd {

template <class Program, bool kEnergy>
__device__ __forceinline__ void evaluate_pairs(const EvaluatePairExpression& op,
                                               LaunchTimes* times) {
  const Timed timed(times);
  __shared__ pairs::ExpressionCluster<Program> cluster;
  const int lane = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int offset = block / op.pieces, piece = block - offset * op.pieces;
  if (op.first + offset >= *op.end) return;
  const PairList& list = op.lists[op.first + offset];
  const int end = list.begin + list.within[op.shells.last];
  const int step = op.pieces * kWarp;
  int at = list.begin + piece * kWarp + lane;
  if (at - lane >= end) return;
  pairs::ExpressionWarp<Program> w{op,
                                   cluster,
                                   {list.cluster, list.begin, list.begin + list.masked, end},
                                   lane,
                                   pairs::energies_of<kEnergy>(lane),
                                   static_cast<float>(op.cutoff2)};
  for (int c = 0; c < Program::kConstants; ++c)
    w.constants[c] = static_cast<float>(op.constants[c]);
  uint32_t next = load_entry(w, at);
  load_cluster(op, list.cluster, lane, cluster);
  pairs::Sums sums{};
#pragma unroll 1
  for (; at - lane < end; at += step) {
    const uint32_t entry = next;
    next = load_entry(w, at + step);
    pairs::meet_cluster<kEnergy>(w, load_partner(w, entry, at), sums);
  }
  add_i_forces(w, sums);
  if constexpr (kEnergy) {
    add_i_virial(w, sums);
    add_energies(w, op.energy + block % pairs::kEnergyPlaces * pairs::kEnergySums);
  }
}

}  // namespace quiltmd
