// SPDX-License-Identifier: Apache-2.0
// A number in double precision as the integer of its bits: what sums over ranks carry.
#pragma once

#include <bit>
#include <cstdint>

#include "math/macros.h"

namespace quiltmd {

QMD_HD double from_bits(int64_t bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(bits);
#else
  return std::bit_cast<double>(bits);
#endif
}
QMD_HD int64_t to_bits(double value) {
#ifdef __CUDA_ARCH__
  return __double_as_longlong(value);
#else
  return std::bit_cast<int64_t>(value);
#endif
}

}  // namespace quiltmd
