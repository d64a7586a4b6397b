// SPDX-License-Identifier: Apache-2.0
// Fixed-point accumulation. Integer sums do not depend on the order of their terms, so whatever is
// summed over ranks, threads or arrival order is summed in these units. Floating-point partial sums
// are taken only over sets and orders fixed by the patch grid.
#pragma once

#include <cstdint>

#include "math/macros.h"

namespace quiltmd {

// Forces: 2^-32 kJ/mol/nm, up to 2^31 in magnitude.
inline constexpr double kForceScale = 4294967296.0;
// Energies: 2^-28 kJ/mol, up to 3.4e10 in magnitude.
inline constexpr double kEnergyScale = 268435456.0;
// A single contribution is clamped to this many units, so that overlapping atoms give a huge
// but finite sum that the blow-up check sees, never an undefined conversion.
inline constexpr double kFixedLimit = 4503599627370496.0;  // 2^52
// kJ/mol/nm. A larger sum of forces may hold a limited contribution and says only that atoms overlap;
// every limit of a contribution, that of pairs on GPUs too, lies above it.
inline constexpr double kLargestForce = 5e5;
static_assert(kLargestForce * kForceScale < kFixedLimit);

// Round a value to fixed point (nearest, ties to even); NaN becomes the limit.
QMD_HD int64_t to_fixed(double value, double scale) {
  const double scaled = value * scale;
  const double limited =
      scaled < kFixedLimit ? (scaled > -kFixedLimit ? scaled : -kFixedLimit) : kFixedLimit;
#ifdef __CUDA_ARCH__
  return __double2ll_rn(limited);
#else
  return __builtin_llrint(limited);
#endif
}

QMD_HD double from_fixed(int64_t value, double scale) { return static_cast<double>(value) / scale; }

}  // namespace quiltmd
