// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one pair on the GPU, in as few instructions as possible: every operand that can
// be prepared per atom is, every fused multiply-add is written out (the compiler fuses nothing), so
// the variants with and without energies give the same forces bit by bit.
#pragma once

#include "computes/nonbonded/operations.h"
#include "math/fixed.h"

namespace quiltmd::pairs {

// Lennard-Jones parameters of an i atom as the inner loop wants them. With y = (r_min/r)^6,
// r_min = 2^(1/6) sigma:
//   energy = eps (y^2 - 2 y),   force / r = 12 eps (y^2 - y) / r^2.
// x = half of r_min, y = 6 sqrt(eps); made of slots.lj = (sigma/2, 2 sqrt(eps)), which is what the
// j atom brings: 12 eps is the product of both y.
constexpr float kRootTwo6 = 1.12246204830937298f;  // 2^(1/6)
__device__ __forceinline__ float2 scaled_lj(float2 lj) { return {lj.x * kRootTwo6, lj.y * 3.0f}; }

// 1/sqrt(x), 2 units in the last place; infinity at zero.
__device__ __forceinline__ float inverse_sqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Forces in fixed point are limited to this magnitude, 2^51 units.
constexpr float kForceLimit = 524288.0f;

// The clamp turns a NaN into the lower limit.
__device__ __forceinline__ float limited_force(float value) {
  return fminf(fmaxf(value, -kForceLimit), kForceLimit);
}

// Fixed point of a limited force. The sum with 1.5 * 2^20 has a last place of 2^-32 and so leaves the
// rounded integer in the low bits of the double.
__device__ __forceinline__ long long force_to_fixed(float value) {
  static_assert(kForceScale == 4294967296.0);
  const double shifted = static_cast<double>(value) + 1572864.0;
  const auto high = static_cast<uint32_t>(__double2hiint(shifted)) - 0x41380000u;
  const auto low = static_cast<uint32_t>(__double2loint(shifted));
  return static_cast<long long>(static_cast<unsigned long long>(high) << 32 | low);
}

// Horner's rule down to, and without, the constant coefficient.
template <int kDegree>
__device__ __forceinline__ float horner_tail(const float* c, float t) {
  float p = c[kDegree];
#pragma unroll
  for (int k = kDegree - 1; k > 0; --k) p = fmaf(p, t, c[k]);
  return p;
}

// A Lennard-Jones interaction: force * r, and the energy when it is wanted.
struct LennardJones {
  float force_r;
  float energy;
};

template <bool kEnergy>
__device__ __forceinline__ LennardJones lennard_jones(float2 i, float2 j, float inverse,
                                                      const PairParameters& p) {
  const float range = fmaf(j.x, kRootTwo6, i.x);
  const float twelve_eps = i.y * j.y;
  const float x = range * inverse;
  const float x2 = x * x;
  const float y = x2 * x2 * x2;
  const float scaled = y * twelve_eps;
  LennardJones lj{fmaf(y, scaled, -scaled), 0};
  if constexpr (kEnergy) {
    const float range2 = range * range;
    const float at_cutoff = range2 * range2 * range2 * p.lj_shift_6;
    lj.energy = twelve_eps * (1.0f / 12.0f) *
                (fmaf(y, y, -2 * y) - fmaf(at_cutoff, at_cutoff, -2 * at_cutoff));
  }
  return lj;
}

// The same from a table of (12 a, 6 b) by pair of types.
template <bool kEnergy>
__device__ __forceinline__ LennardJones table_lennard_jones(float2 ab, float inverse2,
                                                            const PairParameters& p) {
  const float inverse6 = inverse2 * inverse2 * inverse2;
  LennardJones lj{inverse6 * fmaf(ab.x, inverse6, -ab.y), 0};
  if constexpr (kEnergy) {
    const float a = ab.x * (1.0f / 12.0f), b = ab.y * (1.0f / 6.0f);
    lj.energy = inverse6 * fmaf(a, inverse6, -b) - p.lj_shift_6 * fmaf(a, p.lj_shift_6, -b);
  }
  return lj;
}

}  // namespace quiltmd::pairs
