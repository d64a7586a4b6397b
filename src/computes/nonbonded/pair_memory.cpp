// SPDX-License-Identifier: Apache-2.0
#include "computes/nonbonded/pair_memory.h"

namespace quiltmd {

PairMemory::PairMemory(const SlotMemory& slots, const ListMemory& lists, const PairSetup& setup)
    : slots_(slots),
      lists_(lists),
      parameters_(setup.parameters),
      pieces_(setup.pieces),
      make_(slots.device) {
  table_ = make_.filled(setup.table);
}

std::vector<Work> PairMemory::step_work(Energies energies) {
  const auto forces = [this, energies](Part part) {
    return [this, energies, part](Stream stream, int list_age, Share share = {}) {
      slots_.device.launch(pair_forces(part, energies, list_age, share), stream);
    };
  };
  std::vector<Work> work;
  if (lists_.has(Part::kBoundary))
    work.push_back({"pairs.boundary", Positions::kWithProxies, Lists::kUsed,
                    forces(Part::kBoundary), Balance::kMovesWithComputes});
  work.push_back({"pairs.interior", Positions::kOwned, Lists::kUsed, forces(Part::kInterior),
                  Balance::kMovesWithComputes, 0, forces(Part::kInterior)});
  return work;
}

PairForces PairMemory::pair_forces(Part part, Energies energies, int list_age, Share share) const {
  const ListRange range = lists_.range(part, share);
  PairForces op{};
  op.slots = slots_.slots();
  op.slot_capacity = slots_.capacity();
  op.lists = lists_.lists.data();
  op.first = range.first;
  op.end = range.end;
  op.capacity = range.capacity;
  op.shells = lists_.shells(list_age);
  op.entries = lists_.entries.data();
  op.masks = lists_.masks.data();
  op.long_exclusion_masks = lists_.long_exclusion_masks.data();
  op.shifts = slots_.grid_view().shifts;
  op.codes = slots_.grid_view().codes;
  op.pieces = pieces_;
  op.parameters = parameters_;
  op.table = table_.data();
  op.energy = energies == Energies::kAdd ? slots_.energy.data() : nullptr;
  return op;
}

}  // namespace quiltmd
