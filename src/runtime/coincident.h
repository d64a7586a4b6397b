// SPDX-License-Identifier: Apache-2.0
// Atoms at the same point, between which a force has no direction. Kernels find none (a large number times
// zero), a minimisation cannot part such atoms, and nothing later would tell: so every state is searched
// for them when it is set.
#pragma once

#include "runtime/frame.h"

namespace quiltmd {

// Throws SimulationError, which names two atoms less than 1e-6 nm apart, if a force between them has no
// direction: they interact and are not excluded, a constraint holds them apart, or a term of these two
// alone acts on them there (a bond of length zero does not). Positions are in the internal order.
void check_apart(const System& system, const Box& box, const HostState& state);

}  // namespace quiltmd
