// SPDX-License-Identifier: Apache-2.0
// The ranks that make computes which are pairs of patches (Grain::kPair): owners of one of the two, and ranks
// without patches of their own that are near these.
#pragma once

#include <vector>

#include "decomposition/assignment.h"

namespace quiltmd {

// By compute, the expected number of pairs of atoms within reach, in a unit of its own; `atoms`: of patches.
std::vector<double> compute_weights(const PatchGrid& grid, const std::vector<double>& atoms);

// The assignment of patches with a rank for each compute of the grid. With Grain::kPatch that is the owner of the
// patch. Else the largest computes are given away first: to the owner of their patch while it has less than its
// share, or to the rank with least to do among the owners of both patches and the ranks that have no owner of
// another patch nearer.
Assignment share_computes(const PatchGrid& grid, Assignment patches,
                          const std::vector<double>& atoms, const MachineShape& machine);

}  // namespace quiltmd
