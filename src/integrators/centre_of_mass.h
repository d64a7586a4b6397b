// SPDX-License-Identifier: Apache-2.0
// The motion of the centre of mass. Where forces conserve the momentum of the system and where nothing outside
// holds it, the description of the dynamics decides (python/quiltmd/description/centre_of_mass.py); the core
// removes momentum and counts degrees of freedom as it is told.
#pragma once

#include "math/vec3.h"

namespace quiltmd {

struct CentreOfMass {
  int remove_every = 0;  // steps between removals of momentum, along the axes at rest; 0: never
  int resting = 0;       // the sum of 1 for x, 2 for y, 4 for z: axes without thermal motion
  // Whether the interval is one to come close to, at steps where lists are rebuilt anyway.
  bool follows_lists = false;

  int axes_at_rest() const { return (resting & 1) + (resting >> 1 & 1) + (resting >> 2 & 1); }
};

// The components along the axes at rest.
QMD_HD Vec3d at_rest(int resting, Vec3d v) {
  return {resting & 1 ? v.x : 0, resting & 2 ? v.y : 0, resting & 4 ? v.z : 0};
}

}  // namespace quiltmd
