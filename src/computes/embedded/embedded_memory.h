// SPDX-License-Identifier: Apache-2.0
// The memory of embedded atoms on one rank: types, densities and slopes by slot, tables, and the work over them.
#pragma once

#include "computes/embedded/operations.h"
#include "computes/lists/list_memory.h"

namespace quiltmd {

class EmbeddedMemory final : public ForceFamily {
 public:
  // With the embedded atoms of the system of the slots.
  EmbeddedMemory(const SlotMemory& slots, const ListMemory& lists);

  void set_plan(const RankPlan& plan) override;
  std::vector<Work> rebuild_work() override;
  std::vector<Work> step_work(Energies energies) override;
  std::vector<Handover> handovers() override;
  size_t bytes() const override { return make_.bytes(); }

 private:
  EmbeddedLists pairs(Part part, int list_age) const;
  EmbedAtoms embed_atoms(Energies energies) const;
  int64_t* energy(Energies energies) const;

  const SlotMemory& slots_;
  const ListMemory& lists_;
  const EmbeddedAtoms& embedded_;
  double unit_;
  BufferMaker make_;
  Buffer<int32_t> type_of_atom_, types_;
  Buffer<float> rows_, slopes_;
  Buffer<double> embedding_;
  Buffer<int64_t> sums_;
};

}  // namespace quiltmd
