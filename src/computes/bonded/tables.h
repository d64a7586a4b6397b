// SPDX-License-Identifier: Apache-2.0
// The term tables that bonded kernels read, from the terms of a System.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "computes/bonded/operations.h"
#include "system/system.h"

namespace quiltmd {

// The arrays behind a TermTable: terms sorted by first atom, four parameters each.
struct TermArrays {
  int size = 0;  // atoms per term
  std::vector<int32_t> atoms;
  std::vector<double> parameters;
  std::vector<int32_t> first_term;
  int count() const { return static_cast<int>(parameters.size()) / 4; }
};

// By TermKind. What depends on parameters alone is worked out here (k cos(phase), charge products
// times 1/(4 pi eps0)). Throws Error for a torsion whose periodicity is not an integer of 1 or more.
std::array<TermArrays, kTermKinds> term_arrays(const System& system);

}  // namespace quiltmd
