// SPDX-License-Identifier: Apache-2.0
// Collective restraints of all kinds between groups of consecutive atoms.
#pragma once

#include <algorithm>

#include "one_rank.h"

namespace quiltmd::test {

inline AtomGroup group_of(const System& system, int first, int count) {
  AtomGroup group;
  double mass = 0;
  for (int a = first; a < first + count; ++a) mass += system.masses[static_cast<size_t>(a)];
  for (int a = first; a < first + count; ++a) {
    group.atoms.push_back(a);
    group.weights.push_back(system.masses[static_cast<size_t>(a)] / mass);
  }
  group.origin = first + count / 2;
  return group;
}

inline CollectiveRestraint restraint_of(const char* name, double k, double width,
                                        std::vector<AtomGroup> groups,
                                        std::vector<std::array<double, 2>> path) {
  CollectiveRestraint restraint;
  restraint.name = name;
  restraint.kind = collective_kind_named(name);
  restraint.groups = std::move(groups);
  restraint.k = k;
  restraint.width = width;
  restraint.linear = 1e6;
  restraint.path = std::move(path);
  return restraint;
}

// In internal order; four groups of `size` atoms, more than a warp of which are in two of them where it is large.
inline std::vector<CollectiveRestraint> all_collectives(const System& system, int size,
                                                        Random& random) {
  const auto group = [&](int number) { return group_of(system, number * size, size); };
  const AtomGroup a = group(0), b = group(1), c = group(2), d = group(3);
  std::vector<CollectiveRestraint> all{
      restraint_of("distance", 500, 0.05, {a, b}, {{0, 0.3}, {0.01, 0.5}, {5, 0.1}}),
      restraint_of("angle", 80, 0.1, {a, b, c}, {{0, 0.6}}),
      restraint_of("torsion", 60, 0.1, {a, b, c, d}, {{0, 3.0}}),
      restraint_of("gyration", 900, 0, {c}, {{0, 0.2}}),
      restraint_of("rmsd", 700, 0, {d}, {{0, 0.1}}),
      restraint_of("coordination", 0.5, 0, {a, d}, {{0, 3}})};
  Vec3d mean{};
  for (int i = 0; i < size; ++i) {
    all[4].reference.push_back(random_vector(random, 0.3));
    mean += d.weights[static_cast<size_t>(i)] * all[4].reference.back();
  }
  for (Vec3d& r : all[4].reference) r -= mean;
  all[5].contact = 0.5;
  all[5].exponent = 6;
  for (const CollectiveRestraint& one : all) check(one);
  return all;
}

}  // namespace quiltmd::test
