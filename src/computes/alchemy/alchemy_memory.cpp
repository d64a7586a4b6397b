// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/alchemy_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "computes/alchemy/physics.h"
#include "computes/energies.h"
#include "computes/lists/exclusion_arrays.h"
#include "math/error.h"
#include "math/units.h"

namespace quiltmd {
namespace {

// Pairs are counted by 32 bits.
constexpr double kMostPairs = 1 << 30;
// GPUs may fill only a small part of the last warp of each block of an atom.
constexpr double kPartlyFilled = 32 * PlaceAlchemy::kBlocksOfAtom;

std::vector<FullAtom> full_atoms(const System& system) {
  std::vector<FullAtom> atoms;
  for (const int32_t type : system.pair_types)
    atoms.push_back({{0, 0}, {type, type}, 0, Presence::kBoth});
  const Alchemy& alchemy = *system.alchemy;
  const std::vector<Presence> presence = presence_of(system);
  for (size_t k = 0; k < alchemy.atoms.size(); ++k) {
    FullAtom& atom = atoms[static_cast<size_t>(alchemy.atoms[k])];
    for (size_t end = 0; end < 2; ++end) {
      atom.charge[end] = alchemy.ends[end].charges[k] * std::sqrt(kCoulomb);
      atom.pair_type[end] = alchemy.ends[end].pair_types[k];
    }
    atom.is_alchemical = 1;
    atom.presence = presence[k];
  }
  return atoms;
}

}  // namespace

AlchemyMemory::AlchemyMemory(const SlotMemory& slots, const NonbondedSettings& settings,
                             double reach)
    : slots_(slots), reach_(reach), make_(slots.device), terms_(slots) {
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
  const std::vector<double> at_ends[] = {charges_at(system, {}), charges_at(system, {{1}})};
  std::vector<int32_t> ends;
  std::vector<ChargeProduct> charges;
  for (const auto& [i, j] : pairs) {
    const auto m = static_cast<size_t>(i), n = static_cast<size_t>(j);
    const double first[] = {kCoulomb * at_ends[0][m], kCoulomb * at_ends[1][m]};
    const double second[] = {at_ends[0][n], at_ends[1][n]};
    const ChargeProduct product = ChargeProduct::of(first, second);
    if (product.is_zero()) continue;
    ends.insert(ends.end(), {i, j});
    charges.push_back(product);
  }
  std::vector<uint32_t> rows(charges.size());
  std::iota(rows.begin(), rows.end(), 0u);
  excluded_atoms_ = make_.filled(ends);
  excluded_ = make_.filled(charges);
  excluded_rows_ = make_.filled(rows);
  placed_excluded_ = make_.room<PlacedPair>(charges.size());
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
  make_.renew(computed_here_, terms_computed(slots_.patch_grid, plan));
  make_.renew(placed_index_, slots_.placed_index());
  const double density = slots_.system.atom_count() / slots_.patch_grid.box.volume();
  const double of_one = density * 4.0 / 3.0 * kPi * std::pow(reach_, 3);
  make_room_for_pairs(static_cast<double>(atoms_.size()) * (of_one + kPartlyFilled));
}

void AlchemyMemory::take_lambdas(const Lambdas& lambdas) { terms_.take_lambdas(lambdas); }

// A quarter more: solutes may be denser than what is around them.
void AlchemyMemory::make_room_for_pairs(double count) {
  const auto wanted = static_cast<size_t>(std::min(1.25 * count, kMostPairs));
  if (wanted > near_.size()) make_.renew(near_, wanted);
}

// Like lists, also if the missing room is that of others.
void AlchemyMemory::make_room(const Faults&) {
  const int32_t need = counts_.download()[kNearPairs];
  if (need < 0 || need > kMostPairs)
    throw Error("alchemical atoms have more than " +
                std::to_string(static_cast<int64_t>(kMostPairs)) +
                " pairs on one rank: use more ranks, a shorter cutoff or fewer alchemical atoms");
  if (static_cast<size_t>(need) > near_.size()) make_room_for_pairs(need);
  slots_.device.launch(place_alchemy());
}

std::vector<Work> AlchemyMemory::rebuild_work() {
  Work work{"alchemy.place", Positions::kWithProxies, Lists::kNotUsed,
            [this](Stream stream, int) { slots_.device.launch(place_alchemy(), stream); }};
  work.apart = true;
  if (terms_.is_empty()) return {work};
  return {
      work,
      {"alchemy.place_terms", Positions::kWithProxies, Lists::kNotUsed, [this](Stream stream, int) {
         slots_.device.launch(terms_.place_terms(computed_here_.data()), stream);
       }}};
}

std::vector<Work> AlchemyMemory::step_work(Energies energies) {
  Work work{"alchemy", Positions::kWithProxies, Lists::kNotUsed,
            [this, energies](Stream stream, int) {
              slots_.device.launch(alchemical_forces(energies), stream);
            }};
  work.apart = true;
  if (terms_.is_empty() || energies == Energies::kSkip) return {work};
  Work of_terms{
      "alchemy.terms", Positions::kWithProxies, Lists::kNotUsed,
      [this](Stream stream, int) { slots_.device.launch(terms_.energies_of_states(), stream); }};
  of_terms.apart = true;
  return {work, of_terms};
}

PlacedAlchemy AlchemyMemory::placed() const {
  return {near_.data(), placed_excluded_.data(), static_cast<int>(near_.size()), counts_.data()};
}

PlaceAlchemy AlchemyMemory::place_alchemy() const {
  PlaceAlchemy op{};
  op.atoms = atoms_.data();
  op.atom_count = static_cast<int>(atoms_.size());
  op.full = full_atoms_.data();
  op.exclusions = {exclusion_start_.data(), partners_.data()};
  op.a = a_.data();
  op.b = b_.data();
  op.types = slots_.system.pair_type_count;
  op.reach = static_cast<float>(reach_);
  op.excluded_atoms = excluded_atoms_.data();
  op.excluded_rows = excluded_rows_.data();
  op.excluded_charges = excluded_.data();
  op.excluded_pairs = static_cast<int>(excluded_.size());
  op.slots = slots_.slots();
  op.bounds = slots_.bounds.data();
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
  op.placed = placed();
  op.most_excluded = static_cast<int>(excluded_.size());
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
