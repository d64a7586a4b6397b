// SPDX-License-Identifier: Apache-2.0
// Bonded terms on a GPU: one thread a term, all kinds in one launch, in double precision as on the
// host. Terms are few (one for every five atoms of a solvated protein, none in water), so what
// counts is to be short, not to be thrifty: a torsion takes about a microsecond however few there
// are.
#include <algorithm>

#include "computes/bonded/cuda_kernels.h"
#include "computes/bonded/term_physics.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 64;
using Real = double;

struct FixedForce {
  int64_t x, y, z;
};

__device__ __forceinline__ void add_fixed(int64_t* to, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

__device__ __forceinline__ void add_force(const Slots& s, uint32_t entry, FixedForce f) {
  const uint32_t slot = entry & kSlotMask;
  add_fixed(s.force[0] + slot, f.x);
  add_fixed(s.force[1] + slot, f.y);
  add_fixed(s.force[2] + slot, f.z);
}

// Position of a term's atom as seen from the base patch.
__device__ __forceinline__ Vec3d position(const TermForces& op, uint32_t entry) {
  const uint32_t slot = entry & kSlotMask;
  const Float4 high = op.slots.local[slot], low = op.slots.low[slot];
  const Vec3d within{static_cast<double>(high.x) + low.x, static_cast<double>(high.y) + low.y,
                     static_cast<double>(high.z) + low.z};
  return within + op.exact_shifts[entry >> kSlotBits];
}

// Add energies over the lanes of a warp; lanes without a term bring zero.
__device__ __forceinline__ void add_energy(int64_t* to, double value) {
  int64_t sum = to_fixed(value, kEnergyScale);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if ((threadIdx.x & 31) == 0 && sum != 0) add_fixed(to, sum);
}

// Terms of one kind: thread i of `count` rounded up to whole warps.
template <class Form>
__device__ __forceinline__ void evaluate(const TermForces& op, TermKind kind, int i, int count) {
  constexpr int n = Form::kAtoms;
  const auto k = static_cast<int>(kind);
  TermValue<Real, n> value{};
  if (i < count) {
    const PlacedTerm placed = op.placed[k][i];
    const double* from = op.tables[k].parameters + static_cast<int64_t>(placed.term) * 4;
    const Real parameters[4] = {static_cast<Real>(from[0]), static_cast<Real>(from[1]),
                                static_cast<Real>(from[2]), static_cast<Real>(from[3])};
    Vec3d r[n];
    Vec3<Real> b[n - 1];
#pragma unroll
    for (int a = 0; a < n; ++a) r[a] = position(op, placed.entry[a]);
#pragma unroll
    for (int a = 0; a + 1 < n; ++a) {
      const Vec3d apart = r[a + 1] - r[a];
      b[a] = {static_cast<Real>(apart.x), static_cast<Real>(apart.y), static_cast<Real>(apart.z)};
    }
    value = Form::template evaluate<Real>(b, parameters);
    FixedForce rest{0, 0, 0};
#pragma unroll
    for (int a = 0; a + 1 < n; ++a) {
      const FixedForce f{to_fixed(value.force[a].x, kForceScale),
                         to_fixed(value.force[a].y, kForceScale),
                         to_fixed(value.force[a].z, kForceScale)};
      add_force(op.slots, placed.entry[a], f);
      rest = {rest.x - f.x, rest.y - f.y, rest.z - f.z};
    }
    add_force(op.slots, placed.entry[n - 1], rest);
  }
  if (op.energy) {
    constexpr EnergyKind first = Form::kKinds[0], second = Form::kKinds[1];
    add_energy(op.energy + first, value.energy[0]);
    if constexpr (Form::kEnergies == 2) add_energy(op.energy + second, value.energy[1]);
  }
}

__device__ __forceinline__ int whole_warps(int count) { return (count + 31) & ~31; }

// Kinds one after the other, each from a whole warp on, so that no warp has two. The counts are on
// the device: the grid is as large as the machine takes, and strides.
__global__ void __launch_bounds__(kThreads)
    term_forces_kernel(const __grid_constant__ TermForces op) {
  wait_for_previous();
  int count[kTermKinds];
#pragma unroll
  for (int k = 0; k < kTermKinds; ++k) count[k] = min(op.counts[k], op.capacity[k]);
  const int bonds = static_cast<int>(TermKind::kBond), angles = static_cast<int>(TermKind::kAngle);
  const int torsions = static_cast<int>(TermKind::kTorsion);
  const int pairs = static_cast<int>(TermKind::kPair14);
  // The slowest kind first.
  const int end_torsions = whole_warps(count[torsions]);
  const int end_angles = end_torsions + whole_warps(count[angles]);
  const int end_pairs = end_angles + whole_warps(count[pairs]);
  const int end = end_pairs + whole_warps(count[bonds]);
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < end; i += gridDim.x * kThreads) {
    if (i < end_torsions) {
      evaluate<TorsionForm>(op, TermKind::kTorsion, i, count[torsions]);
    } else if (i < end_angles) {
      evaluate<AngleForm>(op, TermKind::kAngle, i - end_torsions, count[angles]);
    } else if (i < end_pairs) {
      evaluate<Pair14Form>(op, TermKind::kPair14, i - end_angles, count[pairs]);
    } else {
      evaluate<BondForm>(op, TermKind::kBond, i - end_pairs, count[bonds]);
    }
  }
}

void term_forces(const TermForces& op, CudaContext& context) {
  int64_t most = 0;
  for (const int capacity : op.capacity) most += (capacity + 31) / 32 * 32;
  const unsigned blocks =
      std::min(blocks_for(most, kThreads), static_cast<unsigned>(32 * context.sm_count));
  launch(context, {TermForces::kName, blocks, kThreads, 0, Start::kEarly}, term_forces_kernel, op);
}

}  // namespace

void add_bonded_kernels(CudaKernels& table) {
  table.add<PlaceTerms, place_terms>();
  table.add<TermForces, term_forces>();
}

}  // namespace quiltmd
