// SPDX-License-Identifier: Apache-2.0
// Gives lists and families what they need of the setup.
#include "schedule/rank_memory.h"

#include <algorithm>

#include "computes/bonded/excluded_pairs.h"
#include "computes/bonded/tables.h"
#include "computes/energies.h"
#include "computes/lists/entry_room.h"

namespace quiltmd {
namespace {

// Excluded pairs that pair kernels skip: those that are terms; all, where they feel no reaction field.
std::vector<std::array<int32_t, 2>> pairs_to_skip(const System& system,
                                                  const NonbondedSettings& settings) {
  if (settings.has_reaction_field() && !settings.reaction_field_on_exclusions)
    return system.exclusions;
  return excluded_pairs_of_terms(system);
}

std::unique_ptr<ListMemory> make_lists(const Setup& setup, const SlotMemory& slots) {
  if (!uses_lists(setup.system, setup.nonbonded)) return nullptr;
  const int atoms = setup.system.atom_count();
  const double reach = setup.nonbonded.cutoff + setup.lists.buffer;
  return std::make_unique<ListMemory>(
      slots, ListSetup{setup.ages, entries_of_list(atoms, atoms / setup.grid.box.volume(), reach),
                       pairs_to_skip(setup.system, setup.nonbonded)});
}

// By internal index, whether forces read the exact position of an atom.
std::vector<char> exact_atoms(const Setup& setup) {
  if (std::ranges::any_of(setup.families, &Family::exact_positions))
    return std::vector<char>(setup.system.masses.size(), 1);
  return atoms_in_terms(setup.system);
}

}  // namespace

RankMemory::RankMemory(const Setup& shared, Device& on)
    : setup(shared),
      device(on),
      slots(on, shared.system, shared.grid, shared.packed_pairs.atoms, shared.accumulators(),
            shared.plan.variables.size()),
      exchange(slots, exact_atoms(shared)),
      groups(slots, exact_atoms(shared), shared.plan.constraint_tolerance,
             {shared.plan.baths.of_groups, shared.bath_of_group}),
      lists(make_lists(shared, slots)),
      families(make_families()),
      long_range(make_long_range(shared, slots)),
      rebuilt(all_rebuilt()),
      external(shared.external.empty() ? nullptr
                                       : std::make_unique<ExternalMemory>(slots, shared.external)),
      agreement(on, 1) {
  update_conditions();
}

std::vector<std::unique_ptr<ForceFamily>> RankMemory::make_families() const {
  std::vector<std::unique_ptr<ForceFamily>> made;
  for (const Family& family : setup.families)
    made.push_back(
        family.make({slots, setup.nonbonded, setup.pairs, setup.packed_pairs, lists.get(),
                     setup.plan.timestep, setup.custom_energies(), family.forces}));
  return made;
}

std::vector<Rebuilt*> RankMemory::all_rebuilt() const {
  std::vector<Rebuilt*> all;
  if (lists) all.push_back(lists.get());
  for (const auto& family : families) all.push_back(family.get());
  if (long_range) all.push_back(long_range.get());
  return all;
}

void RankMemory::update_conditions() {
  slots.set_conditions(setup.plan.baths.heat, setup.plan.baths.pressure, setup.restraint_strength,
                       setup.lambdas);
  groups.set_baths(setup.plan.baths.of_groups);
  for (const auto& family : families) {
    family->take_centres(setup.restraint_centres);
    family->take_constants();
    family->take_lambdas(setup.lambdas);
  }
  if (!long_range) return;
  long_range->take_box_of_grid();
  long_range->take_lambdas();
}

void RankMemory::update_box() {
  device.launch(slots.shift_patches());
  if (long_range) long_range->take_box_of_conditions();
}

std::vector<int> RankView::peers() const {
  std::vector<int> others;
  for (int r = 0; r < ranks; ++r)
    if (r != rank) others.push_back(r);
  return others;
}

bool RankView::has(Carrier carrier) const {
  for (const int peer : peers())
    if ((carriers.empty() ? Carrier::kHost : carriers[static_cast<size_t>(peer)]) == carrier)
      return true;
  return false;
}

std::vector<int32_t> RankView::owners(int patches) const {
  std::vector<int32_t> owner(static_cast<size_t>(patches), -1);
  for (int r = 0; r < ranks; ++r)
    for (const int p : plans[static_cast<size_t>(r)].owned) owner[static_cast<size_t>(p)] = r;
  return owner;
}

void RankMemory::set_plan(const RankView& view) {
  slots.update_grid();
  const RankPlan& plan = view.plan();
  slots.set_plan(plan, remote_room(setup.system, plan, view.room));
  exchange.set_plan(plan, view.owners(slots.patch_grid.size()), view.room);
  for (Rebuilt* part : rebuilt) part->set_plan(plan);
}

GroupWork RankMemory::group_work(int list_age) const {
  const auto next_age = static_cast<size_t>(std::min(list_age + 1, setup.lists.life));
  return groups.work(setup.ages.limit[next_age]);
}

SpreadSiteForces RankMemory::spread_site_forces(float long_range_weight, Energies energies) const {
  GroupWork work = group_work(setup.lists.life);  // nothing moves: any age will do
  work.long_range_weight = long_range_weight;
  int64_t* const energy = slots.energy.data();
  return {work, groups.sites(), energies == Energies::kAdd ? energy : nullptr};
}

PlacedTerms RankMemory::placed_terms() const {
  for (const auto& family : families)
    if (const PlacedTerms placed = family->placed_terms(); placed.counts) return placed;
  return {};
}

size_t RankMemory::bytes() const {
  size_t sum = slots.bytes() + exchange.bytes() + groups.bytes();
  for (const Rebuilt* part : rebuilt) sum += part->bytes();
  return sum;
}

Stream stream_apart(const RankMemory& memory, const RankView& view) {
  return view.ranks > 1 || memory.external ? Stream::kBoundary : Stream::kHalo;
}

}  // namespace quiltmd
