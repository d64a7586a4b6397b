// SPDX-License-Identifier: Apache-2.0
// The fast multipole method, spread over all ranks: each owns a slab of (y, z) planes of level 0, which is seven
// eighths of the work. The levels above are small and every rank has all of their charges, so those of level 1 come to
// all ranks, directly or through one other; all other messages go to ranks nearby.
#pragma once

#include "computes/long_range/fmm/fmm_memory.h"
#include "schedule/long_range.h"

namespace quiltmd {

class FmmSum final : public LongRangeSum {
 public:
  FmmSum(const Setup& setup, const SlotMemory& slots);

  void take_box_of_grid() override;
  void take_box_of_conditions() override;
  void set_plan(const RankPlan& plan) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Edge> edges() const override;
  LongRangeTasks add(Schedule& schedule, const RankView& view, Energies energies) override;
  PairsAlone pairs_alone() const override;
  size_t bytes() const override { return memory_->bytes(); }

 private:
  const Setup& setup_;
  const SlotMemory& slots_;
  Device& device_;
  std::shared_ptr<const FmmTables> tables_;
  std::unique_ptr<FmmMemory> memory_;  // made anew when an open cell has another size
};

}  // namespace quiltmd
