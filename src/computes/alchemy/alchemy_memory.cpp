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
  placed_slots_ = make_.room<int32_t>(alchemy.atoms.size());
  excluded_count_ = make_.zeros<int32_t>(1);
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
  const PatchGrid& grid = slots_.patch_grid;
  const std::vector<int32_t> placed_index = slots_.placed_index();
  std::vector<int32_t> computes, neighbours;
  std::vector<int8_t> here(static_cast<size_t>(grid.size()), 0);
  for (const int c : plan.computes) {
    here[static_cast<size_t>(c)] = 1;
    computes.push_back(placed_index[static_cast<size_t>(c)]);
    for (int code = 0; code < grid.codes(); ++code)
      neighbours.push_back(placed_index[static_cast<size_t>(grid.neighbour(c, code))]);
  }
  compute_count_ = static_cast<int>(computes.size());
  patch_count_ = static_cast<int>(plan.owned.size() + plan.proxies.size());
  make_.renew(computed_here_, here);
  make_.renew(computes_, computes);
  make_.renew(neighbours_, neighbours);
  make_.renew(first_of_patch_, static_cast<size_t>(patch_count_) + 1);
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

PlaceAlchemy AlchemyMemory::place_alchemy() const {
  PlaceAlchemy op{};
  op.atoms = atoms_.data();
  op.atom_count = static_cast<int>(atoms_.size());
  op.patch_count = patch_count_;
  op.excluded_atoms = excluded_atoms_.data();
  op.excluded_rows = excluded_rows_.data();
  op.excluded_pairs = static_cast<int>(excluded_.size());
  op.slots = slots_.slots();
  op.patches = slots_.patches.data();
  op.grid = slots_.grid_view();
  op.conditions = slots_.conditions.data();
  op.slot_of_atom = slots_.slot_of_atom.data();
  op.computed_here = computed_here_.data();
  op.step = slots_.step.data();
  op.placed = {placed_slots_.data(), first_of_patch_.data(), placed_excluded_.data(),
               excluded_count_.data()};
  op.faults = slots_.faults.data();
  return op;
}

AlchemicalForces AlchemyMemory::alchemical_forces(Energies energies) const {
  AlchemicalForces op{};
  op.slots = slots_.slots();
  op.grid = slots_.grid_view();
  op.patches = slots_.patches.data();
  op.computes = computes_.data();
  op.neighbours = neighbours_.data();
  op.compute_count = compute_count_;
  op.placed = {placed_slots_.data(), first_of_patch_.data(), placed_excluded_.data(),
               excluded_count_.data()};
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
