// SPDX-License-Identifier: Apache-2.0
// Three-body potentials on the GPU, in double precision. A warp has a cluster of eight atoms in the centre, with four
// lanes for each, as silicon has four neighbours: a lane calculates the whole force on a neighbour, from all triplets
// that it belongs to. So no lane waits for sums of others, at the price of calculating each triplet for both of its
// neighbours. Forces are converted to fixed point once, and the centre gets minus the sum of the integers.
#include "computes/nonbonded/cuda_pair_sums.cuh"
#include "computes/three_body/operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace three_body {

// ---- Neighbours ------------------------------------------------------------------------------

// A block has the clusters of a patch in turn, with so many lanes for each atom: a cluster of possible neighbours.
constexpr int kFindLanes = kClusterSize, kFindThreads = kClusterSize * kFindLanes;

// Fills the row of the atom of these lanes, in order of (code, slot); returns how many neighbours there are.
__device__ __forceinline__ int fill_row(const FindNeighbours& op, int slot, bool exists) {
  const int lane = threadIdx.x % kWarp, own = lane % kFindLanes, codes = 2 * op.grid.codes - 1;
  const unsigned before = (1u << own) - 1;
  const Float4 at = op.slots.local[slot];
  uint32_t* const row = op.rows.entries + static_cast<ptrdiff_t>(slot) * op.rows.width;
  const float reach2 = op.reach * op.reach;
  int count = 0;
  for (int code = 0; code < codes; ++code) {
    const PlacedPatch& patch = op.patches[op.neighbours[blockIdx.x * codes + code]];
    const Vec3d shift = full_shift(op.grid, code);
    const Vec3f from{at.x - static_cast<float>(shift.x), at.y - static_cast<float>(shift.y),
                     at.z - static_cast<float>(shift.z)};
    const int end = patch.start + patch.atoms;
    for (int first = patch.start; first < end; first += kFindLanes) {
      const int j = first + own;
      bool near = exists && j < end && !(code == 0 && j == slot);
      if (near) {
        const Float4 there = op.slots.local[j];
        const Vec3f d{there.x - from.x, there.y - from.y, there.z - from.z};
        near = dot(d, d) < reach2;
      }
      const unsigned all = __ballot_sync(kAllLanes, near) >> (lane - own) & 0xffu;
      const int place = count + __popc(all & before);
      if (near && place < op.rows.width)
        row[place] = static_cast<uint32_t>(j) | static_cast<uint32_t>(code) << kSlotBits;
      count += __popc(all);
    }
  }
  if (exists && own == 0) op.rows.counts[slot] = min(count, op.rows.width);
  return count;
}

__global__ void __launch_bounds__(kFindThreads)
    find_neighbours_kernel(const __grid_constant__ FindNeighbours op, LaunchTimes* times) {
  const Timed timed(times);
  wait_for_previous();
  release_next();
  if (op.faults->refused) return;
  const PlacedPatch patch = op.patches[op.computes[blockIdx.x]];
  const int end = patch.start + patch.atoms;
  int most = 0;
  for (int first = patch.start; first < end; first += kClusterSize) {
    const int slot = first + static_cast<int>(threadIdx.x) / kFindLanes;
    most = max(most, fill_row(op, slot, slot < end));
  }
  most = __reduce_max_sync(kAllLanes, most);
  if (threadIdx.x % kWarp == 0 && most > op.rows.width)
    atomicMax(&op.faults->room_needed[kNeighboursOfAtom], most);
}

// ---- Forces ----------------------------------------------------------------------------------

constexpr int kLanes = kWarp / kClusterSize;  // of an atom in the centre

// The neighbours of an atom within the cutoff, in shared memory, with room for a whole row.
template <class Form>
struct Near {
  NeighbourPlace* atoms;
  typename Form::Bond* bonds;
  uint32_t* slots;
};
template <class Form>
constexpr size_t kBytesOfNear =
    sizeof(NeighbourPlace) + sizeof(typename Form::Bond) + sizeof(uint32_t);

// That of one of the atoms of a cluster.
template <class Form>
__device__ __forceinline__ Near<Form> near_of(char* memory, int width, int centre) {
  auto* const atoms = reinterpret_cast<NeighbourPlace*>(memory);
  auto* const bonds = reinterpret_cast<typename Form::Bond*>(atoms + width * kClusterSize);
  auto* const slots = reinterpret_cast<uint32_t*>(bonds + width * kClusterSize);
  const int first = width * centre;
  return {atoms + first, bonds + first, slots + first};
}

// Where an atom is, from the centre of its patch.
__device__ __forceinline__ Vec3d exact(const Slots& slots, uint32_t slot) {
  const Float4 at = slots.local[slot], low = slots.low[slot];
  return {double(at.x) + low.x, double(at.y) + low.y, double(at.z) + low.z};
}

// Whether the atom of an entry is within the cutoff of an atom that is there; if so, all that is known of it.
template <class Form>
__device__ __forceinline__ bool is_near(const ThreeBodyForces<Form>& op, uint32_t entry,
                                        uint32_t centre, Vec3d at, NeighbourPlace& found) {
  const uint32_t slot = entry & kSlotMask, code = entry >> kSlotBits;
  const Vec3d from = at - full_shift(op.grid, static_cast<int>(code));
  const Vec3d d = exact(op.slots, slot) - from;
  const double r = norm(d);
  const bool once = code ? static_cast<int>(code) < op.grid.codes : slot > centre;
  found = {d, r, op.type_of_atom[op.slots.atom[slot]], once};
  return r < op.cutoff;
}

// Finds the neighbours of the atom of these lanes, in the order of its row; returns their number.
template <class Form>
__device__ __forceinline__ int find_near(const ThreeBodyForces<Form>& op, uint32_t centre,
                                         int entries, const Near<Form>& near) {
  const int lane = threadIdx.x % kWarp, own = lane % kLanes;
  const Vec3d at = exact(op.slots, centre);
  const uint32_t* const row = op.rows.entries + static_cast<size_t>(centre) * op.rows.width;
  const int longest = __reduce_max_sync(kAllLanes, entries);
  int count = 0;
  for (int first = 0; first < longest; first += kLanes) {
    NeighbourPlace found{};
    uint32_t entry = 0;
    bool counts = first + own < entries;
    if (counts) {
      entry = row[first + own];
      counts = is_near(op, entry, centre, at, found);
    }
    const unsigned all = __ballot_sync(kAllLanes, counts) >> (lane - own) & ((1u << kLanes) - 1);
    if (counts) {
      const int place = count + __popc(all & ((1u << own) - 1));
      near.atoms[place] = found;
      near.slots[place] = entry & kSlotMask;
    }
    count += __popc(all);
  }
  __syncwarp();
  return count;
}

// What a lane hands to pairs::add_energies.
struct LaneSums {
  pairs::LaneEnergies* energies;  // null without
  int lane;
};

// Adds the forces on the neighbours, and minus their sum to the centre.
template <bool kEnergy, class Form>
__device__ __forceinline__ void add_centre(const ThreeBodyForces<Form>& op, uint32_t centre,
                                           int count, const Near<Form>& near,
                                           const LaneSums& sums) {
  const int own = sums.lane % kLanes;
  const int type = count > 0 ? op.type_of_atom[op.slots.atom[centre]] : 0;
  const RowsOfCentre<typename Form::Row> rows{
      op.triplets + static_cast<ptrdiff_t>(type) * op.types * op.types, op.types};
  for (int j = own; j < count; j += kLanes) near.bonds[j] = Form::bond(rows, near.atoms, count, j);
  __syncwarp();
  long long rest[3] = {};
  for (int j = own; j < count; j += kLanes) {
    Neighbour found{near.atoms[j]};
    const double energy = Form::add_to_one(rows, near.atoms, near.bonds, count, j, found);
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const long long force = to_fixed(found.force[d], kForceScale);
      add_fixed(op.slots.force[d] + near.slots[j], force);
      rest[d] -= force;
    }
    if constexpr (kEnergy) {
      sums.energies->form += energy;
      sums.energies->virial.add_product(found.force, found.d);
    }
  }
#pragma unroll
  for (int d = 0; d < 3; ++d) {
#pragma unroll
    for (int bit = kLanes / 2; bit > 0; bit >>= 1)
      rest[d] += __shfl_xor_sync(kAllLanes, rest[d], bit);
    if (own == 0 && rest[d] != 0) add_fixed(op.slots.force[d] + centre, rest[d]);
  }
}

template <class Form, bool kEnergy>
__global__ void __launch_bounds__(kWarp)
    forces_kernel(const __grid_constant__ ThreeBodyForces<Form> op, LaunchTimes* times) {
  const Timed timed(times);
  extern __shared__ double memory[];
  const int lane = threadIdx.x, atom = lane / kLanes;
  wait_for_previous();
  release_next();
  const LaneSums sums{pairs::energies_of<kEnergy>(lane), lane};
  const Near<Form> near = near_of<Form>(reinterpret_cast<char*>(memory), op.rows.width, atom);
  const PlacedPatch patch = op.patches[op.computes[op.first + static_cast<int>(blockIdx.x)]];
  const int end = patch.start + patch.atoms;
  for (int first = patch.start; first < end; first += kClusterSize) {
    const int centre = first + atom;
    const int entries = centre < end ? op.rows.counts[centre] : 0;
    const int count = find_near(op, static_cast<uint32_t>(centre), entries, near);
    add_centre<kEnergy>(op, static_cast<uint32_t>(centre), count, near, sums);
    __syncwarp();
  }
  if constexpr (kEnergy)
    pairs::add_energies(sums, op.energy + blockIdx.x % pairs::kEnergyPlaces * pairs::kEnergySums);
}

}  // namespace three_body

namespace {

void find_neighbours(const FindNeighbours& op, CudaContext& context) {
  launch(context,
         {FindNeighbours::kName, static_cast<unsigned>(op.count), three_body::kFindThreads, 0,
          Start::kEarly},
         three_body::find_neighbours_kernel, op);
}

template <class Form>
void forces(const ThreeBodyForces<Form>& op, CudaContext& context) {
  using three_body::forces_kernel;
  const size_t shared = three_body::kBytesOfNear<Form> * op.rows.width * kClusterSize;
  const LaunchShape shape{Form::kKernel, static_cast<unsigned>(op.count), kWarp, shared,
                          Start::kEarly};
  if (op.energy)
    pairs::launch_with_energies(context, shape, forces_kernel<Form, true>, op, kManyBody,
                                "three_body_forces.sums");
  else
    launch(context, shape, forces_kernel<Form, false>, op);
}

}  // namespace

void add_three_body_kernels(CudaKernels& table) {
  table.add<FindNeighbours, find_neighbours>();
  ThreeBodyForms::for_each([&]<class Form>() { table.add<ThreeBodyForces<Form>, forces<Form>>(); });
}

}  // namespace quiltmd
