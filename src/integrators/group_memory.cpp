// SPDX-License-Identifier: Apache-2.0
#include "integrators/group_memory.h"

#include <algorithm>
#include <utility>

namespace quiltmd {
namespace {

// Constraints group by group, in order of their atoms.
struct Constraints {
  std::vector<int32_t> start;  // (groups + 1)
  std::vector<GroupConstraint> all;
};

Constraints constraints_by_group(const System& system) {
  std::vector<int32_t> group_of(static_cast<size_t>(system.atom_count()));
  for (int g = 0; g < system.group_count(); ++g)
    for (int32_t a = system.group_start[static_cast<size_t>(g)];
         a < system.group_start[static_cast<size_t>(g) + 1]; ++a)
      group_of[static_cast<size_t>(a)] = g;
  std::vector<std::vector<GroupConstraint>> by_group(static_cast<size_t>(system.group_count()));
  for (size_t c = 0; c < system.constraints.size(); ++c) {
    auto [i, j] = system.constraints[c];
    if (i > j) std::swap(i, j);
    const auto g = static_cast<size_t>(group_of[static_cast<size_t>(i)]);
    const int32_t first = system.group_start[g];
    by_group[g].push_back({i - first, j - first, system.constraint_lengths[c]});
  }
  Constraints result{{0}, {}};
  for (auto& list : by_group) {
    std::sort(list.begin(), list.end(), [](const GroupConstraint& a, const GroupConstraint& b) {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    });
    result.all.insert(result.all.end(), list.begin(), list.end());
    result.start.push_back(static_cast<int32_t>(result.all.size()));
  }
  return result;
}

}  // namespace

GroupMemory::GroupMemory(const SlotMemory& slots, const std::vector<char>& in_terms,
                         double constraint_tolerance)
    : slots_(slots),
      tolerance_(constraint_tolerance),
      blowup2_(0.25 * slots.patch_grid.least_width * slots.patch_grid.least_width),
      make_(slots.device) {
  const System& system = slots.system;
  std::vector<double> inverse_mass;
  for (const double mass : system.masses) inverse_mass.push_back(mass > 0 ? 1.0 / mass : 0.0);
  const Constraints constraints = constraints_by_group(system);
  const GroupShapes shapes =
      make_group_shapes(system.group_start, constraints.start, constraints.all, system.masses,
                        inverse_mass, in_terms);
  mass_ = make_.filled(system.masses);
  inverse_mass_ = make_.filled(inverse_mass);
  constraint_start_ = make_.filled(constraints.start);
  constraints_ = make_.filled(constraints.all);
  group_shape_ = make_.filled(shapes.codes);
  shapes_ = make_.filled(shapes.shapes);
  table_ = {
      mass_.data(),        inverse_mass_.data(), slots.group_start(), constraint_start_.data(),
      constraints_.data(), group_shape_.data(),  shapes_.data()};
}

GroupWork GroupMemory::work(double limit) const {
  GroupWork work{};
  work.slots = slots_.slots();
  work.placed = slots_.placed.data();
  work.count = slots_.group_count.data();
  work.capacity = static_cast<int>(slots_.room.groups);
  work.origin = slots_.origin.data();
  work.constants = table_;
  work.constraint_tolerance = tolerance_;
  work.step = slots_.step.data();
  work.blowup2 = blowup2_;
  work.buffer_limit2 = std::min(limit * limit, blowup2_);
  work.faults = slots_.faults.data();
  work.conditions = slots_.conditions.data();
  return work;
}

ClearForces GroupMemory::clear_forces() const {
  return {slots_.slots(), slots_.used_slots(), slots_.capacity()};
}

}  // namespace quiltmd
