// SPDX-License-Identifier: Apache-2.0
// Finds the distinct shapes of hydrogen groups. Shapes are compared by their bytes: masses that
// differ in the last digit make two shapes, which costs a line of cache, not correctness.
#include "integrators/group_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>

#include "integrators/group_constraints.h"

namespace quiltmd {
namespace {

struct Group {
  std::span<const double> mass;  // of all its atoms
  int atoms;                     // without virtual sites
  std::span<const GroupConstraint> constraints;
};

// Whether a group is a rigid water that SETTLE can treat: O and two equal H, and lengths to match.
bool is_rigid_water(const Group& g) {
  if (g.atoms != 3 || g.constraints.size() != 3) return false;
  const auto k = g.constraints;
  return k[0].first == 0 && k[0].second == 1 && k[1].first == 0 && k[1].second == 2 &&
         k[0].length == k[1].length && g.mass[1] == g.mass[2];
}

// Whether the constraints of a group are those of a star.
bool is_star(const Group& g) {
  if (g.atoms > kStarAtoms || static_cast<int>(g.constraints.size()) != g.atoms - 1) return false;
  for (int k = 0; k < g.atoms - 1; ++k) {
    const GroupConstraint& constraint = g.constraints[static_cast<size_t>(k)];
    if (constraint.first != 0 || constraint.second != k + 1) return false;
  }
  return true;
}

GroupClass class_of(const Group& g) {
  if (std::ssize(g.mass) > kSmallGroupSize) return GroupClass::kLarge;
  if (is_rigid_water(g)) return GroupClass::kWater;
  return is_star(g) ? GroupClass::kStar : GroupClass::kGeneral;
}

double inverse(double mass) { return mass > 0 ? 1.0 / mass : 0.0; }

// All but where its rows are.
GroupShape shape_of(const Group& g, GroupClass its_class) {
  GroupShape shape;
  std::memset(&shape, 0, sizeof shape);
  shape.atoms = g.atoms;
  shape.constraints = static_cast<int32_t>(g.constraints.size());
  if (its_class == GroupClass::kGeneral || its_class == GroupClass::kLarge) return shape;
  if (its_class == GroupClass::kWater)
    shape.triangle =
        make_triangle(g.mass[0], g.mass[1], g.constraints[0].length, g.constraints[2].length);
  for (size_t i = 0; i < static_cast<size_t>(g.atoms); ++i) {
    shape.mass[i] = g.mass[i];
    shape.inverse_mass[i] = inverse(g.mass[i]);
    shape.root_inverse_mass[i] = std::sqrt(inverse(g.mass[i]));
  }
  for (size_t k = 0; k < g.constraints.size(); ++k) shape.length[k] = g.constraints[k].length;
  return shape;
}

std::string bytes_of(const GroupShape& shape, const Group& g) {
  std::string bytes(reinterpret_cast<const char*>(&shape), sizeof shape);
  bytes.append(reinterpret_cast<const char*>(g.mass.data()), g.mass.size_bytes());
  bytes.append(reinterpret_cast<const char*>(g.constraints.data()), g.constraints.size_bytes());
  return bytes;
}

void append(GroupShapes& to, GroupShape shape, const Group& g) {
  shape.first_mass = static_cast<int32_t>(to.mass.size());
  shape.first_constraint = static_cast<int32_t>(to.constraints.size());
  to.shapes.push_back(shape);
  to.mass.insert(to.mass.end(), g.mass.begin(), g.mass.end());
  for (const double mass : g.mass) to.inverse_mass.push_back(inverse(mass));
  to.constraints.insert(to.constraints.end(), g.constraints.begin(), g.constraints.end());
}

}  // namespace

GroupShapes make_group_shapes(const System& system, const std::vector<char>& in_terms) {
  const GroupConstraints constraints = constraints_by_group(system);
  const auto row = [](const auto& all, const std::vector<int32_t>& start, size_t g) {
    return std::span(all).subspan(static_cast<size_t>(start[g]),
                                  static_cast<size_t>(start[g + 1] - start[g]));
  };
  GroupShapes result;
  std::map<std::string, uint32_t> known;
  for (int number = 0; number < system.group_count(); ++number) {
    const auto g = static_cast<size_t>(number);
    const int first = system.group_start[g], atoms = system.end_of_masses(number) - first;
    const Group group{row(system.masses, system.group_start, g), atoms,
                      row(constraints.all, constraints.start, g)};
    const GroupClass its_class = class_of(group);
    const GroupShape shape = shape_of(group, its_class);
    const auto [found, is_new] =
        known.try_emplace(bytes_of(shape, group), static_cast<uint32_t>(result.shapes.size()));
    if (is_new) append(result, shape, group);
    const auto is_in_term = [&](int i) { return in_terms[static_cast<size_t>(first + i)] != 0; };
    bool wanted = in_terms.empty();
    for (int i = 0; i < atoms; ++i) wanted = wanted || is_in_term(i);
    result.codes.push_back(found->second << 3 | (wanted ? 4u : 0u) |
                           static_cast<uint32_t>(its_class));
  }
  return result;
}

}  // namespace quiltmd
