// SPDX-License-Identifier: Apache-2.0
// The Verlet buffer by age of the pair lists, and which shells of a list are evaluated at each age.
#pragma once

#include <vector>

#include "computes/nonbonded/operations.h"

namespace quiltmd {

struct ListAges {
  std::vector<double> buffer;  // by age in steps, 0 to life: nm beyond the cutoff that lists need
  std::vector<double> limit;   // by age, from 1: displacement (nm) beyond which lists are rebuilt
  double reach[kShells];       // nm: what each shell of a list holds
  std::vector<int> shell;      // by age: the last shell to evaluate
};

}  // namespace quiltmd
