// SPDX-License-Identifier: Apache-2.0
// Pair forces on the GPU: one warp for one piece of the list of one i-cluster. Each lane holds one j
// atom and meets the eight i atoms two at a time; these lie in shared memory, where all lanes
// read the same word. So the inner loop has no shuffle, no gather and no divergent branch. Larger
// clusters would load j less often but meet more pairs beyond the cutoff; i atoms in registers would
// spare two loads a pair but halve the warps in flight, which was slower.
//
// Blocks are single warps, which the hardware deals out as others end: lists differ in length. Warps
// that stay and take list after list would gain 2 % for a million atoms, and lose a quarter for few.
// Sums: j forces are converted to fixed point per list entry, i forces once per piece; what the
// integers of a piece lack to zero is the force on the first i atom. So every sum of forces is
// exactly zero, and nothing depends on the order in which pieces run.
// Of the pairs in a young list, 40 % (cutoff 1.2 nm) to 50 % (0.9 nm) are beyond the cutoff. Where no lane's
// j atom is within the cutoff of either of two i atoms, the warp computes no more than their distances.
// Atoms without the pair form (two of three in water have no Lennard-Jones) go last in the cluster;
// where at most half have it, the other half is evaluated without. Where charges have a shorter cutoff than the
// form, entries beyond their reach come last in a list, and their rounds evaluate the form alone.
#include <algorithm>

#include "computes/nonbonded/cuda_pair_math.cuh"
#include "computes/nonbonded/cuda_pair_sums.cuh"
#include "computes/nonbonded/operations.h"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"
#include "math/fixed.h"

namespace quiltmd {
namespace pairs {

// So few warps that a thread may have 72 registers; then no pair form spills common values.
constexpr int kWarpsPerProcessor = 28;
// With energies 80 registers are sufficient if their sums are in shared memory.
constexpr int kWarpsWithEnergies = 24;
// i atoms for each vote of the lanes on whether any pair is within the cutoff. With one, a warp waits longer
// for each; with four, the compiler mixes their instructions and spills registers to memory.
constexpr int kAtomsAtOnce = 2;
static_assert(kClusterSize % kAtomsAtOnce == 0);

// The j atom of a lane.
struct Partner {
  float x, y, z, charge;
  float2 form;    // what the pair form keeps of it
  float cutoff2;  // of pairs with i atoms that may have the form
  uint32_t slot;
  uint32_t interacts, counts;  // bits by place in the cluster's slots; of masked entries
};

// Entries of a round: with masks or without; or, beyond the Coulomb cutoff, only with the form.
enum class Round { kMasked, kPlain, kApart };

// The same value, held in a register: otherwise the compiler reads it from constant memory again for each
// pair. `zero` is 0, which the compiler must not be able to tell.
__device__ __forceinline__ float in_register(float value, int zero) {
  return __int_as_float(__float_as_int(value) | zero);
}

// Some multiply-adds take two constants, but an instruction can read only one operand from constant memory:
// the other one of each is held in a register here.
template <int kDegree>
__device__ __forceinline__ PairParameters kept_constants(PairParameters p, int zero) {
  SwitchConstants<float>& s = p.switching;
  for (float* constant :
       {&p.t_scale, &p.ewald.force[kDegree], &s.start, &s.force_12[5], &s.force_6[5]})
    *constant = in_register(*constant, zero);
  return p;
}

// Keeps the compiler from finding out anew in every round where something lies in shared memory: it
// fetches the address from this very lane.
template <class T>
__device__ __forceinline__ T* kept(T* shared) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  return static_cast<T*>(
      __cvta_shared_to_generic(__shfl_sync(kAllLanes, address, threadIdx.x % kWarp)));
}

__device__ __forceinline__ float4 load4(const Float4* p) {
  return *reinterpret_cast<const float4*>(p);
}

template <class K>
__device__ __forceinline__ uint32_t own_entry(const K& k) {
  return static_cast<uint32_t>(k.list.cluster) * kClusterSize;
}

// The entry at a place; beyond the list's end, the cluster's own first atom, moved by the last of the
// shifts, which is to far away.
template <class K>
__device__ __forceinline__ uint32_t load_entry(const K& k, int index) {
  const uint32_t nothing = own_entry(k) | static_cast<uint32_t>(k.op.codes) << kSlotBits;
  return index < (K::kTwoCutoffs ? k.list.apart_end : k.list.end) ? k.op.entries[index] : nothing;
}

// Uses an instruction that is opaque to the compiler, which would otherwise recompute each address from the
// entry.
__device__ __forceinline__ uint32_t slot_of(uint32_t entry) {
  uint32_t slot;
  asm("and.b32 %0, %1, %2;" : "=r"(slot) : "r"(entry), "n"(kSlotMask));
  return slot;
}

template <Round kRound, class K>
__device__ __forceinline__ Partner load_partner(const K& k, uint32_t entry, int index) {
  Partner j;
  j.slot = slot_of(entry);
  const float4 site = load4(k.op.slots.local + j.slot);
  const float4 shift = k.shifts[entry >> kSlotBits];
  j.x = site.x + shift.x;
  j.y = site.y + shift.y;
  j.z = site.z + shift.z;
  j.charge = site.w;
  j.form = load2(k.op.slots.pair_numbers + j.slot);
  if constexpr (K::kTwoCutoffs)
    j.cutoff2 = j.form.y != 0 ? k.parameters.cutoff2 : k.parameters.coulomb_cutoff2;
  if constexpr (kRound == Round::kMasked) {
    j.interacts = index < k.list.masked ? k.op.masks[index] : 0xffu;
    const uint32_t place =
        entry - own_entry(k);  // below kClusterSize: of this cluster itself, code 0
    j.counts = place < kClusterSize ? (1u << place) - 1 : 0xffu;
    if (k.op.long_exclusion_masks && index < k.list.masked)
      j.counts &= ~uint32_t{k.op.long_exclusion_masks[index]};
  }
  return j;
}

// The vector from an i atom to the j atom of a lane.
struct Separation {
  float x, y, z, square;
  bool near;  // within the cutoff, and the pair counts
};

// Cutoff of pairs of an i atom and this j atom.
template <Round kRound, class K>
__device__ __forceinline__ float cutoff2_of(const K& k, const Partner& j, bool has_form) {
  if constexpr (!K::kTwoCutoffs || kRound == Round::kApart) return k.parameters.cutoff2;
  return has_form ? j.cutoff2 : k.parameters.coulomb_cutoff2;
}

template <Round kRound, class K>
__device__ __forceinline__ Separation separation(const K& k, const Partner& j, int i,
                                                 bool has_form) {
  const float4 site = k.cluster.site[i];
  const float x = j.x - site.x, y = j.y - site.y, z = j.z - site.z;
  const float square = fmaf(x, x, fmaf(y, y, fmaf(z, z, k.parameters.least_square)));
  bool near = square < cutoff2_of<kRound>(k, j, has_form);
  if constexpr (kRound == Round::kMasked) near = near && ((j.counts >> k.cluster.index[i]) & 1u);
  return {x, y, z, square, near};
}

// Energies that a lane sums up over the i atoms.
struct PairEnergies {
  float form = 0, coulomb = 0;
};

// The force of a pair divided by r; its energies are added where it is near.
template <Round kRound, int kDegree, bool kEnergy, class K>
__device__ __forceinline__ float pair_force(const K& k, const Partner& j, int i, bool has_form,
                                            const Separation& d, PairEnergies& energies) {
  using Form = typename K::Form;
  constexpr bool kMasked = kRound == Round::kMasked, kCharges = kRound != Round::kApart;
  const PairParameters& p = k.parameters;
  const float inverse = inverse_sqrt(d.square);
  const Distance<Single> r{d.square, inverse, inverse * inverse};
  std::conditional_t<kMasked, bool, Always> interacts{};
  if constexpr (kMasked) interacts = (j.interacts >> k.cluster.index[i]) & 1u;
  const float t = fmaf(d.square, p.t_scale, -1.0f);
  float charges = kCharges ? k.cluster.site[i].w * j.charge : 0;
  if constexpr (K::kTwoCutoffs && kCharges)
    if (has_form) charges = d.square < p.coulomb_cutoff2 ? charges : 0.0f;
  float force = 0;
  if constexpr (kCharges)
    force = coulomb_force<Single, kDegree>(charges, r, t, interacts, p.ewald.force);
  if (has_form) {
    const auto pair = Form::template evaluate<kEnergy, Single>(k.cluster.form[i], j.form.x,
                                                               j.form.y, r, p, k.op.table);
    force = fmaf(Single::if_or_zero(interacts, pair.force_r), r.inverse2, force);
    if constexpr (kEnergy)
      energies.form += d.near ? Single::if_or_zero(interacts, pair.energy) : 0.0f;
    if constexpr (FormOnMesh<Form>) {
      const float product =
          Form::template product<Single>(k.cluster.form[i], j.form.x, j.form.y, p, k.op.table);
      force += force_off_mesh<Single>(product, t, p);
      if constexpr (kEnergy)
        energies.form += d.near ? energy_off_mesh<Single>(product, t, interacts, p) : 0.0f;
    }
  }
  if constexpr (kEnergy && kCharges) {
    const float coulomb = coulomb_energy<Single, kEwaldDegree>(charges, r, t, interacts,
                                                               p.coulomb_shift, p.ewald.energy);
    energies.coulomb += d.near ? coulomb : 0.0f;
  }
  return force;
}

// One lane's j atom against all i atoms, of which the first kFormAtoms have the pair form.
template <int kFormAtoms, Round kRound, int kDegree, bool kEnergy, class K>
__device__ __forceinline__ void meet_cluster(const K& k, const Partner& j, Sums& sums) {
  float force[3] = {};
  PairEnergies energies;
#pragma unroll
  for (int first = 0; first < (kRound == Round::kApart ? kFormAtoms : kClusterSize);
       first += kAtomsAtOnce) {
    Separation d[kAtomsAtOnce];
    bool near = false;
#pragma unroll
    for (int n = 0; n < kAtomsAtOnce; ++n) {
      d[n] = separation<kRound>(k, j, first + n, first + n < kFormAtoms);
      near = near || d[n].near;
    }
    if (!__any_sync(kAllLanes, near)) continue;
#pragma unroll
    for (int n = 0; n < kAtomsAtOnce; ++n) {
      const int i = first + n;
      const float over_r =
          pair_force<kRound, kDegree, kEnergy>(k, j, i, i < kFormAtoms, d[n], energies);
      if (d[n].near) add_force(over_r, d[n], i, force, sums);
    }
  }
  if constexpr (kEnergy) {
    k.energies->form += energies.form;
    k.energies->coulomb += energies.coulomb;
  }
  add_j_force<kEnergy>(k, {j.x, j.y, j.z}, j.slot, force, sums);
}

// A round that begins at or after this place: from the end of those with charges on, one of the form alone.
template <class K>
__device__ __forceinline__ int from_round(const K& k, int round) {
  if constexpr (!K::kTwoCutoffs) return round;
  return round < k.list.end ? round : max(round, k.list.apart);
}

template <Round kRound>
constexpr std::integral_constant<Round, kRound> constant{};

// Every `stride`th round of 32 entries from round `first` on, whose entries are `next`; those with
// masks come first, those with the form alone last. The next round's entry is on its way from memory meanwhile.
// So which rounds a piece has does not depend on how many shells are evaluated. A round in which entries with
// charges end may hold some of the others as well.
template <int kFormAtoms, int kDegree, bool kEnergy, class K>
__device__ __forceinline__ void evaluate(const K& k, int first, int stride, uint32_t next,
                                         Sums& sums) {
  const int step = stride * kWarp;
  int round = from_round(k, k.list.begin + first * kWarp);
  const auto evaluate_round = [&](auto kind) {
    constexpr Round kRound = decltype(kind)::value;
    const uint32_t entry = next;
    const int following = from_round(k, round + step);
    next = load_entry(k, following + k.lane);
    const Partner j = load_partner<kRound>(k, entry, round + k.lane);
    meet_cluster<kFormAtoms, kRound, kDegree, kEnergy>(k, j, sums);
    round = following;
  };
#pragma unroll 1
  while (round < k.list.masked) evaluate_round(constant<Round::kMasked>);
#pragma unroll 1
  while (round < k.list.end) evaluate_round(constant<Round::kPlain>);
  if constexpr (K::kTwoCutoffs)
#pragma unroll 1
    while (round < k.list.apart_end) evaluate_round(constant<Round::kApart>);
}

// Bring the i-cluster into shared memory, atoms with the pair form first; returns how many have it.
template <class Form, bool kTwo>
__device__ __forceinline__ int load_cluster(const Kernel<Form, kTwo>& k, Cluster<Form>& cluster) {
  const Slots& slots = k.op.slots;
  const int own = k.lane % kClusterSize, slot = k.list.cluster * kClusterSize + own;
  const float2 numbers = load2(slots.pair_numbers + slot);
  const float4 site = load4(slots.local + slot);
  const Float2 form{numbers.x, numbers.y};
  const bool has_form = kTwo ? form.y != 0 : Form::interacts(form);
  const unsigned with = __ballot_sync(kAllLanes, has_form) & 0xffu, before = (1u << own) - 1;
  const int count = __popc(with);
  const int place = has_form ? __popc(with & before) : count + __popc(~with & before);
  cluster.site[place] = site;
  cluster.form[place] = Form::template site<Single>(form, k.op.table, k.op.parameters.types);
  cluster.index[place] = own;
  return count;
}

// Shift of a j atom for a code; the code after the last moves it far away (padding i atoms are at +kFarAway).
__device__ __forceinline__ float4 shift_of(const PairForces& op, int code) {
  if (code >= op.codes) return {-kFarAway, 0, 0, 0};
  const Vec3f shift = op.shifts[code];
  return {shift.x, shift.y, shift.z, 0};
}

// The first entry of the rounds of a piece with the form alone, which is in entry `begin` of the list or before.
// It may be that of a round before the end of those with charges, which are evaluated in order.
__device__ __forceinline__ int first_apart(const List& list, int begin, int piece, int pieces) {
  const int round = begin / kWarp, rest = (round - piece) % pieces;
  const int own = round + (rest > 0 ? pieces - rest : -rest);
  return list.begin + own * kWarp;
}

// Blocks are many and short, so they wait for memory as few times as can be before they compute:
// once for the shifts, the range and the list's header, once for entries and the cluster. All of the
// header is part of the question whether to go on, or the compiler would fetch half of it after.
template <class Form, int kDegree, bool kEnergy, bool kTwo>
__global__ void __launch_bounds__(kWarp, kEnergy ? kWarpsWithEnergies : kWarpsPerProcessor)
    pair_kernel(const __grid_constant__ PairForces op, LaunchTimes* times) {
  const Timed timed(times);
  __shared__ Cluster<Form> cluster;
  extern __shared__ float4 shifts[];
  const int lane = threadIdx.x, block = blockIdx.x, pieces = op.pieces;
  const float4 shift = shift_of(op, lane);
  wait_for_previous();
  release_next();
  const int offset = pieces > 1 ? block / pieces : block, piece = block - offset * pieces;
  const int number = op.first + offset, end = *op.end;
  const PairList& stored = op.lists[number];
  const int count = stored.within[op.shells.last];
  const int all = kTwo ? stored.within[op.shells.last_apart] : count;
  const int4 header = *reinterpret_cast<const int4*>(op.lists + number);  // up to within[0]
  if ((number >= end) | (piece * kWarp >= max(all, header.w))) return;
  List list{header.x, header.y, header.y + header.z, header.y + count, 0, header.y + all};
  if constexpr (kTwo) list.apart = first_apart(list, stored.apart_begin(), piece, pieces);
  // The zero is the sign of the cluster's number, which is not negative.
  const PairParameters parameters = kept_constants<kDegree>(op.parameters, header.x >> 31);
  const Kernel<Form, kTwo> k{
      op, parameters, cluster, kept(shifts), list, lane, energies_of<kEnergy>(lane)};
  const uint32_t entry = load_entry(k, from_round(k, list.begin + piece * kWarp) + lane);
  shifts[lane] = shift;
#pragma unroll 1
  for (int code = lane + kWarp; code <= op.codes; code += kWarp) shifts[code] = shift_of(op, code);
  const int form_atoms = load_cluster(k, cluster);
  __syncwarp();
  Sums sums{};
  if (form_atoms <= kHalf) {
    evaluate<kHalf, kDegree, kEnergy>(k, piece, pieces, entry, sums);
  } else {
    evaluate<kClusterSize, kDegree, kEnergy>(k, piece, pieces, entry, sums);
  }
  add_i_forces(k, sums);
  if constexpr (kEnergy) {
    add_i_virial(k, sums);
    add_energies(k, op.energy + block % kEnergyPlaces * kEnergySums);
  }
}

using PairKernel = void (*)(PairForces, LaunchTimes*);

// Pair forms beside which charges may have a shorter cutoff.
template <class Form>
constexpr bool kGoesWithTwoCutoffs =
    std::is_same_v<Form, ByRule<LennardJones>> || std::is_same_v<Form, ByTable<LennardJones>>;

// Coefficients beyond the degree are zero: forces have the same bits with energies and without.
template <class Form, bool kTwo>
PairKernel kernel_of(const PairForces& op) {
  if (op.energy) return pair_kernel<Form, kEwaldDegree, true, kTwo>;
  return with_force_degree(op.parameters.ewald, [](auto degree) -> PairKernel {
    return pair_kernel<Form, decltype(degree)::value, false, kTwo>;
  });
}

PairKernel kernel_of(const PairForces& op) {
  return PairForms::with(op.parameters.form, [&]<class Form>(Form) -> PairKernel {
    if constexpr (kGoesWithTwoCutoffs<Form>)
      if (op.shells.last_apart >= 0) return kernel_of<Form, true>(op);
    return kernel_of<Form, false>(op);
  });
}

}  // namespace pairs

void pair_forces(const PairForces& op, CudaContext& context) {
  const auto kernel = pairs::kernel_of(op);
  const auto blocks = static_cast<unsigned>(op.capacity) * static_cast<unsigned>(op.pieces);
  const size_t shared = std::max(op.codes + 1, kWarp) * sizeof(float4);
  const LaunchShape shape{PairForces::kName, blocks, kWarp, shared, Start::kEarly};
  if (!op.energy) {
    launch(context, shape, kernel, op);
    return;
  }
  pairs::launch_with_energies(context, shape, kernel, op, kPairForm, "pair_forces.sums");
}

void add_nonbonded_kernels(CudaKernels& table) { table.add<PairForces, pair_forces>(); }

}  // namespace quiltmd
