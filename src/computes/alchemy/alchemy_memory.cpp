// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/alchemy_memory.h"

#include <cmath>
#include <numeric>

#include "computes/alchemy/physics.h"
#include "computes/energies.h"
#include "computes/lists/exclusion_arrays.h"
#include "math/units.h"

namespace quiltmd {
namespace {

std::vector<FullAtom> full_atoms(const System& system) {
  std::vector<FullAtom> atoms;
  for (const int32_t type : system.pair_types) atoms.push_back({0, type, 0});
  const Alchemy& alchemy = *system.alchemy;
  for (size_t k = 0; k < alchemy.atoms.size(); ++k)
    atoms[static_cast<size_t>(alchemy.atoms[k])] = {alchemy.charges[k] * std::sqrt(kCoulomb),
                                                    alchemy.pair_types[k], 1};
  return atoms;
}

}  // namespace

AlchemyMemory::AlchemyMemory(const SlotMemory& slots, const NonbondedSettings& settings)
    : slots_(slots), make_(slots.device) {
  const System& system = slots.system;
  const Alchemy& alchemy = *system.alchemy;
  atoms_ = make_.filled(alchemy.atoms);
  full_atoms_ = make_.filled(full_atoms(system));
  a_ = make_.filled(system.pair_tables[0]);
  b_ = make_.filled(system.pair_tables[1]);
  states_ = make_.filled(alchemy.states);
  counts_ = make_.zeros<int32_t>(kPlacedKinds);
  make_excluded_pairs();
  make_physics(settings);
}

void AlchemyMemory::make_excluded_pairs() {
  const System& system = slots_.system;
  const auto pairs = alchemical_exclusions(system);
  const ExclusionArrays arrays = exclusion_arrays(system.atom_count(), pairs);
  exclusion_start_ = make_.filled(arrays.start);
  partners_ = make_.filled(arrays.partners);
  const std::vector<double> full = charges_at(system, {});
  const std::vector<FullAtom> atoms = full_atoms(system);
  std::vector<int32_t> ends;
  std::vector<ExcludedCharges> charges;
  for (const auto& [i, j] : pairs) {
    const auto m = static_cast<size_t>(i), n = static_cast<size_t>(j);
    const double product = kCoulomb * full[m] * full[n];
    if (product == 0) continue;
    ends.insert(ends.end(), {i, j});
    charges.push_back({product, atoms[m].is_alchemical + atoms[n].is_alchemical});
  }
  std::vector<uint32_t> rows(charges.size());
  std::iota(rows.begin(), rows.end(), 0u);
  excluded_atoms_ = make_.filled(ends);
  excluded_ = make_.filled(charges);
  excluded_rows_ = make_.filled(rows);
  placed_excluded_ = make_.room<uint32_t>(3 * charges.size());
}

void AlchemyMemory::make_physics(const NonbondedSettings& settings) {
  core_ = soft_core(*slots_.system.alchemy, settings);
  std::vector<double> series;
  smooth_ = smooth_coulomb_of(settings, series);
  series_ = make_.filled(series);
  smooth_.series = series_.data();
  coulomb_shift_ = coulomb_shift(slots_.system, settings);
}

void AlchemyMemory::set_plan(const RankPlan& plan) {
  std::vector<int8_t> here(static_cast<size_t>(slots_.patch_grid.size()), 0);
  for (const int c : plan.computes) here[static_cast<size_t>(c)] = 1;
  make_.renew(computed_here_, here);
  make_.renew(placed_index_, slots_.placed_index());
  // An atom is in the compute of its patch, which meets all codes, and in one of each other code.
  const int meetings_of_one = 2 * slots_.patch_grid.codes() - 1;
  make_.renew(meetings_, atoms_.size() * static_cast<size_t>(meetings_of_one));
}

std::vector<Work> AlchemyMemory::rebuild_work() {
  return {{"alchemy.place", Positions::kWithProxies, Lists::kNotUsed,
           [this](Stream stream, int) { slots_.device.launch(place_alchemy(), stream); }}};
}

std::vector<Work> AlchemyMemory::step_work(Energies energies) {
  return {
      {"alchemy", Positions::kWithProxies, Lists::kNotUsed, [this, energies](Stream stream, int) {
         slots_.device.launch(alchemical_forces(energies), stream);
       }}};
}

PlacedAlchemy AlchemyMemory::placed() const {
  return {meetings_.data(), placed_excluded_.data(), counts_.data()};
}

PlaceAlchemy AlchemyMemory::place_alchemy() const {
  PlaceAlchemy op{};
  op.atoms = atoms_.data();
  op.atom_count = static_cast<int>(atoms_.size());
  op.excluded_atoms = excluded_atoms_.data();
  op.excluded_rows = excluded_rows_.data();
  op.excluded_pairs = static_cast<int>(excluded_.size());
  op.slots = slots_.slots();
  op.patches = slots_.patches.data();
  op.grid = slots_.grid_view();
  op.conditions = slots_.conditions.data();
  op.slot_of_atom = slots_.slot_of_atom.data();
  op.placed_index = placed_index_.data();
  op.computed_here = computed_here_.data();
  op.step = slots_.step.data();
  op.placed = placed();
  op.faults = slots_.faults.data();
  return op;
}

AlchemicalForces AlchemyMemory::alchemical_forces(Energies energies) const {
  AlchemicalForces op{};
  op.slots = slots_.slots();
  op.grid = slots_.grid_view();
  op.patches = slots_.patches.data();
  op.placed = placed();
  op.most_meetings = static_cast<int>(meetings_.size());
  op.most_excluded = static_cast<int>(excluded_.size());
  op.atoms = full_atoms_.data();
  op.exclusions = {exclusion_start_.data(), partners_.data()};
  op.excluded = excluded_.data();
  op.a = a_.data();
  op.b = b_.data();
  op.types = slots_.system.pair_type_count;
  op.core = core_;
  op.smooth = smooth_;
  op.coulomb_shift = coulomb_shift_;
  op.conditions = slots_.conditions.data();
  op.states = states_.data();
  op.state_count = static_cast<int>(states_.size());
  if (energies == Energies::kSkip) return op;
  op.energy = slots_.energy.data();
  op.sums = slots_.energy.data() + AlchemicalSums::kSlopes;
  return op;
}

}  // namespace quiltmd
