// SPDX-License-Identifier: Apache-2.0
// A rank without schedule or messages: a system laid out on one device by the layout operations, so
// that operations can be launched by hand and their results read by atom.
#pragma once

#include <algorithm>
#include <random>

#include "computes/energies.h"
#include "decomposition/slot_memory.h"
#include "device/device.h"
#include "integrators/group_memory.h"
#include "math/fixed.h"
#include "math/units.h"
#include "system/system.h"

namespace quiltmd::test {

// Oxygen-hydrogen and hydrogen-hydrogen distances and masses of TIP3P.
inline constexpr double kLeg = 0.09572, kBase = 0.15139;
inline constexpr double kOxygen = 15.9994, kHydrogen = 1.008;

inline void add_atom(System& s, double mass) {
  s.masses.push_back(mass);
  s.charges.push_back(0);
  s.pair_types.push_back(0);
}

inline void constrain(System& s, int i, int j, double length) {
  s.constraints.push_back({i, j});
  s.constraint_lengths.push_back(length);
}

using Random = std::mt19937_64;

inline Vec3d random_vector(Random& random, double scale) {
  std::normal_distribution<double> normal(0, scale);
  const double x = normal(random), y = normal(random), z = normal(random);
  return {x, y, z};
}

// A random rotation, as three orthonormal vectors.
struct Frame {
  Vec3d x, y, z;
};
inline Frame random_frame(Random& random) {
  Vec3d x = random_vector(random, 1), y = random_vector(random, 1);
  x = (1 / norm(x)) * x;
  y -= dot(x, y) * x;
  y = (1 / norm(y)) * y;
  return {x, y, cross(x, y)};
}

// One rigid water; positions are appended.
inline void add_water(System& s, std::vector<Vec3d>& positions, Vec3d oxygen, Random& random) {
  const int o = s.atom_count();
  add_atom(s, kOxygen);
  add_atom(s, kHydrogen);
  add_atom(s, kHydrogen);
  constrain(s, o, o + 1, kLeg);
  constrain(s, o, o + 2, kLeg);
  constrain(s, o + 1, o + 2, kBase);
  const Frame f = random_frame(random);
  const double half = kBase / 2, height = std::sqrt(kLeg * kLeg - half * half);
  positions.push_back(oxygen);
  positions.push_back(oxygen + height * f.x + half * f.y);
  positions.push_back(oxygen + height * f.x - half * f.y);
}

// A virtual site of a water, with a number of each kind; its position, which is not the right one, is
// appended.
inline void add_site(System& s, std::vector<Vec3d>& positions, int oxygen) {
  const int atom = s.atom_count();
  add_atom(s, 0);
  positions.push_back(positions[static_cast<size_t>(oxygen)]);
  s.sites.push_back({atom,
                     3,
                     {oxygen, oxygen + 1, oxygen + 2},
                     {0.8, 0.15, 0.05},
                     {-1, 0.7, 0.3},
                     {-0.5, -0.2, 0.7},
                     {0.01, 0.02, -0.03},
                     1.5});
}

// A carbon with 1 to 4 constrained hydrogens at tetrahedral directions, lengths 0.109 nm.
inline void add_carbon(System& s, std::vector<Vec3d>& positions, Vec3d carbon, int hydrogens,
                       double hydrogen_mass, Random& random) {
  const int c = s.atom_count();
  add_atom(s, 12.011);
  positions.push_back(carbon);
  const Frame f = random_frame(random);
  const double r = 0.109 / std::sqrt(3.0);
  const Vec3d corners[4] = {{r, r, r}, {r, -r, -r}, {-r, r, -r}, {-r, -r, r}};
  for (int h = 0; h < hydrogens; ++h) {
    add_atom(s, hydrogen_mass);
    constrain(s, c, c + 1 + h, 0.109);
    positions.push_back(carbon + corners[h].x * f.x + corners[h].y * f.y + corners[h].z * f.z);
  }
}

// A chain of atoms, each constrained to the one before, and one constraint across; in a small group every second
// one is light.
inline void add_chain(System& s, std::vector<Vec3d>& positions, Vec3d at, Random& random,
                      int atoms = kSmallGroupSize) {
  const int first = s.atom_count();
  const Frame f = random_frame(random);
  for (int a = 0; a < atoms; ++a) {
    add_atom(s, a % 2 && atoms <= kSmallGroupSize ? kHydrogen : 12.011);
    positions.push_back(at + 0.08 * a * f.x + 0.06 * (a % 2) * f.y + 0.03 * (a % 3) * f.z);
    const auto length = [&](int b) {
      return norm(positions[static_cast<size_t>(first + a)] -
                  positions[static_cast<size_t>(first + b)]);
    };
    if (a > 0) constrain(s, first + a - 1, first + a, length(a - 1));
    if (a == 2) constrain(s, first, first + 2, length(0));
  }
}

// A box of waters, with every `carbon_every`-th molecule a CH1..CH4 and some free atoms.
inline System make_mixture(int molecules, int carbon_every, const Box& box,
                           std::vector<Vec3d>& positions, Random& random) {
  System s;
  std::uniform_real_distribution<double> uniform(-0.5, 1.5);
  for (int m = 0; m < molecules; ++m) {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    const Vec3d at = box.to_cartesian({x, y, z});
    if (carbon_every && m % carbon_every == 0) {
      add_carbon(s, positions, at, m / carbon_every % 5, kHydrogen, random);
    } else {
      add_water(s, positions, at, random);
    }
  }
  return s;
}

// A grid of patches that have no neighbours.
inline PatchGrid lone_patches(const Box& box, Int3 cells) {
  PatchGrid grid;
  grid.box = box;
  grid.cells = cells;
  grid.patch_reach = {1, 1, 1};
  grid.least_width = {box.ax / cells.x, box.by / cells.y, box.cz / cells.z};
  return grid;
}

// What OneRank's memory refers to.
struct OneGrid {
  PatchGrid grid;
};

// It owns every patch. What lies by slot is its own; GroupMemory is in `groups`.
class OneRank : private OneGrid, public SlotMemory {
 public:
  // `positions` and velocities by internal atom; the groups are given to the layout in the order
  // of `group_order` (empty: ascending), as if they had come from there.
  OneRank(Device& device, const System& system, const PatchGrid& grid,
          const std::vector<Vec3d>& positions, const std::vector<Vec3d>& velocities,
          const std::vector<int>& group_order = {})
      : OneRank(device, system, grid, no_lj(system), 0) {
    start_from(positions, velocities, group_order);
    lay_out();
  }
  OneRank(Device& device, const System& system, const Box& box, Int3 cells,
          const std::vector<Vec3d>& positions, const std::vector<Vec3d>& velocities,
          const std::vector<int>& group_order = {})
      : OneRank(device, system, lone_patches(box, cells), positions, velocities, group_order) {}

  // Lay out again, from where the atoms are now; every other time as where groups come and go.
  void lay_out() {
    if (odd_) device.copy(arrived_.data(), group_count.data(), sizeof(int32_t), Stream::kMain);
    swap_state();
    device.launch(place_groups(odd_ ? arrived_.data() : nullptr));
    device.synchronize();
    if (faults.download()[0].refused) swap_state();
    odd_ = !odd_;
  }

  GroupWork work(double tolerance = 1e-10) const {
    GroupWork w = groups.work(0);
    w.constraint_tolerance = tolerance;
    w.buffer_limit2 = 1e10;
    w.blowup2 = 1e20;
    return w;
  }

  // A stage of a step, and what stands for the forces that devices expect between two of them.
  template <class Stage>
  void take(const Stage& stage) {
    device.launch(stage);
    device.fill(momentum.data(), 0, momentum.bytes(), Stream::kMain);
  }

  // A slot array as an array by internal atom.
  template <class T>
  std::vector<T> by_atom(const std::vector<T>& by_slot) const {
    std::vector<T> result;
    for (const int32_t slot : slot_of_atom.download())
      result.push_back(by_slot[static_cast<size_t>(slot)]);
    return result;
  }
  template <class T>
  std::vector<T> by_atom(const Buffer<T>& buffer) const {
    return by_atom(buffer.download());
  }

  // One component of the short-range forces, fixed point, by slot.
  std::vector<int64_t> fixed_forces(int axis) const {
    const std::vector<int64_t> all = force.download();
    const auto first = all.begin() + axis * capacity();
    return {first, first + capacity()};
  }

  // Set the force on every atom (kJ/mol/nm), half of it as long-range force.
  void set_forces(const std::vector<Vec3d>& forces) {
    const std::vector<int32_t> where = slot_of_atom.download();
    std::vector<int64_t> fixed(3 * room.slots, 0);
    std::vector<Float4> far(room.slots, Float4{0, 0, 0, 0});
    for (size_t a = 0; a < forces.size(); ++a) {
      const auto slot = static_cast<size_t>(where[a]);
      const Vec3d half = 0.5 * forces[a];
      far[slot] = {static_cast<float>(half.x), static_cast<float>(half.y),
                   static_cast<float>(half.z), 0};
      const Vec3d near = forces[a] - Vec3d{far[slot].x, far[slot].y, far[slot].z};
      for (int d = 0; d < 3; ++d)
        fixed[static_cast<size_t>(d) * room.slots + slot] = to_fixed(near[d], kForceScale);
    }
    force.upload(fixed);
    long_range.upload(far);
  }

  double energy_of(EnergyKind kind) const {
    return from_fixed(energy.download()[kind], kEnergyScale);
  }
  void clear_energy() { device.fill(energy.data(), 0, energy.bytes(), Stream::kMain); }

 protected:
  // With the Lennard-Jones parameters of atoms and room for more slots; nothing is laid out.
  OneRank(Device& device, const System& system, const PatchGrid& on, std::vector<Float2> numbers,
          int more_slots)
      : OneGrid{on},
        SlotMemory(device, system, OneGrid::grid, std::move(numbers),
                   kEnergyKinds + static_cast<int>(system.collective.size())) {
    SlotRoom all = whole_system(system, on);
    for (size_t* room : {&all.state_slots, &all.slots}) *room += static_cast<size_t>(more_slots);
    make_room(all);
    RankPlan plan;
    for (int p = 0; p < on.size(); ++p) plan.owned.push_back(p);
    plan.computes = plan.owned;
    plan.interior = on.size();
    set_plan(plan, {});
    set_conditions({0, 0.98, 0.3});
    for (auto* b : {&positions[0], &positions[1], &velocities[0], &velocities[1], &reference})
      device.fill(b->data(), 0, b->bytes(), Stream::kMain);
    for (auto* b : {&local, &low}) device.fill(b->data(), 0, b->bytes(), Stream::kMain);
    device.fill(momentum.data(), 0, momentum.bytes(), Stream::kMain);
  }

  // As if so many slots of padding had come first.
  void move_slots(int gap);

  void start_from(const std::vector<Vec3d>& x_of_atoms, const std::vector<Vec3d>& v_of_atoms,
                  std::vector<int> group_order) {
    if (group_order.empty())
      for (int g = 0; g < system.group_count(); ++g) group_order.push_back(g);
    std::vector<PlacedGroup> start;
    std::vector<Vec3d> x, v;
    for (const int g : group_order) {
      start.push_back({static_cast<int32_t>(x.size()), g});
      for (int a = system.group_start[g]; a < system.group_start[g + 1]; ++a) {
        x.push_back(x_of_atoms[a]);
        v.push_back(v_of_atoms[a]);
      }
    }
    placed.upload(start);
    position().upload(x);
    velocity().upload(v);
    group_count.upload({system.group_count()});
  }

 private:
  static std::vector<Float2> no_lj(const System& system) {
    return std::vector<Float2>(static_cast<size_t>(system.atom_count()), Float2{0, 0});
  }

  bool odd_ = false;  // number of the layout
  Buffer<int32_t> arrived_{device, 1};

 public:
  const GroupMemory groups{*this, {}, 1e-10};
};

inline void OneRank::move_slots(int gap) {
  const auto move = [](auto& buffer, auto filler, int by) {
    auto values = buffer.download();
    std::rotate(values.begin(), values.end() - by, values.end());
    std::fill(values.begin(), values.begin() + by, filler);
    buffer.upload(values);
  };
  move(atom, -1, gap);
  move(local, Float4{kFarAway, kFarAway, kFarAway, 0}, gap);
  move(pair_numbers, Float2{0, 0}, gap);
  move(cluster_patch, 0, gap / kClusterSize);
  auto placed_patches = patches.download();
  for (PlacedPatch& patch : placed_patches) patch.start += gap;
  patches.upload(placed_patches);
  auto where = slot_of_atom.download();
  for (int32_t& slot : where) slot += gap;
  slot_of_atom.upload(where);
  owned_slots.upload({owned_slots.download()[0] + gap});
}

}  // namespace quiltmd::test
