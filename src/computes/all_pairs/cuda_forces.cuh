// SPDX-License-Identifier: Apache-2.0
// The second pass: Lennard-Jones, Coulomb and, with solvent, polarisation of all pairs.
#pragma once

#include "computes/all_pairs/cuda_sums.cuh"

namespace quiltmd::all_pairs {

constexpr double kLog2E = 1.44269504088896341;

enum class Medium { kVacuum, kSolvent, kSaltSolution };

// Formulas of a tile. Where radii are small beside the distance, r^2 is all of f^2 to rounding; there the
// atoms behave as charges in the solvent do.
struct Far {
  static constexpr int kUnroll = 4;
};
struct Near {
  static constexpr int kUnroll = 4;
};
// Turns with the atom itself or with excluded atoms.
struct Special {
  static constexpr int kUnroll = 4;
};
// From r^2 = 4 q B_i B_j on: exp(-q)/(4q) is 2e-9, and (1 + q) exp(-q) 2e-6 of what derivatives by
// radii are nearby, beside a force of another charge that is (4q)^(3/2) = 512 times weaker.
constexpr float kFarRatio = 4 * 16;

template <class Form, Medium kMedium, Range kRange, int kRowGroups, bool kEnergy>
struct ForcePass {
  static constexpr bool kSolvent = kMedium != Medium::kVacuum,
                        kSalt = kMedium == Medium::kSaltSolution;
  static constexpr bool kEndsAtoms = kSolvent, kCutoff = kRange == Range::kCutoff,
                        kStartsBefore = kSolvent;
  static constexpr int kOwn = kRowGroups;
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
  __device__ __forceinline__ void load(const Placed (&atoms)[kOwn]) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      const float radius = radius_of(atoms[n]);
      own[n] = {Form::template site<Single>(numbers_of(atoms[n]), op.table, op.parameters.types),
                atoms[n].charge, radius, static_cast<float>(-0.25 * kLog2E) / radius};
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
    return {{point.x, point.y, point.z, atom.charge}, numbers_of(atom), radius, 1 / radius, 0};
  }
  template <class Turn>
  __device__ __forceinline__ void choose(const GroupBox& box, const Other& brought, bool exists,
                                         const Turns<kOwn>& turns, const Turn& turn) const {
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
  // Same as polarisation(); returns the force divided by r.
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

}  // namespace quiltmd::all_pairs
