// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one pair on the GPU, in as few instructions as possible: every operand that can
// be prepared per atom is, every fused multiply-add is written out (the compiler fuses nothing), so
// the variants with and without energies give the same forces bit by bit.
#pragma once

#include "computes/nonbonded/cuda_list_sums.cuh"
#include "computes/nonbonded/pair_forms.h"

namespace quiltmd::pairs {

__device__ __forceinline__ float2 load2(const Float2* p) {
  return __ldg(reinterpret_cast<const float2*>(p));
}

// The number type of pair forms (forms/basics.h) in a thread.
struct Single {
  using Value = float;
  static constexpr bool kFolded = true;

  static constexpr QMD_HD float of(double value) { return static_cast<float>(value); }
  static constexpr QMD_HD float of(float value) { return value; }
  static constexpr QMD_HD float of(int value) { return static_cast<float>(value); }
  static QMD_HD float negative(float a) { return -a; }
  static QMD_HD float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
  static QMD_HD float multiply_subtract(float a, float b, float c) { return fmaf(a, b, -c); }
  // For x up to 127: the sum with 1.5 * 2^23 leaves the rounded x in its low bits.
  static __device__ __forceinline__ float exp2(float x) {
    const float least = fmaxf(x, -126.0f), shifted = least + 12582912.0f;
    const float fraction = exp2_fraction<Single>(least - (shifted - 12582912.0f));
    return __int_as_float(__float_as_int(fraction) + (__float_as_int(shifted) << 23));
  }
  // For positive normal x: the exponent such that the rest is from sqrt(1/2) to sqrt(2).
  static __device__ __forceinline__ float log2(float x) {
    const int bits = __float_as_int(x), exponent = (bits - 0x3f3504f3) >> 23;
    const float rest = __int_as_float(bits - (exponent << 23));
    return static_cast<float>(exponent) + log2_fraction<Single>(rest - 1.0f);
  }
  static QMD_HD float floor(float x) { return floorf(x); }
  // Clamped to [0, 1], which costs nothing after a multiply-add.
  static __device__ __forceinline__ float saturated(float x) { return __saturatef(x); }
  static QMD_HD float minimum(float a, float b) { return fminf(a, b); }
  static QMD_HD float maximum(float a, float b) { return fmaxf(a, b); }
  static QMD_HD float if_less(float x, float y, float yes, float no) { return x < y ? yes : no; }
  static QMD_HD float choose(Always, float a, float) { return a; }
  static QMD_HD float choose(bool condition, float a, float b) { return condition ? a : b; }
  static QMD_HD float if_or_zero(Always, float a) { return a; }
  static QMD_HD float if_or_zero(bool condition, float a) { return condition ? a : 0.0f; }

  // An i atom keeps the bits of its type, which the row follows from: fewer registers.
  using Row = Float2;
  template <int kCount>
  static QMD_HD Row row(Float2 own, const float*, int) {
    return own;
  }
  template <int kCount>
  static __device__ __forceinline__ Numbers<Single, kCount> look_up(Row i, float j,
                                                                    const PairParameters& p,
                                                                    const float* table) {
    const int row = __float_as_int(i.x) * p.types;
    if constexpr (kCount == 2) {
      const float2 n = __ldg(reinterpret_cast<const float2*>(table) + row + __float_as_int(j));
      return {n.x, n.y};
    } else {
      static_assert(kCount == 4, "kNumbers of a pair form must be 2 or 4");
      return four(table, row + __float_as_int(j));
    }
  }
  static __device__ __forceinline__ Numbers<Single, 4> knot(const float* table, float place) {
    return four(table, static_cast<int>(place));
  }
  static __device__ __forceinline__ Numbers<Single, 4> four(const float* table, int place) {
    const float4 n = __ldg(reinterpret_cast<const float4*>(table) + place);
    return {n.x, n.y, n.z, n.w};
  }
};

}  // namespace quiltmd::pairs
