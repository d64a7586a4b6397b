// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/term_memory.h"

#include "computes/bonded/tables.h"

namespace quiltmd {

TermMemory::TermMemory(const SlotMemory& slots) : slots_(slots), make_(slots.device) {
  placed_count_ = make_.zeros<int32_t>(kTermForms);
  const auto packed = term_arrays(slots.system);
  TermForms::for_each([&]<class Form>(int k) {
    const TermArrays& from = packed[static_cast<size_t>(k)];
    Arrays& to = arrays_[static_cast<size_t>(k)];
    to.atoms = make_.filled(from.atoms);
    to.row = make_.filled(from.row);
    to.parameters = make_.filled(from.parameters);
    to.shared = make_.filled(from.shared);
    to.placed = make_.room<uint32_t>(static_cast<size_t>(from.count * (Form::kAtoms + 1)));
    tables_.form[k] = {from.count,           to.atoms.data(),  to.row.data(),
                       to.parameters.data(), to.shared.data(), to.placed.data()};
  });
  tables_.placed_count = placed_count_.data();
}

void TermMemory::set_plan(const RankPlan& plan) {
  make_.renew(computed_here_, terms_computed(slots_.patch_grid, plan));
}

void TermMemory::take_lambdas(const Lambdas& lambdas) {
  if (!slots_.system.alchemy) return;
  for (const ChangedTerms& changed : slots_.system.alchemy->changed_terms)
    arrays_[form_index(*changed.form)].parameters.upload(
        parameters_at(slots_.system, changed, lambdas));
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
  op.energy_by_image = slots_.patch_grid.is_open() ? 0 : 1;
  return op;
}

}  // namespace quiltmd
