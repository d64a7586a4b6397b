// SPDX-License-Identifier: Apache-2.0
// A state on its way into a run: checked, and in the internal order of atoms. It may come from anywhere, so
// what it says of virtual sites and of pair lists holds only as far as a run can have left it so.
#pragma once

#include <vector>

#include "runtime/frame.h"

namespace quiltmd {

std::vector<Vec3d> to_internal_order(const System& system, const std::vector<Vec3d>& from);
std::vector<Vec3d> to_input_order(const System& system, const std::vector<Vec3d>& from);

// Virtual sites in entering positions: at any place; or as a run has left them, so that they keep their bits
// as long as they are near their defined positions.
enum class Sites { kAnywhere, kLeftByARun };

// From the order of the input. Throws as entering_state does.
std::vector<Vec3d> entering_positions(const System& system, int64_t step,
                                      const std::vector<Vec3d>& given, Sites sites);

// From the order of the input. Virtual sites are placed; where a run has left the state they keep the bits of
// their places, as far as these are right. Throws Error where vectors are missing or out of range, SimulationError where
// a site has no place.
HostState entering_state(const System& system, const HostState& given);

// If an atom is farther from its place in the pair lists than any step allows before they are rebuilt, the
// lists are built at the positions of the state instead. Epochs still end at the same steps.
void doubt_lists(const Setup& setup, HostState& state);

}  // namespace quiltmd
