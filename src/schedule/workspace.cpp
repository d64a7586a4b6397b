// SPDX-License-Identifier: Apache-2.0
// Allocation, constant tables, and the parameter structs of all operations.
//
// Slot arrays are sized for the whole system on every rank. That spends memory that a rank of many
// does not need (about 300 bytes per atom), and buys that migration and rebalancing never
// reallocate; a cluster whose memory is short would size them by its share instead.
#include "schedule/workspace.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "computes/bonded/tables.h"
#include "computes/energies.h"
#include "computes/pme/setup.h"
#include "math/units.h"
#include "schedule/entry_room.h"

namespace quiltmd {
namespace {

constexpr size_t kClusterSlots = kClusterSize;

// Below this many atoms the lists alone do not fill a large GPU evenly, and are cut in two.
constexpr int kSmallSystem = 50000;

}  // namespace

template <class T>
Buffer<T> Workspace::make(size_t count) {
  bytes_ += count * sizeof(T);
  return Buffer<T>(device, count);
}

template <class T>
Buffer<T> Workspace::make(const std::vector<T>& values) {
  bytes_ += values.size() * sizeof(T);
  return Buffer<T>(device, values);
}

Workspace::Workspace(const Setup& s, Device& d) : setup(s), device(d), terms(s.system, d) {
  slot_capacity = static_cast<size_t>(count_slots(setup.system.atom_count(), setup.grid.size()));
  upload_constants();
  allocate_slots();
  if (setup.nonbonded.pme) allocate_pme();
}

void Workspace::upload_constants() {
  const System& system = setup.system;
  const auto atoms = static_cast<size_t>(system.atom_count());
  std::vector<double> inverse_mass(atoms);
  std::vector<float> charge(atoms);
  std::vector<Float2> lj_values(atoms);
  const LorentzBerthelot rules = lorentz_berthelot(system);
  for (size_t a = 0; a < atoms; ++a) {
    inverse_mass[a] = system.masses[a] > 0 ? 1.0 / system.masses[a] : 0.0;
    charge[a] = static_cast<float>(system.charges[a] * std::sqrt(kCoulomb));
    const auto type = static_cast<size_t>(system.lj_types[a]);
    if (rules.holds) {
      lj_values[a] = {static_cast<float>(rules.sigma[type] / 2),
                      static_cast<float>(2 * std::sqrt(rules.epsilon[type]))};
    } else {
      std::memcpy(&lj_values[a].x, &system.lj_types[a], sizeof(float));
      lj_values[a].y = 0;
    }
  }
  mass_ = make(system.masses);
  inverse_mass_ = make(inverse_mass);
  charge_ = make(charge);
  atom_lj_ = make(lj_values);
  host_lj = std::move(lj_values);
  std::vector<Float2> table;
  for (size_t i = 0; i < system.lj_a.size() && !rules.holds; ++i)
    table.push_back(
        {static_cast<float>(12 * system.lj_a[i]), static_cast<float>(6 * system.lj_b[i])});
  lj_table_ = make(table);

  std::vector<std::vector<int32_t>> partners(atoms);
  for (const auto& [i, j] : system.exclusions) {
    partners[static_cast<size_t>(i)].push_back(j);
    partners[static_cast<size_t>(j)].push_back(i);
  }
  std::vector<int32_t> start{0}, flat;
  for (auto& list : partners) {
    std::sort(list.begin(), list.end());
    flat.insert(flat.end(), list.begin(), list.end());
    start.push_back(static_cast<int32_t>(flat.size()));
  }
  exclusion_start_ = make(start);
  exclusions_ = make(flat);

  std::vector<int32_t> group_of(atoms), constraint_start{0};
  for (int g = 0; g < system.group_count(); ++g)
    for (int32_t a = system.group_start[static_cast<size_t>(g)];
         a < system.group_start[static_cast<size_t>(g) + 1]; ++a)
      group_of[static_cast<size_t>(a)] = g;
  std::vector<std::vector<GroupConstraint>> by_group(static_cast<size_t>(system.group_count()));
  for (size_t c = 0; c < system.constraints.size(); ++c) {
    auto [i, j] = system.constraints[c];
    if (i > j) std::swap(i, j);
    const auto g = static_cast<size_t>(group_of[static_cast<size_t>(i)]);
    const int32_t first = system.group_start[g];
    by_group[g].push_back({i - first, j - first, system.constraint_lengths[c]});
  }
  std::vector<GroupConstraint> constraints;
  for (auto& list : by_group) {
    std::sort(list.begin(), list.end(), [](const GroupConstraint& a, const GroupConstraint& b) {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    });
    constraints.insert(constraints.end(), list.begin(), list.end());
    constraint_start.push_back(static_cast<int32_t>(constraints.size()));
  }
  group_start_ = make(system.group_start);
  constraint_start_ = make(constraint_start);
  constraints_ = make(constraints);
  const GroupShapes shapes = make_group_shapes(system.group_start, constraint_start, constraints,
                                               system.masses, inverse_mass, atoms_in_terms(system));
  group_shape_ = make(shapes.codes);
  shapes_ = make(shapes.shapes);
  constants_ = {
      mass_.data(),        inverse_mass_.data(),    charge_.data(),     atom_lj_.data(),
      group_start_.data(), exclusion_start_.data(), exclusions_.data(), constraint_start_.data(),
      constraints_.data(), group_shape_.data(),     shapes_.data()};

  std::vector<Vec3f> shifts;
  for (const Vec3d& v : setup.grid.shifts)
    shifts.push_back({static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)});
  offsets_ = make(setup.grid.offsets);
  shifts_ = make(shifts);
  exact_shifts_ = make(setup.grid.shifts);
  grid_ = {setup.grid.cells, setup.grid.away, setup.grid.codes(),
           offsets_.data(),  shifts_.data(),  exact_shifts_.data()};
}

void Workspace::allocate_slots() {
  const size_t n = slot_capacity, clusters = n / kClusterSlots;
  const auto groups = static_cast<size_t>(setup.system.group_count());
  const auto patch_count = static_cast<size_t>(setup.grid.size());
  for (int side = 0; side < 2; ++side) {
    position[side] = make<Vec3d>(n);
    velocity[side] = make<Vec3d>(n);
  }
  reference = make<Vec3d>(n);
  start_position = make<Vec3d>(n);
  start_velocity = make<Vec3d>(n);
  local = make<Float4>(n);
  low = make<Float4>(n);
  long_range = make<Float4>(n);
  lj = make<Float2>(n);
  atom = make<int32_t>(n);
  cluster_patch = make<int32_t>(clusters);
  slot_of_atom = make<int32_t>(static_cast<size_t>(setup.system.atom_count()));
  device.fill(slot_of_atom.data(), 0xff, slot_of_atom.bytes(), Stream::kMain);
  force = make<int64_t>(3 * n);
  placed = make<PlacedGroup>(groups);
  origin = make<Vec3d>(groups);
  records = make<GroupRecord>(groups);
  patches = make<PlacedPatch>(patch_count);
  group_count = make<int32_t>(1);
  owned_slots = make<int32_t>(1);
  all_slots = make<int32_t>(1);
  for (auto& half : tally) {
    half = make<int64_t>(patch_count);
    device.fill(half.data(), 0, half.bytes(), Stream::kMain);
  }
  step = make<int64_t>(2);  // the step, and what the stages count themselves with
  energy = make<int64_t>(kEnergyKinds);
  start_heat = make<int64_t>(1);
  momentum = make<int64_t>(3);
  faults = make<Faults>(1);
  bounds = make<ClusterBounds>(clusters);
  lists = make<PairList>(clusters);
  entry_count = make<int32_t>(1);
  list_ranges = make<int32_t>(4);
  make_entries(expected_entries(setup, clusters));
  device.fill(energy.data(), 0, energy.bytes(), Stream::kMain);
  device.fill(faults.data(), 0, faults.bytes(), Stream::kMain);
  device.fill(step.data(), 0, step.bytes(), Stream::kMain);
  device.fill(force.data(), 0, force.bytes(), Stream::kMain);
  device.fill(long_range.data(), 0, long_range.bytes(), Stream::kMain);
  device.fill(start_heat.data(), 0, start_heat.bytes(), Stream::kMain);
}

void Workspace::make_entries(size_t count) {
  entries = make<uint32_t>(count);
  masks = make<uint8_t>(count);
}

void Workspace::grow_entries(size_t need) {
  const size_t count = more_entries(entries.size(), need);
  bytes_ -= entries.bytes() + masks.bytes();
  entries = {};
  masks = {};
  make_entries(count);
}

void Workspace::allocate_pme() {
  const NonbondedSettings& settings = setup.nonbonded;
  pme_grid = {settings.grid.x, settings.grid.y, settings.grid.z,
              settings.order,  setup.box,       setup.grid.cells};
  const auto planes = static_cast<size_t>(settings.grid.x) * static_cast<size_t>(settings.grid.y);
  charges = make<int32_t>(planes * static_cast<size_t>(settings.grid.z));
  device.fill(charges.data(), 0, charges.bytes(), Stream::kMain);
  potential = make<float>(planes * static_cast<size_t>(settings.grid.z));
  spectrum = make<Complex>(planes * static_cast<size_t>(settings.grid.z / 2 + 1));
  for (int d = 0; d < 3; ++d) {
    moduli_buffer_[d] = make(spline_moduli(settings.grid[d], settings.order));
    moduli_[d] = moduli_buffer_[d].data();
  }
}

void Workspace::adopt(const RankPlan& plan) {
  plan_ = plan;
  const int total = setup.grid.size();
  std::vector<int32_t> placed_index(static_cast<size_t>(total), -1);
  std::vector<int32_t> owned_index(static_cast<size_t>(total), -1);
  int index = 0;
  for (const int p : plan.owned) owned_index[static_cast<size_t>(p)] = index++;
  placed_index = owned_index;
  for (const int p : plan.proxies) placed_index[static_cast<size_t>(p)] = index++;
  std::vector<int32_t> computes, neighbours;
  std::vector<int8_t> here(static_cast<size_t>(total), 0);
  for (const int c : plan.computes) {
    here[static_cast<size_t>(c)] = 1;
    computes.push_back(placed_index[static_cast<size_t>(c)]);
    for (int code = 0; code < setup.grid.codes(); ++code)
      neighbours.push_back(placed_index[static_cast<size_t>(setup.grid.neighbour(c, code))]);
  }
  owned_ = Buffer<int32_t>(device, plan.owned);
  owned_index_ = Buffer<int32_t>(device, owned_index);
  computes_ = Buffer<int32_t>(device, computes);
  neighbours_ = Buffer<int32_t>(device, neighbours);
  computed_here_ = Buffer<int8_t>(device, here);
  first_list = Buffer<int32_t>(device, computes.size() + 1);
}

void Workspace::load(const std::vector<Vec3d>& positions, const std::vector<Vec3d>& velocities,
                     int64_t at_step) {
  const System& system = setup.system;
  std::vector<int8_t> owned(static_cast<size_t>(setup.grid.size()), 0);
  for (const int p : plan_.owned) owned[static_cast<size_t>(p)] = 1;
  std::vector<PlacedGroup> groups;
  std::vector<Vec3d> x, v;
  for (int32_t g = 0; g < system.group_count(); ++g) {
    const auto first = static_cast<size_t>(system.group_start[static_cast<size_t>(g)]);
    const auto end = static_cast<size_t>(system.group_start[static_cast<size_t>(g) + 1]);
    if (!owned[static_cast<size_t>(patch_of(setup.grid, positions[first]))]) continue;
    groups.push_back({static_cast<int32_t>(x.size()), g});
    x.insert(x.end(), &positions[first], &positions[first] + (end - first));
    v.insert(v.end(), &velocities[first], &velocities[first] + (end - first));
  }
  placed.upload(groups);
  position[current].upload(x);
  velocity[current].upload(v);
  const auto count = static_cast<int32_t>(groups.size());
  source_slots = static_cast<int>(x.size());
  device.copy_in(group_count.data(), &count, sizeof count);
  device.copy_in(step.data(), &at_step, sizeof at_step);
}

Slots Workspace::slots() const {
  const size_t n = slot_capacity;
  return {position[current].data(),
          velocity[current].data(),
          reference.data(),
          local.data(),
          low.data(),
          lj.data(),
          atom.data(),
          cluster_patch.data(),
          {force.data(), force.data() + n, force.data() + 2 * n},
          long_range.data()};
}

GroupWork Workspace::group_work() {
  GroupWork work{};
  work.slots = slots();
  work.placed = placed.data();
  work.count = group_count.data();
  work.capacity = setup.system.group_count();
  work.origin = origin.data();
  work.constants = constants_;
  work.constraint_tolerance = setup.plan.constraint_tolerance;
  work.step = step.data();
  const auto next_age = static_cast<size_t>(std::min(list_age + 1, setup.lists.life));
  const Vec3d widths = setup.box.widths();
  const double narrowest = std::min({widths.x / setup.grid.cells.x, widths.y / setup.grid.cells.y,
                                     widths.z / setup.grid.cells.z});
  work.blowup2 = 0.25 * narrowest * narrowest;
  work.buffer_limit2 =
      std::min(setup.ages.limit[next_age] * setup.ages.limit[next_age], work.blowup2);
  work.faults = faults.data();
  return work;
}

BinGroups Workspace::bin_groups() {
  return {placed.data(),
          group_count.data(),
          setup.system.group_count(),
          position[current].data(),
          setup.box,
          grid_,
          records.data()};
}

PlaceGroups Workspace::place_groups(Records made) {
  PlaceGroups op{};
  op.bin = bin_groups();
  if (made == Records::kBinned) op.bin.placed = nullptr;
  op.constants = constants_;
  op.owned = owned_.data();
  op.owned_count = static_cast<int>(plan_.owned.size());
  op.owned_index = owned_index_.data();
  op.patches = patches.data();
  op.slot_capacity = static_cast<int>(slot_capacity);
  op.slot_count = owned_slots.data();
  op.tally = tally[current].data();
  op.next_tally = tally[1 - current].data();
  op.from_position = position[current].data();
  op.from_velocity = velocity[current].data();
  current = 1 - current;
  op.slots = slots();
  op.placed = placed.data();
  op.origin = origin.data();
  op.slot_of_atom = slot_of_atom.data();
  op.bounds = bounds.data();
  op.step = step.data();
  op.heat = energy.data() + kHeat;
  op.start = {start_position.data(), start_velocity.data(), start_heat.data()};
  op.faults = faults.data();
  return op;
}

const int32_t* Workspace::used_slots() const {
  return plan_.proxies.empty() ? owned_slots.data() : all_slots.data();
}

BoundClusters Workspace::bound_clusters() {
  return {slots(), used_slots(), static_cast<int>(slot_capacity), bounds.data()};
}

NumberLists Workspace::number_lists() {
  return {patches.data(),     computes_.data(),  static_cast<int>(plan_.computes.size()),
          plan_.interior,     first_list.data(), list_ranges.data(),
          entry_count.data(), faults.data()};
}

BuildLists Workspace::build_lists() {
  BuildLists op{};
  op.slots = slots();
  op.slot_capacity = static_cast<int>(slot_capacity);
  op.patches = patches.data();
  op.bounds = bounds.data();
  op.constants = constants_;
  op.slot_of_atom = slot_of_atom.data();
  op.grid = grid_;
  op.computes = computes_.data();
  op.neighbours = neighbours_.data();
  op.compute_count = static_cast<int>(plan_.computes.size());
  op.first_list = first_list.data();
  for (int s = 0; s < kShells; ++s) op.reach[s] = static_cast<float>(setup.ages.reach[s]);
  op.lists = lists.data();
  op.list_capacity = static_cast<int>(lists.size());
  op.entries = entries.data();
  op.masks = masks.data();
  op.entry_capacity = static_cast<int>(entries.size());
  op.entry_count = entry_count.data();
  op.faults = faults.data();
  return op;
}

PlaceTerms Workspace::place_terms() {
  PlaceTerms op{};
  op.terms = terms.tables();
  op.slots = slots();
  op.patches = patches.data();
  op.grid = grid_;
  op.box = setup.box;
  op.slot_count = used_slots();
  op.slot_capacity = static_cast<int>(slot_capacity);
  op.slot_of_atom = slot_of_atom.data();
  op.computed_here = computed_here_.data();
  op.step = step.data();
  op.faults = faults.data();
  return op;
}

ClearForces Workspace::clear_forces() {
  return {slots(), used_slots(), static_cast<int>(slot_capacity)};
}

PairForces Workspace::pair_forces(Part part, Energies energies) {
  PairForces op{};
  op.slots = slots();
  op.slot_capacity = static_cast<int>(slot_capacity);
  op.lists = lists.data();
  op.range = list_ranges.data() + (part == Part::kInterior ? 0 : 2);
  op.capacity = static_cast<int>(lists.size());
  op.shell = setup.ages.shell[static_cast<size_t>(list_age)];
  op.entries = entries.data();
  op.masks = masks.data();
  op.shifts = shifts_.data();
  op.codes = grid_.codes;
  op.pieces = setup.system.atom_count() < kSmallSystem ? 2 : 1;
  op.parameters = setup.pairs;
  op.lj_table = lj_table_.data();
  op.energy = energies == Energies::kAdd ? energy.data() : nullptr;
  return op;
}

TermForces Workspace::term_forces(Energies energies) {
  TermForces op{};
  op.terms = terms.tables();
  op.slots = slots();
  op.exact_shifts = exact_shifts_.data();
  op.energy = energies == Energies::kAdd ? energy.data() : nullptr;
  return op;
}

SpreadCharges Workspace::spread_charges() {
  return {pme_grid,           slots(),
          patches.data(),     static_cast<int>(plan_.owned.size()),
          owned_slots.data(), static_cast<int>(slot_capacity),
          charges.data()};
}

TransformPlanes Workspace::transform_planes(int first, int count) {
  return {pme_grid, first, count, charges.data(), spectrum.data()};
}

ConvolveLines Workspace::convolve_lines(int first, int count, Energies energies) {
  return {pme_grid,
          first,
          count,
          setup.nonbonded.alpha,
          {moduli_[0], moduli_[1], moduli_[2]},
          spectrum.data(),
          energies == Energies::kAdd ? energy.data() : nullptr};
}

InversePlanes Workspace::inverse_planes(int first, int count) {
  return {pme_grid, first, count, spectrum.data(), potential.data()};
}

GatherForces Workspace::gather_forces() {
  return {pme_grid,           slots(),
          patches.data(),     static_cast<int>(plan_.owned.size()),
          owned_slots.data(), static_cast<int>(slot_capacity),
          potential.data(),   charges.data()};
}

}  // namespace quiltmd
