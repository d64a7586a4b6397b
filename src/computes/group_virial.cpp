// SPDX-License-Identifier: Apache-2.0
// The virial of hydrogen groups in double precision. Scaling centres of mass and leaving the inside of
// groups alone is what a barostat can do to constrained atoms; forces of constraints, which act inside
// groups only, then have no part in it.
#include "computes/reference.h"

namespace quiltmd {

void reference_group_virial(const System& system, const Box& box,
                            const std::vector<Vec3d>& positions, Evaluation& out) {
  for (size_t g = 0; g + 1 < system.group_start.size(); ++g) {
    const auto first = static_cast<size_t>(system.group_start[g]);
    const auto end = static_cast<size_t>(system.group_start[g + 1]);
    const auto from_first = [&](size_t a) {
      return box.nearest_image(positions[a] - positions[first]);
    };
    double mass = 0;
    Vec3d lever{0, 0, 0};
    for (size_t a = first; a < end; ++a) {
      mass += system.masses[a];
      lever += system.masses[a] * from_first(a);
    }
    const Vec3d centre = (1 / mass) * lever;
    Symmetric virial{};
    for (size_t a = first; a < end; ++a) virial.add_product(centre - from_first(a), out.forces[a]);
    out.add_virial(virial);
  }
}

}  // namespace quiltmd
