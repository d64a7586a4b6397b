// SPDX-License-Identifier: Apache-2.0
// What collective restraints need on a rank's device, and their operations.
#pragma once

#include <vector>

#include "computes/collective/operations.h"
#include "computes/force_family.h"
#include "decomposition/slot_memory.h"
#include "device/buffer_maker.h"

namespace quiltmd {

// The tables of restraints, the same on all ranks; the reference has them, too.
struct CollectiveArrays {
  explicit CollectiveArrays(const std::vector<CollectiveRestraint>& restraints);

  std::vector<CollectiveTerm> terms;
  std::vector<CollectiveBody> bodies;
  std::vector<CollectiveMember> members;
  std::vector<int32_t> shared_atoms;
  std::vector<CentrePoint> path;
  int sums = 0;

 private:
  void add(const CollectiveRestraint& restraint);
  void add_body(const CollectiveRestraint& restraint, int role);
};

class CollectiveMemory final : public ForceFamily {
 public:
  CollectiveMemory(const SlotMemory& slots, double timestep);

  void set_plan(const RankPlan& /*plan*/) override {}  // atoms are found by their index
  std::vector<Work> step_work(Energies energies) override;
  std::vector<Handover> handovers() override;
  void take_centres(const std::vector<double>& numbers) override;
  size_t bytes() const override { return make_.bytes(); }

 private:
  CollectiveTable table() const;
  EvaluateCollective evaluate(Energies energies) const;

  const SlotMemory& slots_;
  const CollectiveArrays arrays_;
  const double timestep_;
  BufferMaker make_;
  Buffer<CollectiveTerm> terms_;
  Buffer<CollectiveBody> bodies_;
  Buffer<CollectiveMember> members_;
  Buffer<int32_t> shared_atoms_;
  Buffer<CentrePoint> path_;
  Buffer<double> centres_, bias_;
  std::vector<BiasAxis> bias_axes_;
  Buffer<int64_t> shared_, sums_;
  Buffer<CollectivePull> pulls_;
};

}  // namespace quiltmd
