// SPDX-License-Identifier: Apache-2.0
// Finds the distinct shapes of hydrogen groups. Shapes are compared by their bytes: masses that
// differ in the last digit make two shapes, which costs a line of cache, not correctness.
#include "integrators/group_shapes.h"

#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "integrators/stage_physics.h"

namespace quiltmd {

GroupShapes make_group_shapes(std::span<const int32_t> group_start,
                              std::span<const int32_t> mass_end,
                              std::span<const int32_t> constraint_start,
                              std::span<const GroupConstraint> constraints,
                              std::span<const double> mass, std::span<const double> inverse_mass,
                              const std::vector<char>& in_terms) {
  GroupTable c{};
  c.mass = mass.data();
  c.group_start = group_start.data();
  c.mass_end = mass_end.data();
  c.constraint_start = constraint_start.data();
  c.constraints = constraints.data();
  GroupShapes result;
  std::map<std::string, uint32_t> known;
  for (int g = 0; g + 1 < static_cast<int>(group_start.size()); ++g) {
    const int first = c.group_start[g], begin = c.constraint_start[g];
    GroupShape shape;
    std::memset(&shape, 0, sizeof shape);
    shape.atoms = c.mass_end[g] - first;
    shape.constraints = c.constraint_start[g + 1] - begin;
    const GroupConstraint* own = c.constraints + begin;
    GroupClass kind = GroupClass::kGeneral;
    if (is_rigid_water(c, g)) {
      kind = GroupClass::kWater;
      shape.triangle =
          make_triangle(mass[static_cast<size_t>(first)], mass[static_cast<size_t>(first) + 1],
                        own[0].length, own[2].length);
    } else if (is_star(c, g)) {
      kind = GroupClass::kStar;
    }
    bool wanted = in_terms.empty();
    for (int i = 0; i < shape.atoms; ++i) {
      const auto atom = static_cast<size_t>(first + i);
      wanted = wanted || in_terms[atom];
      if (kind == GroupClass::kGeneral) continue;
      shape.mass[i] = mass[atom];
      shape.inverse_mass[i] = inverse_mass[atom];
      shape.root_inverse_mass[i] = std::sqrt(inverse_mass[atom]);
    }
    for (int k = 0; k < shape.constraints && kind != GroupClass::kGeneral; ++k)
      shape.length[k] = own[k].length;
    const std::string bytes(reinterpret_cast<const char*>(&shape), sizeof shape);
    const auto [found, is_new] =
        known.try_emplace(bytes, static_cast<uint32_t>(result.shapes.size()));
    if (is_new) result.shapes.push_back(shape);
    result.codes.push_back(found->second << 3 | (wanted ? 4u : 0u) | static_cast<uint32_t>(kind));
  }
  return result;
}

}  // namespace quiltmd
