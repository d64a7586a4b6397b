// SPDX-License-Identifier: Apache-2.0
// Allocation, tables, and the parameter structs of the layout operations.
#include "decomposition/slot_memory.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "math/error.h"
#include "math/units.h"

namespace quiltmd {

namespace {

// Room for atoms beyond those that a rank owned when patches were assigned; where they become more,
// patches are assigned again.
size_t with_margin(size_t expected) { return expected + expected / 16 + 512; }

void require_numbers(size_t slots) {
  constexpr size_t kMost = size_t{kSlotMask} + 1;
  if (slots <= kMost) return;
  throw Error("there are too many atoms for one rank: they may need " + std::to_string(slots) +
              " slots, and a rank has at most " + std::to_string(kMost) +
              "; use more ranks (GPUs), or fewer atoms");
}

}  // namespace

SlotRoom whole_system(const System& system, const PatchGrid& grid) {
  // In an open cell an eighth of the patches can have atoms.
  const int patches = grid.is_open() ? grid.size() / 8 : grid.size();
  const auto slots = static_cast<size_t>(count_slots(system.atom_count(), patches));
  const auto groups = static_cast<size_t>(system.group_count());
  return {slots, groups, slots, groups, slots};
}

SlotMemory::SlotMemory(Device& on, const System& simulated, const PatchGrid& grid,
                       const std::vector<Float2>& pair_numbers_of_atoms, int energies,
                       size_t plan_variables)
    : device(on), system(simulated), patch_grid(grid), make_(on) {
  upload_tables(pair_numbers_of_atoms);
  variables = make_.room<double>(plan_variables);
  start_variables_ = make_.room<double>(plan_variables);
  start_heat_ = make_.zeros<int64_t>(1);
  slot_of_atom = make_.room<int32_t>(static_cast<size_t>(system.atom_count()));
  device.fill(slot_of_atom.data(), 0xff, slot_of_atom.bytes(), Stream::kMain);
  group_count = make_.room<int32_t>(1);
  owned_slots = make_.room<int32_t>(1);
  all_slots = make_.room<int32_t>(1);
  step = make_.zeros<int64_t>(2);
  energy = make_.zeros<int64_t>(static_cast<size_t>(energies));
  momentum = make_.room<int64_t>(3);
  faults = make_.zeros<Faults>(1);
  allocate_patches();
}

void SlotMemory::upload_tables(const std::vector<Float2>& numbers) {
  std::vector<float> charge;
  charge.reserve(system.charges.size());
  for (const double q : system.charges)
    charge.push_back(static_cast<float>(q * std::sqrt(kCoulomb)));
  charge_ = make_.filled(charge);
  atom_pair_numbers_ = make_.filled(numbers);
  group_start_ = make_.filled(system.group_start);
  table_ = {charge_.data(), atom_pair_numbers_.data(), group_start_.data()};

  offsets_ = make_.filled(patch_grid.offsets);
  shifts_ = make_.room<Vec3f>(patch_grid.shifts.size());
  exact_shifts_ = make_.room<Vec3d>(patch_grid.shifts.size());
  conditions = make_.zeros<Conditions>(1);
  box_before = make_.room<Box>(1);
  grid_ = {patch_grid.cells, patch_grid.patch_reach, patch_grid.codes(),
           offsets_.data(),  shifts_.data(),         exact_shifts_.data()};
}

void SlotMemory::set_conditions(const HeatBath& bath, const PressureBath& pressure_bath,
                                double restraint_strength, const Lambdas& lambdas) {
  std::vector<Vec3f> shifts;
  for (const Vec3d& v : patch_grid.shifts)
    shifts.push_back({static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)});
  device.copy(box_before.data(), &conditions.data()->box, sizeof(Box), Stream::kMain);
  shifts_.upload(shifts);
  exact_shifts_.upload(patch_grid.shifts);
  conditions.upload({{bath, patch_grid.box, pressure_bath, restraint_strength, lambdas}});
}

ShiftPatches SlotMemory::shift_patches() {
  return {conditions.data(), grid_.cells,    offsets_.data(),
          grid_.codes,       shifts_.data(), exact_shifts_.data()};
}

CheckPatches SlotMemory::check_patches() {
  return {conditions.data(), box_before.data(), patch_grid.rule, grid_.cells, faults.data()};
}

CheckSpread SlotMemory::check_spread() {
  const auto placed_patches = static_cast<int>(plan_.owned.size() + plan_.proxies.size());
  return {patches.data(), placed_patches, grid_.cells, layers_with_places_.data(),
          layers_.data(), faults.data()};
}

CheckExtents SlotMemory::check_extents() {
  return {placed.data(),       group_count.data(), static_cast<int>(room.groups),
          group_start_.data(), position().data(),  conditions.data(),
          patch_grid.rule,     grid_.cells,        faults.data()};
}

void SlotMemory::allocate_patches() {
  const auto count = static_cast<size_t>(patch_grid.size());
  for (Buffer<int64_t>& tally : tally_) make_.renew(tally, count);
  for (Buffer<int64_t>& tally : tally_) device.fill(tally.data(), 0, tally.bytes(), Stream::kMain);
  make_.renew(patches, count);
  const Int3 cells = patch_grid.cells;
  if (!patch_grid.is_open()) return;
  make_.renew(layers_, static_cast<size_t>(cells.x + cells.y + cells.z));
  make_.renew(layers_with_places_, patch_grid.layers_with_places.size());
  layers_with_places_.upload(patch_grid.layers_with_places);
}

// Room of a rank that owns these numbers. Patches begin with whole clusters.
SlotRoom SlotMemory::room_for(size_t groups, size_t atoms) const {
  const SlotRoom all = whole_system(system, patch_grid);
  if (plan_.owned.size() == static_cast<size_t>(patch_grid.size())) return all;
  constexpr size_t kPadding = kClusterSize - 1;
  SlotRoom need;
  need.owned_groups = std::min(with_margin(groups), all.groups);
  need.owned_slots = std::min(with_margin(atoms) + kPadding * plan_.owned.size(), all.slots);
  need.groups = std::min(need.owned_groups + remote_room_.arriving_groups, all.groups);
  const size_t proxy_slots = remote_room_.proxy_atoms + kPadding * plan_.proxies.size();
  const auto with = [&](size_t more) {
    const size_t slots = std::min(need.owned_slots + more, all.slots);
    return (slots + kPadding) / kClusterSize * kClusterSize;
  };
  need.state_slots = with(remote_room_.arriving_atoms);
  need.slots = std::max(need.state_slots, with(proxy_slots));
  return need;
}

void SlotMemory::make_room(const SlotRoom& need) {
  if (room.holds(need)) return;
  require_numbers(need.slots);
  const SlotRoom before = room;
  room = {std::max(room.owned_slots, need.owned_slots),
          std::max(room.owned_groups, need.owned_groups),
          std::max(room.state_slots, need.state_slots), std::max(room.groups, need.groups),
          std::max(room.slots, need.slots)};
  const size_t owned = room.state_slots, n = room.slots, clusters = n / kClusterSize;
  make_.grow(placed, room.groups);
  make_.grow(origin, room.groups);
  make_.grow(records, room.groups);
  for (int side = 0; side < 2; ++side) {
    make_.grow(positions[side], owned);
    make_.grow(velocities[side], owned);
  }
  for (auto* b : {&reference, &start_position, &start_velocity}) make_.grow(*b, owned);
  for (auto* b : {&local, &low}) make_.grow(*b, n);
  make_.grow(pair_numbers, n);
  make_.grow(atom, n);
  make_.grow(cluster_patch, clusters);
  make_.grow(bounds, clusters);
  if (owned > before.state_slots) {
    make_.renew(long_range, owned);
    device.fill(long_range.data(), 0, long_range.bytes(), Stream::kMain);
  }
  if (n > before.slots) {
    make_.renew(force, 3 * n);
    device.fill(force.data(), 0, force.bytes(), Stream::kMain);
  }
}

void SlotMemory::update_grid() {
  if (grid_.cells == patch_grid.cells) return;
  device.synchronize();
  grid_.cells = patch_grid.cells;
  allocate_patches();
}

void SlotMemory::set_plan(const RankPlan& plan, const RemoteRoom& remote_room) {
  // So far without proxies: only what lies there now is to be forgotten by the next layout.
  if (plan_.proxies.empty())
    device.copy(all_slots.data(), owned_slots.data(), sizeof(int32_t), Stream::kMain);
  // From here on without: no layout will forget those that lie there now.
  else if (plan.proxies.empty())
    device.fill(slot_of_atom.data(), 0xff, slot_of_atom.bytes(), Stream::kMain);
  plan_ = plan;
  remote_room_ = remote_room;
  std::vector<int32_t> owned_index(static_cast<size_t>(patch_grid.size()), -1);
  int index = 0;
  for (const int p : plan.owned) owned_index[static_cast<size_t>(p)] = index++;
  make_.renew(owned_, plan.owned);
  make_.renew(owned_index_, owned_index);
  const auto atoms = static_cast<size_t>(plan.atoms);
  make_room(room_for(
      atoms * static_cast<size_t>(system.group_count()) / static_cast<size_t>(system.atom_count()),
      atoms));
}

std::vector<int32_t> SlotMemory::placed_index() const {
  std::vector<int32_t> placed_at(static_cast<size_t>(patch_grid.size()), -1);
  int index = 0;
  for (const auto* patches_of : {&plan_.owned, &plan_.proxies})
    for (const int p : *patches_of) placed_at[static_cast<size_t>(p)] = index++;
  return placed_at;
}

void SlotMemory::load(const std::vector<Vec3d>& from_positions,
                      const std::vector<Vec3d>& from_velocities, int64_t at_step) {
  std::vector<int8_t> owned(static_cast<size_t>(patch_grid.size()), 0);
  for (const int p : plan_.owned) owned[static_cast<size_t>(p)] = 1;
  std::vector<PlacedGroup> groups;
  std::vector<Vec3d> x, v;
  groups.reserve(room.groups);
  x.reserve(room.state_slots);
  v.reserve(room.state_slots);
  for (int32_t g = 0; g < system.group_count(); ++g) {
    const auto first = static_cast<size_t>(system.group_start[static_cast<size_t>(g)]);
    const auto end = static_cast<size_t>(system.group_start[static_cast<size_t>(g) + 1]);
    if (!owned[static_cast<size_t>(patch_of(patch_grid, from_positions[first]))]) continue;
    groups.push_back({static_cast<int32_t>(x.size()), g});
    x.insert(x.end(), &from_positions[first], &from_positions[first] + (end - first));
    v.insert(v.end(), &from_velocities[first], &from_velocities[first] + (end - first));
  }
  make_room(room_for(groups.size(), x.size()));
  device.fill(atom.data(), 0xff, atom.bytes(), Stream::kMain);  // no slot holds an atom
  device.fill(slot_of_atom.data(), 0xff, slot_of_atom.bytes(), Stream::kMain);
  placed.upload(groups);
  position().upload(x);
  velocity().upload(v);
  const auto count = static_cast<int32_t>(groups.size());
  const auto used = static_cast<int32_t>(x.size());
  device.copy_in(group_count.data(), &count, sizeof count);
  device.copy_in(owned_slots.data(), &used, sizeof used);
  device.copy_in(all_slots.data(), &used, sizeof used);
  device.copy_in(step.data(), &at_step, sizeof at_step);
}

RunNumbers SlotMemory::numbers() const {
  return {energy.data() + kHeat, variables.data(), static_cast<int>(variables.size())};
}

RunNumbers SlotMemory::start_numbers() const {
  return {start_heat_.data(), start_variables_.data(), static_cast<int>(start_variables_.size())};
}

void SlotMemory::copy(const RunNumbers& from, const RunNumbers& to) {
  device.copy(to.heat, from.heat, sizeof(int64_t), Stream::kMain);
  if (variables.size()) device.copy(to.variables, from.variables, variables.bytes(), Stream::kMain);
}

void SlotMemory::save_start() {
  device.copy(start_position.data(), position().data(), start_position.bytes(), Stream::kMain);
  device.copy(start_velocity.data(), velocity().data(), start_velocity.bytes(), Stream::kMain);
  copy(numbers(), start_numbers());
}

void SlotMemory::restore_numbers() { copy(start_numbers(), numbers()); }

Slots SlotMemory::slots() const {
  const size_t n = room.slots;
  return {position().data(),
          velocity().data(),
          reference.data(),
          local.data(),
          low.data(),
          pair_numbers.data(),
          atom.data(),
          cluster_patch.data(),
          {force.data(), force.data() + n, force.data() + 2 * n},
          long_range.data()};
}

const int32_t* SlotMemory::used_slots() const {
  return plan_.proxies.empty() ? owned_slots.data() : all_slots.data();
}

BinGroups SlotMemory::bin(int from, const int32_t* count) const {
  return {placed.data(),
          count,
          static_cast<int>(room.groups),
          positions[from].data(),
          conditions.data(),
          grid_,
          records.data()};
}

PlaceGroups SlotMemory::place_groups(const int32_t* arrived) const {
  const int before = 1 - current;
  PlaceGroups op{};
  op.bin = bin(before, arrived ? arrived : group_count.data());
  op.group_count = arrived ? group_count.data() : nullptr;
  op.table = table_;
  op.owned = owned_.data();
  op.owned_count = owned_patches();
  op.owned_index = owned_index_.data();
  op.patches = patches.data();
  op.slot_capacity = static_cast<int>(room.state_slots);
  op.owned_slots_room = static_cast<int>(room.owned_slots);
  op.owned_groups_room = static_cast<int>(room.owned_groups);
  op.slot_count = owned_slots.data();
  op.tally = tally_[before].data();
  op.next_tally = tally_[current].data();
  op.from_position = positions[before].data();
  op.from_velocity = velocities[before].data();
  op.slots = slots();
  op.placed = placed.data();
  op.origin = origin.data();
  op.slot_of_atom = slot_of_atom.data();
  op.bounds = bounds.data();
  op.step = step.data();
  op.numbers = numbers();
  op.start = {start_position.data(), start_velocity.data(), start_numbers()};
  op.faults = faults.data();
  return op;
}

BoundClusters SlotMemory::bound_clusters() const {
  return {slots(), used_slots(), capacity(), bounds.data()};
}

}  // namespace quiltmd
