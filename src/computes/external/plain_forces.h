// SPDX-License-Identifier: Apache-2.0
// Forces that a provider on the host returns as one array of doubles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "math/vec3.h"

namespace quiltmd {

// Of forces, three components each.
struct ForceSums {
  Vec3d net{};
  double magnitude = 0, largest = 0;  // of the components

  void add(const ForceSums& others) {
    net += others.net;
    magnitude += others.magnitude;
    largest = std::max(largest, others.largest);
  }
};

// Writes them in fixed point. Where one is larger than kLargestForce or not finite, the integers are wrong, and
// the largest or the sum of magnitudes tells.
ForceSums take_forces(std::span<const double> components, int64_t* fixed);

}  // namespace quiltmd
