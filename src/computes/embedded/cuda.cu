// SPDX-License-Identifier: Apache-2.0
// Embedded atoms on the GPU. As for pair forces, a warp has the list of one i-cluster, a lane a j atom, which meets
// the eight i atoms one after the other. Lists of a metal are short, two or three rounds of the warp, so they are not
// cut into pieces. The tables are read through the cache: a row of 32 bytes holds what a pair needs of two types.
//
// No pair is excluded, so masks are not read: pairs of the cluster itself count where i < j, which the slots tell.
#include <algorithm>

#include "computes/embedded/physics.h"
#include "computes/nonbonded/cuda_pair_sums.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace embedded {

constexpr int kThreads = 128;  // of kernels with a thread for each slot
// nm^2: atoms that are closer have the forces of this distance, so that they are finite.
constexpr float kLeastSquare = 1e-4f;

// ---- The list of a warp ----

// The i-cluster.
struct Cluster {
  float4 site[kClusterSize];  // position and slope of the embedding energy
  int type[kClusterSize];
  int index[kClusterSize];  // place in the cluster's slots
};

// Places among all entries.
struct List {
  int cluster, begin, end;
};

struct Warp {
  const EmbeddedLists& op;
  const Cluster& cluster;
  List list;
  int lane;
  pairs::LaneEnergies* energies;  // this lane's; null without
};

// The j atom of a lane.
struct Partner {
  float x, y, z, slope;
  int type;
  uint32_t slot;
  unsigned counts;  // bits by place in the cluster's slots
};

// The list that a block evaluates, which is empty beyond the last one.
__device__ __forceinline__ List list_of_block(const EmbeddedLists& op) {
  const int number = op.first + static_cast<int>(blockIdx.x);
  if (number >= *op.end) return {};
  const PairList& list = op.lists[number];
  return {list.cluster, list.begin, list.begin + list.within[op.shells.last]};
}

__device__ __forceinline__ void load_cluster(const EmbeddedLists& op, int number, int lane,
                                             Cluster& cluster) {
  if (lane < kClusterSize) {
    const int slot = number * kClusterSize + lane;
    const Float4 at = op.slots.local[slot];
    cluster.site[lane] = {at.x, at.y, at.z, op.slopes[slot]};
    cluster.type[lane] = op.type_of_slot[slot];
    cluster.index[lane] = lane;
  }
  __syncwarp();
}

// Beyond the end of the list: no atom, of which no pair counts.
__device__ __forceinline__ Partner load_partner(const Warp& w, int index) {
  if (index >= w.list.end) return {};
  const uint32_t entry = w.op.entries[index], slot = entry & kSlotMask;
  const Float4 at = w.op.slots.local[slot];
  const Vec3f shift = w.op.shifts[entry >> kSlotBits];
  const uint32_t place = entry - static_cast<uint32_t>(w.list.cluster) * kClusterSize;
  return {at.x + shift.x,
          at.y + shift.y,
          at.z + shift.z,
          w.op.slopes[slot],
          w.op.type_of_slot[slot],
          slot,
          place < kClusterSize ? (1u << place) - 1 : 0xffu};
}

// visit(j) for the j atoms of all rounds. Those of the next round are on their way from memory meanwhile.
template <class Visit>
__device__ __forceinline__ void over_rounds(const Warp& w, const Visit& visit) {
  Partner next = load_partner(w, w.list.begin + w.lane);
#pragma unroll 1
  for (int round = w.list.begin; round < w.list.end; round += kWarp) {
    const Partner j = next;
    next = load_partner(w, round + kWarp + w.lane);
    visit(j);
  }
}

// The vector from an i atom to the j atom.
struct Separation {
  float x, y, z, square;
};

// visit(i, separation) in the lanes where it is within the cutoff and the pair counts, for all i atoms.
template <class Visit>
__device__ __forceinline__ void meet_cluster(const Warp& w, const Partner& j, const Visit& visit) {
#pragma unroll
  for (int i = 0; i < kClusterSize; ++i) {
    const float4 site = w.cluster.site[i];
    const float x = j.x - site.x, y = j.y - site.y, z = j.z - site.z;
    const float square = fmaf(x, x, fmaf(y, y, z * z));
    if (square < w.op.cutoff2 && ((j.counts >> i) & 1u)) visit(i, Separation{x, y, z, square});
  }
}

// ---- Tables ----

// Where a distance is in the tables.
struct Place {
  float inverse;  // of the distance
  int interval;
  float fraction;
};

__device__ __forceinline__ Place place_of(const EmbeddedLists& op, float square) {
  const float square_here = fmaxf(square, kLeastSquare);
  const float inverse = pairs::inverse_sqrt(square_here);
  const auto intervals = static_cast<float>(op.intervals);
  const float place = fminf(square_here * inverse * op.per_spacing, intervals);
  const int interval = min(static_cast<int>(place), op.intervals - 1);
  return {inverse, interval, place - static_cast<float>(interval)};
}

// Of the two cubics of a row: r phi, and the density at the first type of the second.
enum Table { kProduct, kDensity };

template <bool kOneType>
__device__ __forceinline__ float4 look_up(const EmbeddedLists& op, Table table, int interval,
                                          int first, int second) {
  const int pair = kOneType ? 0 : (first * op.types + second) * op.intervals;
  return __ldg(reinterpret_cast<const float4*>(op.rows) + 2 * (pair + interval) + table);
}
static_assert(kEmbeddedRow == 8);

__device__ __forceinline__ float value(float4 c, float f) {
  return fmaf(f, fmaf(f, fmaf(f, c.w, c.z), c.y), c.x);
}
// By the place.
__device__ __forceinline__ float slope(float4 c, float f) {
  return fmaf(f, fmaf(3 * f, c.w, c.z + c.z), c.y);
}

// ---- Densities ----

template <bool kOneType>
__global__ void __launch_bounds__(kWarp)
    densities_kernel(const __grid_constant__ EmbeddedDensities op, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ Cluster cluster;
  const int lane = threadIdx.x;
  wait_for_previous();
  release_next();
  const Warp w{op.pairs, cluster, list_of_block(op.pairs), lane, nullptr};
  if (w.list.begin == w.list.end) return;
  load_cluster(op.pairs, w.list.cluster, lane, cluster);
  float at_i[kClusterSize][1] = {};
  over_rounds(w, [&](const Partner& j) {
    float at_j = 0;
    meet_cluster(w, j, [&](int i, const Separation& d) {
      const Place at = place_of(op.pairs, d.square);
      const int type = cluster.type[i];
      const float here =
          value(look_up<kOneType>(op.pairs, kDensity, at.interval, type, j.type), at.fraction);
      at_i[i][0] += here;
      at_j += kOneType ? here
                       : value(look_up<kOneType>(op.pairs, kDensity, at.interval, j.type, type),
                               at.fraction);
    });
    if (at_j != 0) add_fixed(op.sums + j.slot, to_fixed(at_j, op.unit));
  });
  pairs::fold_lanes(at_i, lane);
  const int64_t sum = to_fixed(at_i[0][0], op.unit);
  if (lane % 4 == 0 && sum != 0) add_fixed(op.sums + w.list.cluster * kClusterSize + lane / 4, sum);
}

// ---- Forces ----

template <bool kOneType, bool kEnergy>
__global__ void __launch_bounds__(kWarp)
    forces_kernel(const __grid_constant__ EmbeddedForces op, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ Cluster cluster;
  const int lane = threadIdx.x;
  wait_for_previous();
  release_next();
  const EmbeddedLists& lists = op.pairs;
  const Warp w{lists, cluster, list_of_block(lists), lane, pairs::energies_of<kEnergy>(lane)};
  if (w.list.begin == w.list.end) return;
  load_cluster(lists, w.list.cluster, lane, cluster);
  pairs::Sums sums{};
  over_rounds(w, [&](const Partner& j) {
    float force[3] = {}, energies = 0;
    meet_cluster(w, j, [&](int i, const Separation& d) {
      const Place at = place_of(lists, d.square);
      const int type = cluster.type[i];
      const float4 product = look_up<kOneType>(lists, kProduct, at.interval, type, j.type);
      const float4 density = look_up<kOneType>(lists, kDensity, at.interval, type, j.type);
      const float slope_i = cluster.site[i].w;
      float embedding;
      if constexpr (kOneType) {
        embedding = (slope_i + j.slope) * slope(density, at.fraction);
      } else {
        const float4 mirrored = look_up<kOneType>(lists, kDensity, at.interval, j.type, type);
        embedding =
            fmaf(j.slope, slope(mirrored, at.fraction), slope_i * slope(density, at.fraction));
      }
      // r phi = product: phi' = (product' - phi) / r
      const float energy = value(product, at.fraction) * at.inverse;
      const float by_r = slope(product, at.fraction) * lists.per_spacing;
      const float pair = (by_r - energy) * at.inverse;
      const float over_r = -fmaf(embedding, lists.per_spacing, pair) * at.inverse;
      pairs::add_force(over_r, d, i, force, sums);
      if constexpr (kEnergy) energies += energy;
    });
    if constexpr (kEnergy) w.energies->form += energies;
    pairs::add_j_force<kEnergy>(w, {j.x, j.y, j.z}, j.slot, force, sums);
  });
  pairs::add_i_forces(w, sums);
  if constexpr (kEnergy) {
    pairs::add_i_virial(w, sums);
    pairs::add_energies(w, op.energy + blockIdx.x % pairs::kEnergyPlaces * pairs::kEnergySums);
  }
}

// ---- Slots ----

__global__ void __launch_bounds__(kThreads)
    place_types_kernel(const __grid_constant__ PlaceTypes op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  if (slot < min(*op.used_slots, op.slot_capacity)) place_type(op, slot);
}

__global__ void __launch_bounds__(kThreads)
    embed_atoms_kernel(const __grid_constant__ EmbedAtoms op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  const int slot = blockIdx.x * kThreads + threadIdx.x;
  const bool is_owned = slot < min(*op.owned_slots, op.slot_capacity);
  const long long energy = is_owned ? embed_atom(op, slot) : 0;
  if (!op.energy) return;
  const long long sum = warp_sum(energy);
  if (threadIdx.x % kWarp == 0 && sum != 0) add_fixed(op.energy + kManyBody, sum);
}

}  // namespace embedded

namespace {

LaunchShape by_slot(const char* name, int slots) {
  return {name, blocks_for(slots, embedded::kThreads), embedded::kThreads, 0, Start::kEarly};
}

template <class Op>
LaunchShape by_list(const Op& op) {
  return {Op::kName, static_cast<unsigned>(op.pairs.capacity), kWarp, 0, Start::kEarly};
}

void place_types(const PlaceTypes& op, CudaContext& context) {
  launch(context, by_slot(PlaceTypes::kName, op.slot_capacity), embedded::place_types_kernel, op);
}

void densities(const EmbeddedDensities& op, CudaContext& context) {
  using embedded::densities_kernel;
  launch(context, by_list(op),
         op.pairs.types == 1 ? densities_kernel<true> : densities_kernel<false>, op);
}

void embed_atoms(const EmbedAtoms& op, CudaContext& context) {
  launch(context, by_slot(EmbedAtoms::kName, op.slot_capacity), embedded::embed_atoms_kernel, op);
}

template <bool kOneType>
void forces(const EmbeddedForces& op, CudaContext& context) {
  using embedded::forces_kernel;
  if (op.energy)
    pairs::launch_with_energies(context, by_list(op), forces_kernel<kOneType, true>, op, kManyBody,
                                "embedded_forces.sums");
  else
    launch(context, by_list(op), forces_kernel<kOneType, false>, op);
}

void forces_of_types(const EmbeddedForces& op, CudaContext& context) {
  op.pairs.types == 1 ? forces<true>(op, context) : forces<false>(op, context);
}

}  // namespace

void add_embedded_kernels(CudaKernels& table) {
  table.add<PlaceTypes, place_types>();
  table.add<EmbeddedDensities, densities>();
  table.add<EmbedAtoms, embed_atoms>();
  table.add<EmbeddedForces, forces_of_types>();
}

}  // namespace quiltmd
