// SPDX-License-Identifier: Apache-2.0
// Influence functions of the long-range sum on the CPU, for the instruction set that is being compiled. Included by
// host_fft.cpp alone, once for each instruction set.
#if defined(QUILTMD_HOST_INFLUENCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef QUILTMD_HOST_INFLUENCE_INL_H
#undef QUILTMD_HOST_INFLUENCE_INL_H
#else
#define QUILTMD_HOST_INFLUENCE_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>

#include "computes/long_range/pme/dispersion_influence.h"
#include "computes/long_range/pme/setup.h"
#include "decomposition/energies.h"

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

constexpr int kLanes =
    static_cast<int>(hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<float>()));
using Pack = float __attribute__((vector_size(kLanes * sizeof(float))));
using IntPack = int32_t __attribute__((vector_size(kLanes * sizeof(float))));

Pack spread_to_lanes(float value) { return value - Pack{}; }

// exp(x) for -86 < x <= 0, to 2e-7; smaller x give exp(-86).
Pack exponential(Pack x) {
  const Pack floor = spread_to_lanes(-86.0f);
  x = x > floor ? x : floor;
  const IntPack n = __builtin_convertvector(x * 1.44269504f - 0.5f, IntPack);
  const Pack whole = __builtin_convertvector(n, Pack);
  const Pack r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Pack p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * __builtin_bit_cast(Pack, (n + 127) << 23);
}

// Part of an influence function that depends only on m^2, times `decayed`, exp(-decay m^2), and all other
// factors; and for the virial minus its derivative by m^2, which is finite where the function is zero.
struct ChargeInfluence {
  static constexpr EnergyKind kEnergy = kReciprocal;
  const FittedTransform& s;

  Pack operator()(Pack m2, Pack decayed) const {
    const Pack t = m2 * s.t_scale - 1.0f;
    Pack shape = spread_to_lanes(s.shape[FittedTransform::kDegree]);
    for (int k = FittedTransform::kDegree - 1; k >= 0; --k) shape = shape * t + s.shape[k];
    return (m2 > 0.0f) & (m2 < s.end) ? decayed * shape / m2 : Pack{};
  }
  double fall(double m2, double decayed) const {
    if (!(m2 > 0 && m2 < s.end)) return 0;
    const double t = s.t_scale * m2 - 1;
    double shape = 0, slope = 0;
    for (int k = FittedTransform::kDegree; k >= 0; --k) {
      slope = slope * t + shape;
      shape = shape * t + s.shape[k];
    }
    return decayed * ((1 / m2 + s.decay) * shape - s.t_scale * slope) / m2;
  }
};

struct DispersionInfluence {
  static constexpr EnergyKind kEnergy = kDispersionMesh;
  const FittedTransform& s;

  Pack operator()(Pack m2, Pack decayed) const {
    Pack b = m2 * s.decay;
    for (int l = 0; l < kLanes; ++l) b[l] = std::sqrt(b[l]);
    const Pack t = 1.0f / (b * DispersionFit::kSlope + 1.0f);
    Pack sum = spread_to_lanes(kDispersionPhi.c[DispersionFit::kDegree]);
    for (int k = DispersionFit::kDegree - 1; k >= 0; --k) sum = sum * t + kDispersionPhi.c[k];
    return decayed * (t * t * sum);
  }
  double fall(double m2, double decayed) const {
    const double decay = s.decay;
    return decayed * 3 * decay * kDispersionPsi(static_cast<float>(std::sqrt(m2 * decay)));
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#endif
