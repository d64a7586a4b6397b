// SPDX-License-Identifier: Apache-2.0
// Bonded terms on a GPU: one thread a term, all kinds in one launch, in double precision as on the
// host. Terms are few (one for every five atoms of a solvated protein, none in water), so what
// counts is to be short, not to be thrifty: a torsion takes about a microsecond however few there
// are.
//
// Terms of one neighbourhood come one after the other and share atoms, and additions to global
// memory are what costs most. So a block gathers its forces in a table in shared memory, as the
// host's threads do, and adds the sums, neighbouring slots together.
#include <algorithm>

#include "computes/bonded/cuda_kernels.h"
#include "computes/bonded/term_points.h"
#include "computes/energies.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "math/fixed.h"

namespace quiltmd {
namespace {

constexpr int kThreads = 128;

struct FixedForce {
  int64_t x, y, z;
};

__device__ __forceinline__ void add_fixed(int64_t* to, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

__device__ __forceinline__ void add_to_slot(const Slots& s, int slot, FixedForce f) {
  add_fixed(s.force[0] + slot, f.x);
  add_fixed(s.force[1] + slot, f.y);
  add_fixed(s.force[2] + slot, f.z);
}

// Sums of forces by slot. Shared memory adds words of 32 bits, so a number is two: its lowest 24
// bits and the rest. A term adds to a slot once; sums of as many as there are threads fit.
class ForceTable {
 public:
  __device__ void clear() {
    for (int place = threadIdx.x; place < kPlaces; place += kThreads) clear(place);
  }

  // Add to the sum of a slot; where another slot has its place or a force is huge, to the slot.
  __device__ void add(const Slots& s, uint32_t entry, FixedForce f) {
    const int slot = static_cast<int>(entry & kSlotMask), place = slot % kPlaces;
    if (!fits(f.x) || !fits(f.y) || !fits(f.z) || !claim(place, slot)) {
      add_to_slot(s, slot, f);
      return;
    }
    add(place, 0, f.x);
    add(place, 1, f.y);
    add(place, 2, f.z);
  }

  // Add the sums to the slots, and clear.
  __device__ void pass_on(const Slots& s) {
    for (int place = threadIdx.x; place < kPlaces; place += kThreads) {
      const int slot = slot_[place];
      if (slot < 0) continue;
      add_to_slot(s, slot, {sum(place, 0), sum(place, 1), sum(place, 2)});
      clear(place);
    }
  }

 private:
  static constexpr int kPlaces = 256, kLowBits = 24;
  static constexpr int64_t kMaxValue = int64_t{1} << (kLowBits + 31 - 7);  // of 2^7 threads
  static_assert(kThreads <= 1 << 7);

  __device__ static bool fits(int64_t value) { return value < kMaxValue && value >= -kMaxValue; }

  __device__ void clear(int place) {
    slot_[place] = -1;
    for (int d = 0; d < 3; ++d) low_[d][place] = high_[d][place] = 0;
  }

  __device__ bool claim(int place, int slot) {
    const int holder = *const_cast<volatile int*>(slot_ + place);
    if (holder == slot) return true;
    if (holder >= 0) return false;
    const int before = atomicCAS(slot_ + place, -1, slot);
    return before < 0 || before == slot;
  }

  __device__ void add(int place, int d, int64_t value) {
    atomicAdd(low_[d] + place, static_cast<uint32_t>(value) & ((1u << kLowBits) - 1));
    atomicAdd(high_[d] + place, static_cast<int32_t>(value >> kLowBits));
  }

  __device__ int64_t sum(int place, int d) const {
    return (static_cast<int64_t>(high_[d][place]) << kLowBits) + low_[d][place];
  }

  int slot_[kPlaces];  // -1: nobody's
  uint32_t low_[3][kPlaces];
  int32_t high_[3][kPlaces];
};

struct BlockSums {
  ForceTable forces;
  unsigned long long energy[kEnergyKinds];
};

// Add energies over the lanes of a warp; lanes without a term bring zero.
__device__ __forceinline__ void add_energy(unsigned long long& to, double value) {
  int64_t sum = to_fixed(value, kEnergyScale);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if ((threadIdx.x & 31) == 0) atomicAdd(&to, static_cast<unsigned long long>(sum));
}

// Terms of one form: thread i of `count` rounded up to whole warps.
template <class Form, bool kEnergy>
__device__ __forceinline__ void evaluate(const TermForces& op, const TermTable& table, int i,
                                         int count, BlockSums& block) {
  constexpr int n = Form::kAtoms, points = kPointsOf<Form>;
  TermValue<double, points, kEnergiesOf<Form>> value{};
  Symmetric virial{};
  if (i < count) {
    uint32_t placed[n + 1];
    double parameters[Form::kPrepared];
    Vec3d r[points], b[points - 1];
#pragma unroll
    for (int a = 0; a <= n; ++a) placed[a] = table.placed[static_cast<int64_t>(i) * (n + 1) + a];
    const double* from = table.parameters + static_cast<int64_t>(placed[n]) * Form::kPrepared;
#pragma unroll
    for (int p = 0; p < Form::kPrepared; ++p) parameters[p] = from[p];
#pragma unroll
    for (int a = 0; a < n; ++a) r[a] = term_position(op, placed[a]);
    if constexpr (kAnchored<Form>) r[n] = anchor_position(op, placed[0], r[0], parameters);
#pragma unroll
    for (int a = 0; a + 1 < points; ++a) b[a] = between_points<Form>(op, r[a], r[a + 1]);
    value = term_value<Form>(op, b, parameters, table.shared);
    if constexpr (kEnergy) virial = term_virial<Form>(b, value, parameters);
    FixedForce rest{0, 0, 0};
#pragma unroll
    for (int a = 0; a + 1 < points; ++a) {
      const FixedForce f{to_fixed(value.force[a].x, kForceScale),
                         to_fixed(value.force[a].y, kForceScale),
                         to_fixed(value.force[a].z, kForceScale)};
      block.forces.add(op.slots, placed[a], f);
      rest = {rest.x - f.x, rest.y - f.y, rest.z - f.z};
    }
    if constexpr (!kAnchored<Form>) block.forces.add(op.slots, placed[n - 1], rest);
  }
  if constexpr (kEnergy) {
#pragma unroll
    for (int e = 0; e < kEnergiesOf<Form>; ++e)
      add_energy(block.energy[kEnergyOf<Form> + e], value.energy[e]);
#pragma unroll
    for (int v = 0; v < Symmetric::kParts; ++v) add_energy(block.energy[kVirial + v], virial[v]);
  }
}

__device__ __forceinline__ int whole_warps(int count) { return (count + 31) & ~31; }

// Thread i of all terms of form k and of those before it in the list: the last of the list first,
// each form from a whole warp on, so that no warp has two.
template <bool kEnergy, int k>
__device__ __forceinline__ void evaluate_nth(const TermForces& op, int i, const int* count,
                                             BlockSums& block) {
  using Form = TermForms::At<k>;
  const int threads = whole_warps(count[k]);
  if (i < threads) {
    evaluate<Form, kEnergy>(op, op.terms.form[k], i, count[k], block);
  } else if constexpr (k > 0) {
    evaluate_nth<kEnergy, k - 1>(op, i - threads, count, block);
  }
}

// The counts are on the device: the grid is as large as the machine takes, and strides. Only the
// first kForms of the list have terms: those after them may need more registers.
template <int kForms, bool kEnergy>
__global__ void __launch_bounds__(kThreads)
    term_forces_kernel(const __grid_constant__ TermForces op, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ BlockSums block;
  const int t = threadIdx.x;
  block.forces.clear();
  if (t < kEnergyKinds) block.energy[t] = 0;
  wait_for_previous();
  int count[kForms], end = 0;
#pragma unroll
  for (int k = 0; k < kForms; ++k) {
    count[k] = op.terms.placed_count[k];
    end += whole_warps(count[k]);
  }
  for (int first = blockIdx.x * kThreads; first < end; first += gridDim.x * kThreads) {
    __syncthreads();
    evaluate_nth<kEnergy, kForms - 1>(op, first + t, count, block);
    __syncthreads();
    block.forces.pass_on(op.slots);
  }
  __syncthreads();
  if (kEnergy && t < kEnergyKinds && block.energy[t] != 0)
    add_fixed(op.energy + t, static_cast<int64_t>(block.energy[t]));
}

template <int kForms>
auto kernel_for(const TermForces& op) {
  return op.energy ? term_forces_kernel<kForms, true> : term_forces_kernel<kForms, false>;
}

auto kernel_with(int forms, const TermForces& op) {
  return forms <= kUsualForms        ? kernel_for<kUsualForms>(op)
         : forms <= kForceFieldForms ? kernel_for<kForceFieldForms>(op)
                                     : kernel_for<kTermForms>(op);
}

void term_forces(const TermForces& op, CudaContext& context) {
  int64_t most = 0;
  int forms = 0;  // up to the last one with terms
  for (int k = 0; k < kTermForms; ++k) {
    const int count = op.terms.form[k].count;
    most += (count + 31) / 32 * 32;
    if (count > 0) forms = k + 1;
  }
  const unsigned blocks =
      std::min(blocks_for(most, kThreads), static_cast<unsigned>(16 * context.sm_count));
  launch(context, {TermForces::kName, blocks, kThreads, 0, Start::kEarly}, kernel_with(forms, op),
         op);
}

}  // namespace

void add_bonded_kernels(CudaKernels& table) {
  table.add<PlaceTerms, place_terms>();
  table.add<TermForces, term_forces>();
}

}  // namespace quiltmd
