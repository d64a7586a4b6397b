// SPDX-License-Identifier: Apache-2.0
#include "integrators/group_memory.h"

#include <algorithm>

#include "integrators/group_sites.h"
#include "system/molecules.h"

namespace quiltmd {
static double squared_half_of_narrowest(Vec3d widths) {
  const double narrowest = std::min({widths.x, widths.y, widths.z});
  return 0.25 * narrowest * narrowest;
}

static LargeGroups large_groups(const GroupShapes& shapes) {
  LargeGroups large;
  for (const uint32_t code : shapes.codes) {
    const GroupShape& shape = shapes.shapes[ShapeCode{code}.shape()];
    if (ShapeCode{code}.group_class() != GroupClass::kLarge) continue;
    ++large.groups;
    if (shape.constraints == 0) continue;
    const auto last = static_cast<size_t>(shape.first_constraint + shape.constraints - 1);
    large.constraints = std::max(large.constraints, shape.constraints);
    large.elements = std::max(large.elements, shapes.constraints[last].row + shape.constraints);
  }
  return large;
}

GroupMemory::GroupMemory(const SlotMemory& slots, const std::vector<char>& in_terms,
                         double constraint_tolerance, const GroupBaths& baths)
    : slots_(slots),
      tolerance_(constraint_tolerance),
      blowup2_(squared_half_of_narrowest(slots.patch_grid.least_width)),
      make_(slots.device) {
  const System& system = slots.system;
  const GroupShapes shapes = make_group_shapes(system, in_terms);
  for (const uint32_t code : shapes.codes)
    other_groups_ += ShapeCode{code}.group_class() == GroupClass::kGeneral;
  large_ = large_groups(shapes);
  mass_ = make_.filled(shapes.mass);
  inverse_mass_ = make_.filled(shapes.inverse_mass);
  constraints_ = make_.filled(shapes.constraints);
  group_shape_ = make_.filled(shapes.codes);
  shapes_ = make_.filled(shapes.shapes);
  // Without sites, one array has the begins and the ends of groups.
  const int32_t* ends = slots.group_start() + 1;
  if (!system.sites.empty()) {
    std::vector<int32_t> mass_end;
    for (int g = 0; g < system.group_count(); ++g) mass_end.push_back(system.end_of_masses(g));
    mass_end_ = make_.filled(mass_end);
    ends = mass_end_.data();
    const GroupSites sites = sites_by_group(system);
    site_set_ = make_.filled(sites.set_of_group);
    site_set_start_ = make_.filled(sites.set_start);
    sites_ = make_.filled(sites.sites);
  }
  const Molecules molecules = molecules_of(system);
  molecule_of_group_ = make_.filled(molecules.of_group);
  molecule_atoms_ = make_.filled(molecules.atoms);
  bath_of_group_ = make_.filled(baths.of_group);
  baths_ = make_.filled(baths.baths);
  table_ = {mass_.data(),        inverse_mass_.data(), slots.group_start(), ends,
            constraints_.data(), group_shape_.data(),  shapes_.data()};
}

GroupWork GroupMemory::work(double limit) const {
  GroupWork work{};
  work.slots = slots_.slots();
  work.placed = slots_.placed.data();
  work.count = slots_.group_count.data();
  work.capacity = static_cast<int>(slots_.room.owned_groups);
  work.other_groups = other_groups_;
  work.large = large_;
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
