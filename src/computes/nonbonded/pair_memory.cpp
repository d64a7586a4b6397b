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
  return {lists_.view(part, list_age, share),
          lists_.long_exclusion_masks.data(),
          slots_.grid_view().shifts,
          slots_.grid_view().codes,
          pieces_,
          parameters_,
          table_.data(),
          energies == Energies::kAdd ? slots_.energy.data() : nullptr};
}

}  // namespace quiltmd
