// SPDX-License-Identifier: Apache-2.0
// Comparing virials with those of the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "computes/reference.h"
#include "math/fixed.h"

namespace quiltmd::test {

// The largest difference of a part; `energy` as kernels leave it. kJ/mol.
inline double virial_error(const std::vector<int64_t>& energy, const Evaluation& exact) {
  double worst = 0;
  for (size_t k = kVirial; k < kVirial + Symmetric::kParts; ++k)
    worst = std::max(worst, std::fabs(from_fixed(energy[k], kEnergyScale) - exact.energy[k]));
  return worst;
}

}  // namespace quiltmd::test
