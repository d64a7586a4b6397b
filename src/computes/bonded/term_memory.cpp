// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/term_memory.h"

#include "computes/bonded/tables.h"

namespace quiltmd {

TermMemory::TermMemory(const SlotMemory& slots)
    : slots_(slots), placed_count_(slots.device, std::vector<int32_t>(kTermForms, 0)) {
  Device& device = slots.device;
  const auto packed = term_arrays(slots.system);
  TermForms::for_each([&]<class Form>(int k) {
    const TermArrays& from = packed[static_cast<size_t>(k)];
    Arrays& to = arrays_[static_cast<size_t>(k)];
    to.atoms = Buffer<int32_t>(device, from.atoms);
    to.first_term = Buffer<int32_t>(device, from.first_term);
    to.parameters = Buffer<double>(device, from.parameters);
    to.shared = Buffer<double>(device, from.shared);
    to.placed = Buffer<uint32_t>(device, static_cast<size_t>(from.count * (Form::kAtoms + 1)));
    tables_.form[k] = {from.count,       to.atoms.data(),      to.parameters.data(),
                       to.shared.data(), to.first_term.data(), to.placed.data()};
  });
  tables_.placed_count = placed_count_.data();
}

size_t TermMemory::bytes() const {
  size_t total = placed_count_.bytes();
  for (const Arrays& a : arrays_)
    total += a.atoms.bytes() + a.first_term.bytes() + a.parameters.bytes() + a.shared.bytes() +
             a.placed.bytes();
  return total;
}

void TermMemory::adopt(const RankPlan& plan) {
  std::vector<int8_t> here(static_cast<size_t>(slots_.patch_grid.size()), 0);
  for (const int c : plan.computes) here[static_cast<size_t>(c)] = 1;
  computed_here_ = Buffer<int8_t>(slots_.device, here);
}

std::vector<Work> TermMemory::rebuild_work() {
  return {{"terms.place", Positions::kWithProxies, Lists::kNotUsed,
           [this](Stream stream, int) { slots_.device.launch(place_terms(), stream); }}};
}

std::vector<Work> TermMemory::step_work(Energies energies) {
  return {{"terms", Positions::kWithProxies, Lists::kNotUsed, [this, energies](Stream stream, int) {
             slots_.device.launch(term_forces(energies), stream);
           }}};
}

PlaceTerms TermMemory::place_terms() const {
  PlaceTerms op{};
  op.terms = tables_;
  op.slots = slots_.slots();
  op.patches = slots_.patches.data();
  op.grid = slots_.grid_view();
  op.conditions = slots_.conditions.data();
  op.slot_count = slots_.used_slots();
  op.slot_capacity = slots_.capacity();
  op.slot_of_atom = slots_.slot_of_atom.data();
  op.computed_here = computed_here_.data();
  op.step = slots_.step.data();
  op.faults = slots_.faults.data();
  return op;
}

TermForces TermMemory::term_forces(Energies energies) const {
  TermForces op{};
  op.terms = tables_;
  op.slots = slots_.slots();
  op.exact_shifts = slots_.grid_view().exact_shifts;
  op.patches = slots_.patches.data();
  op.cells = slots_.grid_view().cells;
  op.conditions = slots_.conditions.data();
  op.energy = energies == Energies::kAdd ? slots_.energy.data() : nullptr;
  return op;
}

}  // namespace quiltmd
