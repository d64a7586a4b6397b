// SPDX-License-Identifier: Apache-2.0
// Terms that refer to places, in systems without a periodic box, where coordinates are what they are: no
// image of an atom or of a place stands for another.
#pragma once

#include <vector>

#include "decomposition/open_box.h"
#include "system/system.h"

namespace quiltmd {

// The coordinates that position restraints hold atoms at, along axes on which they pull.
std::vector<HeldCoordinate> held_coordinates(const System& system);

bool has_constant_forces(const System& system);
// -F r of all constant forces, kJ/mol: r is the position of the atom from the origin. Positions are in the
// order of the terms' atoms.
double constant_force_energy(const System& system, const std::vector<Vec3d>& positions);

}  // namespace quiltmd
