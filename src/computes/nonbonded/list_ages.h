// SPDX-License-Identifier: Apache-2.0
// How far atoms get while pair lists grow old, and what of the lists they need then.
#pragma once

#include <vector>

#include "computes/nonbonded/operations.h"

namespace quiltmd {

struct ListAges {
  std::vector<double> buffer;  // by age in steps, 0 to life: nm beyond the cutoff that lists need
  std::vector<double> limit;   // by age, from 1: a displacement (nm) that calls for new lists
  double reach[kShells];       // nm: what each shell of a list holds
  std::vector<int> shell;      // by age: the last shell to evaluate
};

}  // namespace quiltmd
