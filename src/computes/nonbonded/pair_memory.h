// SPDX-License-Identifier: Apache-2.0
// The short-range pairs: what the pair form needs, and the operation that evaluates pair lists.
#pragma once

#include <vector>

#include "computes/lists/list_memory.h"
#include "computes/nonbonded/operations.h"

namespace quiltmd {

// Setup of the evaluation of pairs.
struct PairSetup {
  PairParameters parameters;
  std::vector<float> table;  // PairForces::table
  int pieces;                // PairForces::pieces
};

class PairMemory final : public ForceFamily {
 public:
  PairMemory(const SlotMemory& slots, const ListMemory& lists, const PairSetup& setup);

  void set_plan(const RankPlan&) override {}
  std::vector<Work> step_work(Energies energies) override;
  size_t bytes() const override { return make_.bytes(); }

  PairForces pair_forces(Part part, Energies energies, int list_age, Share share = {}) const;

 private:
  const SlotMemory& slots_;
  const ListMemory& lists_;
  PairParameters parameters_;
  int pieces_;
  BufferMaker make_;
  Buffer<float> table_;
};

}  // namespace quiltmd
