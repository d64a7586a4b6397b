// SPDX-License-Identifier: Apache-2.0
#include "computes/embedded/embedded_memory.h"

namespace quiltmd {

EmbeddedMemory::EmbeddedMemory(const SlotMemory& slots, const ListMemory& lists)
    : slots_(slots),
      lists_(lists),
      embedded_(*slots.system.embedded),
      unit_(density_unit(embedded_)),
      make_(slots.device) {
  type_of_atom_ = make_.filled(embedded_.type_of_atom);
  rows_ = make_.filled(pair_rows(embedded_));
  embedding_ = make_.filled(embedding_rows(embedded_));
}

// Slots may have room from a time of more patches.
void EmbeddedMemory::set_plan(const RankPlan&) {
  const auto slots = static_cast<size_t>(slots_.capacity());
  make_.renew(types_, std::vector<int32_t>(slots, 0));
  make_.renew(sums_, std::vector<int64_t>(slots, 0));
  make_.renew(slopes_, std::vector<float>(slots, 0));
}

std::vector<Work> EmbeddedMemory::rebuild_work() {
  return {{"embedded.types", Positions::kWithProxies, Lists::kNotUsed, [this](Stream stream, int) {
             slots_.device.launch(PlaceTypes{slots_.atom.data(), type_of_atom_.data(),
                                             slots_.used_slots(), slots_.capacity(), types_.data()},
                                  stream);
           }}};
}

std::vector<Work> EmbeddedMemory::step_work(Energies energies) {
  Device& device = slots_.device;
  std::vector<Work> work;
  for (const Part part : {Part::kBoundary, Part::kInterior}) {
    if (!lists_.has(part)) continue;
    const Positions positions =
        part == Part::kInterior ? Positions::kOwned : Positions::kWithProxies;
    work.push_back({"embedded.densities", positions, Lists::kUsed,
                    [this, &device, part](Stream stream, int age) {
                      device.launch(EmbeddedDensities{pairs(part, age), unit_, sums_.data()},
                                    stream);
                    },
                    Balance::kMovesWithComputes, 0});
    work.push_back({"embedded.forces", positions, Lists::kUsed,
                    [this, &device, part, energies](Stream stream, int age) {
                      device.launch(EmbeddedForces{pairs(part, age), energy(energies)}, stream);
                    },
                    Balance::kMovesWithComputes, 2});
  }
  work.push_back({"embedded.atoms", Positions::kOwned, Lists::kNotUsed,
                  [this, &device, energies](Stream stream, int) {
                    device.launch(embed_atoms(energies), stream);
                  },
                  Balance::kMovesWithPatches, 1});
  return work;
}

std::vector<Handover> EmbeddedMemory::handovers() {
  return {{.sums = {sums_.data()}}, {.values = {slopes_.data()}}};
}

int64_t* EmbeddedMemory::energy(Energies energies) const {
  return energies == Energies::kAdd ? slots_.energy.data() : nullptr;
}

EmbeddedLists EmbeddedMemory::pairs(Part part, int list_age) const {
  return {lists_.view(part, list_age),
          slots_.grid_view().shifts,
          slots_.grid_view().codes,
          types_.data(),
          slopes_.data(),
          rows_.data(),
          embedded_.types,
          embedded_.points() - 1,
          static_cast<float>(embedded_.cutoff * embedded_.cutoff),
          static_cast<float>(1 / embedded_.spacing)};
}

EmbedAtoms EmbeddedMemory::embed_atoms(Energies energies) const {
  return {slots_.atom.data(),
          types_.data(),
          slots_.owned_slots.data(),
          slots_.capacity(),
          embedding_.data(),
          embedded_.density_points() - 1,
          1 / embedded_.density_step,
          unit_,
          sums_.data(),
          slopes_.data(),
          energy(energies)};
}

}  // namespace quiltmd
