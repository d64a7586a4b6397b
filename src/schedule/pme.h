// SPDX-License-Identifier: Apache-2.0
// Particle mesh Ewald, spread over all ranks: each owns a slab of (y, z) planes and a slab of x lines. Ranks
// whose kernels reach each other write into each other's grids; between others, parts of grids are messages.
#pragma once

#include <deque>
#include <optional>

#include "computes/long_range/pme/mesh_memory.h"
#include "schedule/long_range.h"

namespace quiltmd {

// Of a system of so many atoms.
PairsAlone pairs_beside_mesh(int atoms);

class PmeSum final : public LongRangeSum {
 public:
  PmeSum(const Setup& setup, const SlotMemory& slots);

  void take_box_of_grid() override;
  void take_box_of_conditions() override;
  void take_lambdas() override;
  void set_plan(const RankPlan& plan) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Edge> edges() const override;
  LongRangeTasks add(Schedule& schedule, const RankView& view, Energies energies) override;
  PairsAlone pairs_alone() const override;
  void offer(const RankView& view, Mailboxes& mailboxes) override;
  void join(const RankView& view, const Mailboxes& mailboxes) override;
  size_t bytes() const override;

  std::deque<MeshMemory> meshes;  // of charges; and of the dispersion

 private:
  TaskId add_change(Schedule& schedule, const RankView& view, TaskId after);

  // If charges depend on lambda: their change, whose energy steps with energies calculate.
  std::optional<MeshMemory> change_;
  std::vector<MeshMemory*> all_;  // these meshes
  const Setup& setup_;
  Device& device_;
};

}  // namespace quiltmd
