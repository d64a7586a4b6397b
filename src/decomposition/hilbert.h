// SPDX-License-Identifier: Apache-2.0
// Hilbert's curve through a cube of 2^bits cells per side: neighbours on the curve are neighbours
// in space, so eight consecutive atoms make a compact cluster. Skilling's transform (J. Skilling,
// "Programming the Hilbert curve", AIP Conf. Proc. 707, 381 (2004)): a few integer operations per
// bit and no tables, which suits a GPU as well.
#pragma once

#include <cstdint>

#include "math/macros.h"

namespace quiltmd {

// Index of cell (x, y, z), each below 2^bits, along the curve; below 2^(3 bits).
QMD_HD uint32_t hilbert_index(uint32_t x, uint32_t y, uint32_t z, int bits) {
  const uint32_t high = 1u << (bits - 1);
  uint32_t axis[3] = {x, y, z};
  // Undo the rotations and reflections of the sub-cubes, largest first.
  for (uint32_t bit = high; bit > 1; bit >>= 1) {
    const uint32_t below = bit - 1;
    for (uint32_t& a : axis) {
      const uint32_t swapped = (a & bit) ? 0 : (axis[0] ^ a) & below;
      axis[0] ^= (a & bit) ? below : swapped;
      a ^= swapped;
    }
  }
  // Gray code.
  axis[1] ^= axis[0];
  axis[2] ^= axis[1];
  uint32_t flip = 0;
  for (uint32_t bit = high; bit > 1; bit >>= 1) flip ^= (axis[2] & bit) ? bit - 1 : 0;
  uint32_t index = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    for (const uint32_t a : axis) index = (index << 1) | (((a ^ flip) >> bit) & 1u);
  }
  return index;
}

}  // namespace quiltmd
