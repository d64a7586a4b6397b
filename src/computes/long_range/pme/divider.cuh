// SPDX-License-Identifier: Apache-2.0
// Division of small indices by a number known at launch: one multiplication.
#pragma once

#include <cuda_runtime.h>

namespace quiltmd {

// i / d, right for i * d < 2^32.
struct Divider {
  unsigned d = 1, magic = 0;
  Divider() = default;
  explicit Divider(int divisor)
      : d(static_cast<unsigned>(divisor)),
        magic(static_cast<unsigned>((0x100000000ull + d - 1) / d)) {}
  __device__ __forceinline__ int operator()(int i) const {
    return d == 1 ? i : static_cast<int>(__umulhi(static_cast<unsigned>(i), magic));
  }
};

}  // namespace quiltmd
