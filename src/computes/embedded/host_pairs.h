// SPDX-License-Identifier: Apache-2.0
// Lists of embedded atoms [first, last) on the CPU, with the instruction set of this machine: see host_pairs.cpp.
#pragma once

#include "computes/embedded/operations.h"
#include "computes/nonbonded/host_pairs.h"

namespace quiltmd {

// Densities, as the first component of the thread's forces, in units of op.unit.
void evaluate_lists(const EmbeddedDensities& op, int first, int last, PairThread& thread);
// Forces, pair energies and virial.
void evaluate_lists(const EmbeddedForces& op, int first, int last, PairThread& thread);

}  // namespace quiltmd
