// SPDX-License-Identifier: Apache-2.0
// Collective restraints: springs on functions of groups of atoms, such as the distance between two centres.
// The equations are in computes/collective/physics.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "math/vec3.h"

namespace quiltmd {

enum class CollectiveKind : int32_t {
  kDistance,     // between the centres of two groups
  kAngle,        // of three
  kTorsion,      // of four
  kGyration,     // radius of gyration of a group
  kRmsd,         // of a group from reference positions, after optimal superposition
  kCoordination  // number of contacts between two groups
};

struct AtomGroup {
  std::vector<int32_t> atoms;
  std::vector<double> weights;  // of the atoms; their sum is 1
  int32_t origin = 0;           // the atom from which the nearest images of the others are taken
};

// E = k/2 u^2, where u is how far the value is beyond `width` from the centre; linear in u beyond `linear`.
struct CollectiveRestraint {
  std::string name;  // by which set_conditions() knows its centre
  CollectiveKind kind = CollectiveKind::kDistance;
  std::vector<AtomGroup> groups;
  std::vector<Vec3d> reference;  // RMSD: of each atom, nm; their weighted mean is zero
  double contact = 0;            // coordination: distance at which a pair counts one half, nm
  int exponent = 0;              // and the exponent of its decay, even
  double k = 0, width = 0, linear = 0;
  std::vector<std::array<double, 2>> path;  // time (ps) and centre; of a centre at rest one point
};

// The kind with this name; throws Error if there is none.
CollectiveKind collective_kind_named(const std::string& name);
// Number of groups of each kind.
int groups_of(CollectiveKind kind);
// Throws Error where a restraint lacks what its kind needs.
void check(const CollectiveRestraint& restraint);

}  // namespace quiltmd
