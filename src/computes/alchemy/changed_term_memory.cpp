// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/changed_term_memory.h"

#include <numeric>

#include "computes/bonded/tables.h"
#include "computes/energies.h"

namespace quiltmd {
namespace {

// Derivatives by lambda are differences of four energies, of the order of kStep^4: exact where the energy is a
// polynomial of the fourth degree, as for all but torsions whose phases differ, and to 1e-11 for these.
constexpr double kStep = 1.0 / 1024;
struct Sample {
  double steps, weight;
};
constexpr Sample kSamples[] = {
    {-2, 1 / (12 * kStep)}, {-1, -8 / (12 * kStep)}, {1, 8 / (12 * kStep)}, {2, -1 / (12 * kStep)}};

std::vector<ParameterSet> parameter_sets(const Alchemy& alchemy) {
  std::vector<ParameterSet> sets;
  for (int32_t l = 0; l < kLambdas; ++l)
    for (const Sample& sample : kSamples) sets.push_back({l, sample.weight});
  for (size_t k = 0; k < alchemy.states.size(); ++k)
    sets.push_back({kLambdas + static_cast<int32_t>(k), 1});
  return sets;
}

}  // namespace

ChangedTermMemory::ChangedTermMemory(const SlotMemory& slots) : slots_(slots), make_(slots.device) {
  if (is_empty()) return;
  const Alchemy& alchemy = *slots.system.alchemy;
  placed_count_ = make_.zeros<int32_t>(kTermForms);
  sets_ = make_.filled(parameter_sets(alchemy));
  tables_.placed_count = placed_count_.data();
  for (const ChangedTerms& changed : alchemy.changed_terms) {
    const Terms& terms = *slots.system.terms_of(*changed.form);
    const size_t form = form_index(*changed.form), count = changed.terms.size();
    std::vector<int32_t> atoms;
    for (const int32_t term : changed.terms) {
      const auto of_term = terms.atoms_of(term);
      atoms.insert(atoms.end(), of_term.begin(), of_term.end());
    }
    std::vector<uint32_t> row(count);
    std::iota(row.begin(), row.end(), 0u);
    Arrays& to = arrays_[form];
    to.atoms = make_.filled(atoms);
    to.row = make_.filled(row);
    to.parameters = make_.room<double>((1 + sets_.size()) *
                                       parameters_at(slots.system, changed, alchemy.start).size());
    to.placed = make_.room<uint32_t>(atoms.size() + count);
    tables_.form[form] = {static_cast<int>(count), to.atoms.data(), to.row.data(),
                          to.parameters.data(),    nullptr,         to.placed.data()};
  }
  take_lambdas(alchemy.start);
}

// The present lambdas, and those of all sets.
std::vector<Lambdas> ChangedTermMemory::sampled_at(const Lambdas& now) const {
  std::vector<Lambdas> all{now};
  for (int l = 0; l < kLambdas; ++l)
    for (const Sample& sample : kSamples) {
      all.push_back(now);
      all.back().of[l] += sample.steps * kStep;
    }
  const auto& states = slots_.system.alchemy->states;
  all.insert(all.end(), states.begin(), states.end());
  return all;
}

void ChangedTermMemory::take_lambdas(const Lambdas& lambdas) {
  for (const ChangedTerms& changed : slots_.system.alchemy->changed_terms) {
    std::vector<double> parameters;
    for (const Lambdas& one : sampled_at(lambdas)) {
      const std::vector<double> own = parameters_at(slots_.system, changed, one);
      parameters.insert(parameters.end(), own.begin(), own.end());
    }
    arrays_[form_index(*changed.form)].parameters.upload(parameters);
  }
}

PlaceTerms ChangedTermMemory::place_terms(const int8_t* computed_here) const {
  PlaceTerms op{};
  op.terms = tables_;
  op.slots = slots_.slots();
  op.patches = slots_.patches.data();
  op.grid = slots_.grid_view();
  op.conditions = slots_.conditions.data();
  op.slot_of_atom = slots_.slot_of_atom.data();
  op.computed_here = computed_here;
  op.step = slots_.step.data();
  op.faults = slots_.faults.data();
  return op;
}

ChangedTermEnergies ChangedTermMemory::energies_of_states() const {
  ChangedTermEnergies op{};
  op.at.terms = tables_;
  op.at.slots = slots_.slots();
  op.at.exact_shifts = slots_.grid_view().exact_shifts;
  op.at.patches = slots_.patches.data();
  op.at.cells = slots_.grid_view().cells;
  op.at.conditions = slots_.conditions.data();
  op.at.energy_by_image = 1;
  op.sets = sets_.data();
  op.set_count = static_cast<int>(sets_.size());
  op.sum_count = kLambdas + static_cast<int>(slots_.system.alchemy->states.size());
  op.sums = slots_.energy.data() + AlchemicalSums::kSlopes;
  return op;
}

}  // namespace quiltmd
