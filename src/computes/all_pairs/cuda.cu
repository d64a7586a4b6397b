// SPDX-License-Identifier: Apache-2.0
// All pairs on the GPU: the roster, and the passes over its tiles (cuda_tiles.cuh). The two atoms of a
// pair get forces, derivatives and integrals from one evaluation. Which formula serves a tile follows
// from the places of its atoms, so all ranks that evaluate a tile find the same bits.
#include <algorithm>
#include <cmath>

#include "computes/all_pairs/cuda_tiles.cuh"
#include "computes/nonbonded/cuda_pair_math.cuh"
#include "device/cuda/kernels.h"
#include "device/cuda/launch.h"
#include "device/cuda/warp.cuh"

namespace quiltmd {
namespace all_pairs {

using pairs::force_to_fixed;
using pairs::limited_force;
using pairs::Single;

constexpr int kBlocksPerProcessor = 32;  // several times what runs at once, for an even end
constexpr double kLog2E = 1.44269504088896341;

// ---- The roster ------------------------------------------------------------------------------

constexpr int kScanThreads = 1024;

__global__ void __launch_bounds__(kScanThreads)
    number_clusters_kernel(const __grid_constant__ LayOutRoster op) {
  wait_for_previous();
  int before = 0;
  for (int base = 0; base < op.patch_count; base += kScanThreads) {
    const int p = base + threadIdx.x;
    PlacedPatch patch{};
    if (p < op.patch_count) patch = op.patches[op.placed_index[p]];
    const int clusters = clusters_of(patch.atoms);
    int all = 0;
    const int place = before + block_sum(clusters, &all);
    for (int c = 0; c < clusters && place + c < op.roster_capacity; ++c) {
      const int cluster = patch.start / kClusterSize + c;
      op.place_of_cluster[cluster] = place + c;
      op.roster[place + c] = {cluster, patch.cell};
    }
    before += all;
  }
  if (threadIdx.x == 0) *op.roster_count = min(before, op.roster_capacity);
}

// Partners are a dozen, so they are sorted by insertion.
__device__ void look_up_partners(const LayOutRoster& op, int atom) {
  const int begin = op.exclusions.start[atom], end = op.exclusions.start[atom + 1];
  for (int k = begin; k < end; ++k) {
    const int slot = op.slot_of_atom[op.exclusions.partners[k]];
    const int place =
        slot < 0 ? INT_MAX
                 : op.place_of_cluster[slot / kClusterSize] * kClusterSize + slot % kClusterSize;
    int at = k;
    for (; at > begin && op.partners[at - 1] > place; --at) op.partners[at] = op.partners[at - 1];
    op.partners[at] = place;
  }
}

__global__ void __launch_bounds__(kThreads)
    look_up_kernel(const __grid_constant__ LayOutRoster op) {
  wait_for_previous();
  const int n = blockIdx.x * kThreads + threadIdx.x;
  if (n < op.atoms) look_up_partners(op, n);
  if (op.sites && n < op.roster_capacity) op.visits[n] = 0;
  if (!op.sites || n >= op.slot_capacity) return;
  op.sums[n] = op.derivatives[n] = 0;
  const int place = n / kClusterSize;
  if (place >= *op.roster_count) return;
  const int slot = op.roster[place].cluster * kClusterSize + n % kClusterSize;
  const int32_t atom = op.slots.atom[slot];
  op.sites[slot] = atom < 0 ? BornSite{} : op.site_of_atom[atom];
}

// ---- Passes over pairs -----------------------------------------------------------------------

// Of pairs: any, or up to a cutoff.
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

// ---- Screening: what first and third pass share ----

// Formulas of a tile: three or six terms of the series for atoms that are so far apart, else logarithms.
struct ThreeTerms {
  static constexpr int kUnroll = 8;
};
struct SixTerms {
  static constexpr int kUnroll = 4;
};
struct Logarithms {
  static constexpr int kUnroll = 4;
};

// An atom that screens others.
struct Screen {
  BornSite site;
  ScreeningSeries series;
};

// An atom is to itself as far away as nothing else is.
__device__ __forceinline__ float unless_itself(float r2, bool itself) {
  return itself ? 1.0e20f : r2;
}

template <class Turn>
__device__ __forceinline__ void choose_terms(const SeriesReach& reach, const GroupBox& box,
                                             const Point (&at)[kOwn], const Turn& turn) {
  float r2 = box.distance2(at[0]);
#pragma unroll
  for (int n = 1; n < kOwn; ++n) r2 = fminf(r2, box.distance2(at[n]));
  if (__all_sync(kAllLanes, r2 > reach.three_terms * reach.three_terms)) {
    turn(ThreeTerms{});
  } else if (__all_sync(kAllLanes, r2 > reach.six_terms * reach.six_terms)) {
    turn(SixTerms{});
  } else {
    turn(Logarithms{});
  }
}

// ---- First pass ----

template <bool kNecks, Range kRange>
struct RadiusPass {
  static constexpr bool kEndsAtoms = true, kCutoff = kRange == Range::kCutoff;
  struct Other {
    float4 place;  // and the scaled radius
    ScreeningSeries series;
    float offset_radius, per_offset, radius;
    int neck_type;
  };
  struct Back {
    float sum;
    __device__ __forceinline__ void pass_on() { sum = from_next_lane(sum); }
    __device__ __forceinline__ void give(const RadiusPass& pass, int slot) const {
      add_fixed(pass.op.sums + slot, to_fixed(sum, kScreeningScale));
    }
  };
  const BornRadii& op;
  Point at[kOwn];
  Screen own[kOwn];
  float per_offset[kOwn];
  float sum[kOwn];
  long long total[kOwn];

  __device__ __forceinline__ explicit RadiusPass(const BornRadii& o) : op(o) {}
  __device__ __forceinline__ Screen screen_of(const Placed& atom) const {
    const BornSite site = atom.exists ? load_site(op.sites, atom.slot) : BornSite{};
    return {site, ScreeningSeries::of_value(site.scaled_radius)};
  }
  __device__ __forceinline__ void load(const Placed (&atoms)[kOwn]) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      own[n] = screen_of(atoms[n]);
      per_offset[n] = 1 / own[n].site.offset_radius;
      sum[n] = 0;
      total[n] = 0;
    }
  }
  __device__ __forceinline__ unsigned excluded(int, int) { return 0; }
  __device__ __forceinline__ Other bring(const Placed& atom, const Point& point) const {
    const Screen s = screen_of(atom);
    return {{point.x, point.y, point.z, s.site.scaled_radius},
            s.series,
            s.site.offset_radius,
            1 / s.site.offset_radius,
            s.site.radius,
            s.site.neck_type};
  }
  template <class Turn>
  __device__ __forceinline__ void choose(const GroupBox& box, const Other&, bool, const Turns&,
                                         const Turn& turn) const {
    choose_terms(op.reach, box, at, turn);
  }
  __device__ __forceinline__ void pair(ThreeTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const float r2 = Way(at[n], other).r2, t = inverse(r2), t2 = t * t;
    if (is_beyond<kCutoff>(op.pairs, r2)) return;
    sum[n] = fmaf(t2, other.series.three_terms(t), sum[n]);
    back.sum = fmaf(t2, own[n].series.three_terms(t), back.sum);
  }
  __device__ __forceinline__ void pair(SixTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const float r2 = Way(at[n], other).r2, t = inverse(r2), t2 = t * t;
    if (is_beyond<kCutoff>(op.pairs, r2)) return;
    const float theirs = other.place.w, mine = own[n].site.scaled_radius;
    sum[n] = fmaf(t2 * other.series.leading, six_values(theirs * theirs * t), sum[n]);
    back.sum = fmaf(t2 * own[n].series.leading, six_values(mine * mine * t), back.sum);
  }
  __device__ __forceinline__ void pair(Logarithms, int n, const Other& other, bool itself, bool,
                                       Back& back) {
    const float r2 = unless_itself(Way(at[n], other).r2, itself), per_r = inverse_root(r2);
    if (is_beyond<kCutoff>(op.pairs, r2)) return;
    const float r = r2 * per_r;
    const BornSite& mine = own[n].site;
    const BornSite theirs{other.offset_radius, other.place.w, other.radius, other.neck_type};
    sum[n] += screening_value(r, per_r, mine.offset_radius, per_offset[n], theirs.scaled_radius,
                              other.series.leading);
    back.sum += screening_value(r, per_r, theirs.offset_radius, other.per_offset,
                                mine.scaled_radius, own[n].series.leading);
    if constexpr (kNecks) {
      sum[n] += neck_of<float>(op.necks, mine, theirs, r).value;
      back.sum += neck_of<float>(op.necks, theirs, mine, r).value;
    }
  }
  __device__ __forceinline__ void end_tile(bool) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      total[n] += to_fixed(sum[n], kScreeningScale);
      sum[n] = 0;
    }
  }
  __device__ __forceinline__ void end_row(const Placed (&atoms)[kOwn]) const {
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      if (atoms[n].counts) add_fixed(op.sums + atoms[n].slot, total[n]);
  }
  __device__ __forceinline__ int32_t* visits() const { return op.visits; }
  __device__ __forceinline__ void end_atom(const Placed& atom) const {
    if (atom.counts) set_radius(op, atom.slot);
  }
};

template <bool kNecks, Range kRange>
__global__ void __launch_bounds__(kThreads, 6)
    born_radii_kernel(const __grid_constant__ BornRadii op) {
  wait_for_previous();
  release_next();
  RadiusPass<kNecks, kRange> pass(op);
  meet_all(op.pairs, pass);
}

// ---- Second pass ----

enum class Medium { kVacuum, kSolvent, kSaltSolution };

// Formulas of a tile. Where radii are small beside the distance, r^2 is all of f^2 to rounding; there the
// atoms behave as charges in the solvent do.
struct Far {
  static constexpr int kUnroll = 4;
};
struct Near {
  static constexpr int kUnroll = 4;
};
// With itself or excluded atoms.
struct Special {
  static constexpr int kUnroll = 4;
};
// From r^2 = 4 q B_i B_j on: exp(-q)/(4q) is 2e-9, and (1 + q) exp(-q) 2e-6 of what derivatives by
// radii are nearby, beside a force of another charge that is (4q)^(3/2) = 512 times weaker.
constexpr float kFarRatio = 4 * 16;

template <class Form, Medium kMedium, Range kRange, bool kEnergy>
struct ForcePass {
  static constexpr bool kEndsAtoms = kMedium != Medium::kVacuum, kCutoff = kRange == Range::kCutoff;
  static constexpr bool kSolvent = kMedium != Medium::kVacuum,
                        kSalt = kMedium == Medium::kSaltSolution;
  static constexpr float kSomeRadius = 0.1f;  // nm, of padding, which has no charge
  struct Other {
    float4 place;  // and the charge
    Float2 numbers;
    float radius, per_radius;
    float unused;  // 48 bytes in all: of eight neighbours each has memory banks of its own
  };
  struct Back {
    ForceSum force;
    float derivative;
    __device__ __forceinline__ void pass_on() {
      force.pass_on();
      if constexpr (kSolvent) derivative = from_next_lane(derivative);
    }
    __device__ __forceinline__ void give(const ForcePass& pass, int slot) const {
      force.give(pass.op.pairs.slots, slot);
      if constexpr (kSolvent)
        add_fixed(pass.op.born.derivatives + slot, derivative_to_fixed(derivative));
    }
  };
  struct Own {
    typename Form::template Site<Single> site;
    float charge, radius;
    float decay_rate;  // -log2(e) / (4 B)
  };
  struct Energy {
    float form, coulomb, polarised;
  };
  struct EnergyTotal {
    long long form, coulomb, polarised, surface;
  };
  const AllPairForces& op;
  // Charges in the solvent: 2^(rate f + log) is exp(-kappa f)/eps.
  float inverse_dielectric, kappa, rate, log, per_cutoff;
  Point at[kOwn];
  Own own[kOwn];
  Partners partners[kOwn];
  ForceSum force[kOwn];
  ForceTotal total[kOwn];
  float derivative[kOwn];
  long long derivative_total[kOwn];
  bool counts[kOwn];
  Energy energy[kOwn];
  EnergyTotal energy_total{};

  __device__ __forceinline__ explicit ForcePass(const AllPairForces& o)
      : op(o),
        inverse_dielectric(static_cast<float>(op.born.constants.inverse_dielectric)),
        kappa(static_cast<float>(op.born.constants.kappa)),
        rate(static_cast<float>(-kLog2E * op.born.constants.kappa)),
        log(log2f(inverse_dielectric)),
        per_cutoff(static_cast<float>(op.born.constants.per_cutoff)) {}

  // dE/dB is summed without its factor of -1/2.
  static __device__ __forceinline__ long long derivative_to_fixed(float value) {
    return force_to_fixed(limited_force(-0.5f * value));
  }
  __device__ __forceinline__ float radius_of(const Placed& atom) const {
    return kSolvent && atom.exists ? op.born.radii[atom.slot] : kSomeRadius;
  }
  __device__ __forceinline__ Float2 numbers_of(const Placed& atom) const {
    return atom.exists ? op.pairs.slots.pair_numbers[atom.slot] : Float2{0, 0};
  }
  __device__ __forceinline__ float charge_of(const Placed& atom) const {
    return atom.exists ? op.pairs.slots.local[atom.slot].w : 0.0f;
  }
  __device__ __forceinline__ void load(const Placed (&atoms)[kOwn]) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      const float radius = radius_of(atoms[n]);
      own[n] = {Form::template site<Single>(numbers_of(atoms[n]), op.table, op.parameters.types),
                charge_of(atoms[n]), radius, static_cast<float>(-0.25 * kLog2E) / radius};
      partners[n] = Partners(op.pairs, atoms[n]);
      force[n] = {};
      total[n] = {};
      derivative[n] = 0;
      derivative_total[n] = 0;
      counts[n] = atoms[n].counts;
      energy[n] = {};
    }
  }
  __device__ __forceinline__ unsigned excluded(int n, int first) {
    return partners[n].among(op.pairs, first);
  }
  __device__ __forceinline__ Other bring(const Placed& atom, const Point& point) const {
    const float radius = radius_of(atom);
    return {{point.x, point.y, point.z, charge_of(atom)}, numbers_of(atom), radius, 1 / radius, 0};
  }
  template <class Turn>
  __device__ __forceinline__ void choose(const GroupBox& box, const Other& brought, bool exists,
                                         const Turns& turns, const Turn& turn) const {
    unsigned special = 0;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) special |= turns.itself[n] | turns.excluded[n];
    if (__any_sync(kAllLanes, special)) {
      turn(Special{});
      return;
    }
    if constexpr (kSolvent) {
      const float largest =
          __int_as_float(__reduce_max_sync(kAllLanes, exists ? __float_as_int(brought.radius) : 0));
      bool far = true;
#pragma unroll
      for (int n = 0; n < kOwn; ++n)
        far = far && box.distance2(at[n]) > kFarRatio * own[n].radius * largest;
      if (__all_sync(kAllLanes, far)) {
        turn(Far{});
        return;
      }
    }
    turn(Near{});
  }

  __device__ __forceinline__ auto interact(int n, const Other& other,
                                           const Distance<Single>& r) const {
    return Form::template evaluate<kEnergy, Single>(own[n].site, other.numbers.x, other.numbers.y,
                                                    r, op.parameters, op.table);
  }
  __device__ __forceinline__ float in_salt(float f) const {
    return exponential2(fmaf(rate, f, log));
  }
  // kappa (1 - f / cutoff), by which salt adds to 1/f.
  __device__ __forceinline__ float rising(float f) const {
    return kCutoff ? fmaf(-kappa * per_cutoff, f, kappa) : kappa;
  }
  __device__ __forceinline__ void act(int n, float over_r, const Way& way, Back& back) {
    force[n].add(over_r, way);
    back.force.take(over_r, way);
  }

  __device__ __forceinline__ void pair(Far, int n, const Other& other, bool, bool, Back& back) {
    const Way way(at[n], other);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float per_r = inverse_root(way.r2);
    const Distance<Single> r{way.r2, per_r, per_r * per_r};
    const auto found = interact(n, other, r);
    const float qq = own[n].charge * other.place.w;
    float part = inverse_dielectric, rest = per_r;  // of a charge that the solvent leaves
    if constexpr (kSalt) {
      part = in_salt(way.r2 * per_r);
      rest = per_r + rising(way.r2 * per_r);
    }
    act(n, fmaf(qq * part, rest, found.force_r) * r.inverse2, way, back);
    if constexpr (kEnergy) {
      energy[n].form += found.energy;
      energy[n].coulomb += qq * (per_r - op.parameters.coulomb_shift);
      energy[n].polarised += qq * (part - 1) * (per_r - per_cutoff);
    }
  }
  __device__ __forceinline__ void pair(Near, int n, const Other& other, bool, bool, Back& back) {
    pair_nearby(n, other, false, false, back);
  }
  __device__ __forceinline__ void pair(Special, int n, const Other& other, bool itself,
                                       bool excluded, Back& back) {
    pair_nearby(n, other, itself, excluded || itself, back);
  }
  __device__ __forceinline__ void pair_nearby(int n, const Other& other, bool itself, bool excluded,
                                              Back& back) {
    Way way(at[n], other);
    way.r2 = unless_itself(way.r2, itself);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float per_r = inverse_root(way.r2);
    const Distance<Single> r{way.r2, per_r, per_r * per_r};
    const auto found = interact(n, other, r);
    const float qq = itself ? 0.0f : own[n].charge * other.place.w, bare = qq * per_r;
    const float direct = excluded ? 0.0f : found.force_r + bare;
    if constexpr (kEnergy) {
      energy[n].form += excluded ? 0.0f : found.energy;
      energy[n].coulomb += excluded ? 0.0f : fmaf(-qq, op.parameters.coulomb_shift, bare);
    }
    const float polarised = kSolvent ? polarise(n, other, way.r2, qq, back) : 0.0f;
    act(n, fmaf(direct, r.inverse2, polarised), way, back);
  }
  // As polarisation() has it; returns the force over r.
  __device__ __forceinline__ float polarise(int n, const Other& other, float r2, float qq,
                                            Back& back) {
    const float exponent = r2 * (own[n].decay_rate * other.per_radius);
    const float decay = exponential2(exponent);
    const float f2 = fmaf(own[n].radius * other.radius, decay, r2), per_f = inverse_root(f2);
    float part = inverse_dielectric, rest = (inverse_dielectric - 1) * per_f;
    if constexpr (kSalt) {
      part = in_salt(f2 * per_f);
      rest = fmaf(part, per_f + rising(f2 * per_f), -per_f);
    }
    const float by_f_over_f = qq * rest * (per_f * per_f), decaying = by_f_over_f * decay;
    const float by_product = decaying * fmaf(static_cast<float>(-1 / kLog2E), exponent, 1.0f);
    derivative[n] = fmaf(by_product, other.radius, derivative[n]);
    back.derivative = fmaf(by_product, own[n].radius, back.derivative);
    if constexpr (kEnergy) energy[n].polarised += qq * (part - 1) * (per_f - per_cutoff);
    return fmaf(-0.25f, decaying, by_f_over_f);
  }

  __device__ __forceinline__ void end_tile(bool both) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      total[n].take(force[n]);
      if constexpr (kSolvent) {
        derivative_total[n] += derivative_to_fixed(derivative[n]);
        derivative[n] = 0;
      }
      if constexpr (kEnergy) {
        if (counts[n]) {
          const double share = both ? 1 : 0.5;
          energy_total.form += to_fixed(share * energy[n].form, kEnergyScale);
          energy_total.coulomb += to_fixed(share * energy[n].coulomb, kEnergyScale);
          energy_total.polarised += to_fixed(share * energy[n].polarised, kEnergyScale);
        }
        energy[n] = {};
      }
    }
  }
  __device__ __forceinline__ void end_row(const Placed (&atoms)[kOwn]) const {
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      if (atoms[n].counts) {
        total[n].give(op.pairs.slots, atoms[n].slot);
        if constexpr (kSolvent) add_fixed(op.born.derivatives + atoms[n].slot, derivative_total[n]);
      }
  }
  __device__ __forceinline__ int32_t* visits() const { return op.born.visits; }
  __device__ __forceinline__ void end_atom(const Placed& atom) {
    if (!atom.counts) return;
    const SlopeEnergies own = set_slope(op.born, op.pairs.slots, atom.slot);
    if constexpr (kEnergy) {
      energy_total.polarised += own.polarisation;
      energy_total.surface += own.surface;
    }
  }
};

__device__ __forceinline__ void add_energy(int64_t* energy, int kind, long long value) {
  const long long sum = warp_sum(value);
  if (threadIdx.x % kWarp == 0) add_fixed(energy + kind, sum);
}

template <class Form, Medium kMedium, Range kRange, bool kEnergy>
__global__ void __launch_bounds__(kThreads, kEnergy ? 3 : 5)
    all_pair_forces_kernel(const __grid_constant__ AllPairForces op) {
  wait_for_previous();
  release_next();
  ForcePass<Form, kMedium, kRange, kEnergy> pass(op);
  meet_all(op.pairs, pass);
  if constexpr (kEnergy) {
    add_energy(op.energy, kPairForm, pass.energy_total.form);
    add_energy(op.energy, kCoulombDirect, pass.energy_total.coulomb);
    add_energy(op.energy, kPolarisation, pass.energy_total.polarised);
    add_energy(op.energy, kSurface, pass.energy_total.surface);
  }
}

// ---- Third pass ----

template <bool kNecks, Range kRange>
struct ChainPass {
  static constexpr bool kEndsAtoms = false, kCutoff = kRange == Range::kCutoff;
  struct Other {
    float4 place;  // and the slope
    ScreeningSeries series;
    float scaled_radius, offset_radius, radius;
    int neck_type;
  };
  struct Back {
    ForceSum force;
    __device__ __forceinline__ void pass_on() { force.pass_on(); }
    __device__ __forceinline__ void give(const ChainPass& pass, int slot) const {
      force.give(pass.op.pairs.slots, slot);
    }
  };
  const BornForces& op;
  Point at[kOwn];
  Screen own[kOwn];
  float slope[kOwn];
  ForceSum force[kOwn];
  ForceTotal total[kOwn];

  __device__ __forceinline__ explicit ChainPass(const BornForces& o) : op(o) {}
  __device__ __forceinline__ Screen screen_of(const Placed& atom) const {
    const BornSite site = atom.exists ? load_site(op.sites, atom.slot) : BornSite{};
    return {site, ScreeningSeries::of_slope(site.scaled_radius)};
  }
  __device__ __forceinline__ float slope_of(const Placed& atom) const {
    return atom.exists ? op.slopes[atom.slot] : 0.0f;
  }
  __device__ __forceinline__ void load(const Placed (&atoms)[kOwn]) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      own[n] = screen_of(atoms[n]);
      slope[n] = slope_of(atoms[n]);
      force[n] = {};
      total[n] = {};
    }
  }
  __device__ __forceinline__ unsigned excluded(int, int) { return 0; }
  __device__ __forceinline__ Other bring(const Placed& atom, const Point& point) const {
    const Screen s = screen_of(atom);
    return {{point.x, point.y, point.z, slope_of(atom)},
            s.series,
            s.site.scaled_radius,
            s.site.offset_radius,
            s.site.radius,
            s.site.neck_type};
  }
  template <class Turn>
  __device__ __forceinline__ void choose(const GroupBox& box, const Other&, bool, const Turns&,
                                         const Turn& turn) const {
    choose_terms(op.reach, box, at, turn);
  }
  __device__ __forceinline__ void act(int n, float over_r, const Way& way, Back& back) {
    force[n].add(over_r, way);
    back.force.take(over_r, way);
  }
  __device__ __forceinline__ void pair(ThreeTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const Way way(at[n], other);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float t = inverse(way.r2);
    const float here = slope[n] * other.series.three_terms(t);
    act(n, fmaf(other.place.w, own[n].series.three_terms(t), here) * (t * t * t), way, back);
  }
  __device__ __forceinline__ void pair(SixTerms, int n, const Other& other, bool, bool,
                                       Back& back) {
    const Way way(at[n], other);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float t = inverse(way.r2);
    const float theirs = other.scaled_radius, mine = own[n].site.scaled_radius;
    const float here = slope[n] * other.series.leading * six_slopes(theirs * theirs * t);
    const float there = other.place.w * own[n].series.leading;
    act(n, fmaf(there, six_slopes(mine * mine * t), here) * (t * t * t), way, back);
  }
  __device__ __forceinline__ void pair(Logarithms, int n, const Other& other, bool itself, bool,
                                       Back& back) {
    Way way(at[n], other);
    way.r2 = unless_itself(way.r2, itself);
    if (is_beyond<kCutoff>(op.pairs, way.r2)) return;
    const float per_r = inverse_root(way.r2), r = way.r2 * per_r;
    const BornSite& mine = own[n].site;
    const BornSite theirs{other.offset_radius, other.scaled_radius, other.radius, other.neck_type};
    float here = screening_slope(r, per_r, mine.offset_radius, theirs.scaled_radius),
          there = screening_slope(r, per_r, theirs.offset_radius, mine.scaled_radius);
    if constexpr (kNecks) {
      here += neck_of<float>(op.necks, mine, theirs, r).slope;
      there += neck_of<float>(op.necks, theirs, mine, r).slope;
    }
    act(n, -fmaf(slope[n], here, other.place.w * there) * per_r, way, back);
  }
  __device__ __forceinline__ void end_tile(bool) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) total[n].take(force[n]);
  }
  __device__ __forceinline__ void end_row(const Placed (&atoms)[kOwn]) const {
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      if (atoms[n].counts) total[n].give(op.pairs.slots, atoms[n].slot);
  }
};

template <bool kNecks, Range kRange>
__global__ void __launch_bounds__(kThreads, 6)
    born_forces_kernel(const __grid_constant__ BornForces op) {
  wait_for_previous();
  release_next();
  ChainPass<kNecks, kRange> pass(op);
  meet_all(op.pairs, pass);
}

}  // namespace all_pairs

namespace {

using all_pairs::kThreads;

LaunchShape by_slot(const char* name, int count) {
  return {name, blocks_for(count, kThreads), kThreads, 0, Start::kEarly};
}

// A warp for each tile that there is room for, or so many blocks for each multiprocessor.
LaunchShape by_tiles(const char* name, const AllPairs& p, const CudaContext& context) {
  using namespace all_pairs;
  const Triangle all{static_cast<int>(blocks_for(p.roster_capacity, kGroup / kClusterSize))};
  const int64_t most = int64_t{context.sm_count} * kBlocksPerProcessor;
  const auto blocks = std::min<int64_t>(blocks_for(all.tiles(), kWarps), most);
  return {name, static_cast<unsigned>(blocks), kThreads, 0, Start::kEarly};
}

void lay_out_roster(const LayOutRoster& op, CudaContext& context) {
  launch(context, {"lay_out_roster.number", 1, all_pairs::kScanThreads},
         all_pairs::number_clusters_kernel, op);
  launch(context, by_slot(LayOutRoster::kName, std::max(op.atoms, op.slot_capacity)),
         all_pairs::look_up_kernel, op);
}

// The kernel of these necks and this range, of four.
template <class Kernel>
Kernel choose(const NeckTables& necks, const AllPairs& p, Kernel any, Kernel cut, Kernel any_necks,
              Kernel cut_necks) {
  const bool is_cut = std::isfinite(p.cutoff2);
  if (necks.types > 0) return is_cut ? cut_necks : any_necks;
  return is_cut ? cut : any;
}

void born_radii(const BornRadii& op, CudaContext& context) {
  using namespace all_pairs;
  const auto kernel = choose<void (*)(BornRadii)>(
      op.necks, op.pairs, born_radii_kernel<false, Range::kAny>,
      born_radii_kernel<false, Range::kCutoff>, born_radii_kernel<true, Range::kAny>,
      born_radii_kernel<true, Range::kCutoff>);
  launch(context, by_tiles(BornRadii::kName, op.pairs, context), kernel, op);
}

using ForceKernel = void (*)(AllPairForces);

template <class Form, all_pairs::Medium kMedium, all_pairs::Range kRange>
ForceKernel kernel_in(const AllPairForces& op) {
  return op.energy ? all_pairs::all_pair_forces_kernel<Form, kMedium, kRange, true>
                   : all_pairs::all_pair_forces_kernel<Form, kMedium, kRange, false>;
}

template <class Form, all_pairs::Range kRange>
ForceKernel kernel_in_solvent(const AllPairForces& op) {
  using all_pairs::Medium;
  return op.born.constants.kappa > 0 ? kernel_in<Form, Medium::kSaltSolution, kRange>(op)
                                     : kernel_in<Form, Medium::kSolvent, kRange>(op);
}

template <class Form>
ForceKernel kernel_of(const AllPairForces& op) {
  using all_pairs::Medium, all_pairs::Range;
  if (!op.born.radii) return kernel_in<Form, Medium::kVacuum, Range::kAny>(op);
  return std::isfinite(op.pairs.cutoff2) ? kernel_in_solvent<Form, Range::kCutoff>(op)
                                         : kernel_in_solvent<Form, Range::kAny>(op);
}

void all_pair_forces(const AllPairForces& op, CudaContext& context) {
  const auto kernel =
      PairForms::with(op.parameters.form, [&]<class Form>(Form) { return kernel_of<Form>(op); });
  launch(context, by_tiles(AllPairForces::kName, op.pairs, context), kernel, op);
}

void born_forces(const BornForces& op, CudaContext& context) {
  using namespace all_pairs;
  const auto kernel = choose<void (*)(BornForces)>(
      op.necks, op.pairs, born_forces_kernel<false, Range::kAny>,
      born_forces_kernel<false, Range::kCutoff>, born_forces_kernel<true, Range::kAny>,
      born_forces_kernel<true, Range::kCutoff>);
  launch(context, by_tiles(BornForces::kName, op.pairs, context), kernel, op);
}

}  // namespace

void add_all_pairs_kernels(CudaKernels& table) {
  table.add<LayOutRoster, lay_out_roster>();
  table.add<BornRadii, born_radii>();
  table.add<AllPairForces, all_pair_forces>();
  table.add<BornForces, born_forces>();
}

}  // namespace quiltmd
