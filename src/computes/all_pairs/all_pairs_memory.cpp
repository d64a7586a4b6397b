// SPDX-License-Identifier: Apache-2.0
#include "computes/all_pairs/all_pairs_memory.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "computes/lists/exclusion_arrays.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr size_t kPlacesAtOnce = 64;      // of kernels
constexpr size_t kMostSlots = 2'000'000;  // more tiles of pairs could not be counted

std::vector<float> single(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

std::vector<BornSite> sites_of(const std::vector<BornAtom>& atoms) {
  std::vector<BornSite> sites;
  sites.reserve(atoms.size());
  for (const BornAtom& a : atoms)
    sites.push_back({static_cast<float>(a.offset_radius), static_cast<float>(a.scaled_radius),
                     static_cast<float>(a.radius), a.neck_type});
  return sites;
}

SeriesReach reach_of_series(const ImplicitSolvent& solvent) {
  double offset = 0, scaled = 0, radius = 0;
  for (const BornAtom& a : solvent.atoms) {
    offset = std::max(offset, a.offset_radius);
    scaled = std::max(scaled, std::fabs(a.scaled_radius));
    radius = std::max(radius, a.radius);
  }
  const double necks = solvent.neck_types > 0 ? 2 * radius + kNeckReach : 0;
  const double apart = std::max(offset + scaled, necks);
  return {static_cast<float>(std::max(4.001 * scaled, apart)),
          static_cast<float>(std::max(10 * scaled, apart))};
}

}  // namespace

AllPairsMemory::AllPairsMemory(const SlotMemory& slots, AllPairsSetup setup)
    : slots_(slots), setup_(std::move(setup)), make_(slots.device) {
  const System& system = slots.system;
  const ExclusionArrays exclusions = exclusion_arrays(system.atom_count(), system.exclusions);
  exclusion_start_ = make_.filled(exclusions.start);
  excluded_ = make_.filled(exclusions.partners);
  partners_ = make_.room<int32_t>(exclusions.partners.size());
  table_ = make_.filled(setup_.table);
  roster_count_ = make_.zeros<int32_t>(1);
  if (system.solvent) make_solvent(*system.solvent);
  make_room();
}

void AllPairsMemory::make_solvent(const ImplicitSolvent& solvent) {
  constants_ = {solvent.function, 1 / solvent.dielectric, solvent.kappa, solvent.surface,
                1 / std::sqrt(static_cast<double>(setup_.parameters.cutoff2))};
  reach_ = reach_of_series(solvent);
  atoms_ = make_.filled(solvent.atoms);
  site_of_atom_ = make_.filled(sites_of(solvent.atoms));
  neck_types_ = solvent.neck_types;
  neck_distance_ = make_.filled(single(solvent.neck_distance));
  neck_height_ = make_.filled(single(solvent.neck_height));
}

// Arrays by slot: every rank holds all atoms. Slots may have room from a time with more patches.
void AllPairsMemory::make_room() {
  const size_t slots = std::max(whole_system(slots_.system, slots_.patch_grid).slots,
                                static_cast<size_t>(slots_.capacity()));
  const size_t clusters = slots / kClusterSize;
  if (roster_.size() == clusters) return;
  if (slots > kMostSlots)
    throw Error(
        "the system is too large for interactions between all pairs of atoms (no cutoff, or "
        "implicit solvent): its " +
        std::to_string(slots_.system.atom_count()) + " atoms take " + std::to_string(slots) +
        " slots, and at most " + std::to_string(kMostSlots) +
        " are possible; choose a cutoff and no implicit solvent");
  make_.renew(roster_, clusters);
  make_.renew(place_of_cluster_, clusters);
  const size_t places = (slots + kPlacesAtOnce - 1) / kPlacesAtOnce * kPlacesAtOnce;
  make_.renew(roster_atoms_, places);
  make_.renew(partner_ranges_, places);
  if (!has_solvent()) return;
  make_.renew(visits_, clusters);
  make_.renew(sites_, slots);
  make_.renew(sums, slots);
  make_.renew(derivatives, slots);
  make_.renew(radii, slots);
  make_.renew(slopes, slots);
}

void AllPairsMemory::set_plan(const RankPlan&) {
  placed_index_ = Buffer<int32_t>(slots_.device, slots_.placed_index());
  make_room();
}

std::vector<Work> AllPairsMemory::rebuild_work() {
  return {{"roster", Positions::kWithProxies, Lists::kUsed,
           [this](Stream stream, int) { slots_.device.launch(lay_out_roster(), stream); }}};
}

std::vector<Work> AllPairsMemory::step_work(Energies energies) {
  Device& device = slots_.device;
  const auto forces = [this, &device, energies](Stream stream, int) {
    device.launch(all_pair_forces(energies), stream);
  };
  if (!has_solvent()) return {{"pairs.all", Positions::kWithProxies, Lists::kUsed, forces}};
  const auto radii_of_step = [this, &device](Stream stream, int) {
    device.launch(born_radii(), stream);
  };
  const auto chain = [this, &device](Stream stream, int) { device.launch(born_forces(), stream); };
  return {
      {"solvent.radii", Positions::kWithProxies, Lists::kUsed, radii_of_step,
       Balance::kMovesWithPatches, 0},
      {"pairs.all", Positions::kWithProxies, Lists::kUsed, forces, Balance::kMovesWithPatches, 1},
      {"solvent.forces", Positions::kWithProxies, Lists::kUsed, chain, Balance::kMovesWithPatches,
       2}};
}

std::vector<Handover> AllPairsMemory::handovers() {
  if (!has_solvent()) return {};
  return {{.values = {radii.data()}}, {.values = {slopes.data()}}};
}

AllPairs AllPairsMemory::pairs() const {
  const PatchGrid& grid = slots_.patch_grid;
  AllPairs p{};
  p.slots = slots_.slots();
  p.owned_slots = slots_.owned_slots.data();
  p.slot_capacity = slots_.capacity();
  p.patches = slots_.patches.data();
  p.roster = roster_.data();
  p.roster_count = roster_count_.data();
  p.roster_capacity = static_cast<int>(roster_.size());
  p.partner_start = exclusion_start_.data();
  p.partners = partners_.data();
  p.roster_atoms = roster_atoms_.data();
  p.partner_ranges = partner_ranges_.data();
  p.cells = grid.cells;
  p.patch_width = {grid.box.ax / grid.cells.x, grid.box.by / grid.cells.y,
                   grid.box.cz / grid.cells.z};
  p.cutoff2 = setup_.parameters.cutoff2;
  p.atoms = slots_.system.atom_count();
  return p;
}

NeckTables AllPairsMemory::necks() const {
  return {neck_distance_.data(), neck_height_.data(), neck_types_};
}

LayOutRoster AllPairsMemory::lay_out_roster() const {
  LayOutRoster op{};
  op.slots = slots_.slots();
  op.patches = slots_.patches.data();
  op.placed_index = placed_index_.data();
  op.patch_count = slots_.patch_grid.size();
  op.roster = roster_.data();
  op.roster_count = roster_count_.data();
  op.roster_capacity = static_cast<int>(roster_.size());
  op.place_of_cluster = place_of_cluster_.data();
  op.exclusions = {exclusion_start_.data(), excluded_.data()};
  op.atoms = slots_.system.atom_count();
  op.slot_of_atom = slots_.slot_of_atom.data();
  op.partners = partners_.data();
  op.roster_atoms = roster_atoms_.data();
  op.partner_ranges = partner_ranges_.data();
  op.places = static_cast<int>(roster_atoms_.size());
  op.site_of_atom = site_of_atom_.data();
  op.sites = sites_.data();
  op.sums = sums.data();
  op.derivatives = derivatives.data();
  op.visits = visits_.data();
  op.slot_capacity = slots_.capacity();
  return op;
}

BornRadii AllPairsMemory::born_radii() const {
  return {pairs(),    sites_.data(), necks(),        reach_,      atoms_.data(),
          constants_, sums.data(),   visits_.data(), radii.data()};
}

BornSlopes AllPairsMemory::born_slopes() const {
  if (!has_solvent()) return {};
  return {radii.data(),       atoms_.data(),  constants_,   sums.data(),
          derivatives.data(), visits_.data(), slopes.data()};
}

AllPairForces AllPairsMemory::all_pair_forces(Energies energies) const {
  return {pairs(), setup_.parameters, table_.data(), born_slopes(),
          energies == Energies::kAdd ? slots_.energy.data() : nullptr};
}

BornForces AllPairsMemory::born_forces() const {
  return {pairs(), sites_.data(), necks(), reach_, slopes.data()};
}

}  // namespace quiltmd
