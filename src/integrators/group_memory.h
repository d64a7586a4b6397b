// SPDX-License-Identifier: Apache-2.0
// The tables of hydrogen groups on a device: masses, constraints, shapes; and what the operations that
// move groups work on.
#pragma once

#include <vector>

#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"
#include "integrators/group_shapes.h"
#include "integrators/heat_baths.h"
#include "integrators/operations.h"
#include "integrators/sites.h"

namespace quiltmd {

class GroupMemory {
 public:
  // `in_terms`: as make_group_shapes() takes it. The tolerance of constraints is relative.
  GroupMemory(const SlotMemory& slots, const std::vector<char>& in_terms,
              double constraint_tolerance, const GroupBaths& baths = {});

  // An atom that is moved farther than `limit` (nm) from where it was when the lists were built calls
  // for new ones.
  GroupWork work(double limit) const;
  ClearForces clear_forces() const;
  SiteTable sites() const { return {site_set_.data(), site_set_start_.data(), sites_.data()}; }
  MoleculeTable molecules() const { return {molecule_of_group_.data(), molecule_atoms_.data()}; }
  BathTable baths() const { return {bath_of_group_.data(), baths_.data()}; }
  // The number of baths cannot change.
  void set_baths(const std::vector<HeatBath>& baths) { baths_.upload(baths); }
  size_t bytes() const { return make_.bytes(); }

 private:
  const SlotMemory& slots_;
  double tolerance_;
  double blowup2_;  // square of a displacement that makes no sense: half the least width of a patch
  int other_groups_ = 0;
  LargeGroups large_;
  GroupTable table_{};
  BufferMaker make_;
  Buffer<double> mass_, inverse_mass_;
  Buffer<GroupConstraint> constraints_;
  Buffer<uint32_t> group_shape_;
  Buffer<int32_t> molecule_of_group_, molecule_atoms_;
  Buffer<GroupShape> shapes_;
  Buffer<int32_t> mass_end_, site_set_, site_set_start_;
  Buffer<Site> sites_;
  Buffer<uint8_t> bath_of_group_;
  Buffer<HeatBath> baths_;
};

}  // namespace quiltmd
