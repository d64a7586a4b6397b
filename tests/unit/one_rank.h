// SPDX-License-Identifier: Apache-2.0
// A rank without schedule or messages: a system laid out on one device by the layout operations, so
// that operations can be launched by hand and their results read by atom.
#pragma once

#include <random>

#include "computes/energies.h"
#include "decomposition/operations.h"
#include "decomposition/patch_grid.h"
#include "device/device.h"
#include "integrators/group_shapes.h"
#include "integrators/operations.h"
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
  s.lj_types.push_back(0);
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

class OneRank {
 public:
  // `positions` and velocities by internal atom; the groups are given to the layout in the order
  // of `group_order` (empty: ascending), as if they had come from there.
  OneRank(Device& device, const System& system, const Box& box, Int3 cells,
          const std::vector<Vec3d>& positions, const std::vector<Vec3d>& velocities,
          std::vector<int> group_order = {})
      : device(device), system(system), box(box), cells(cells) {
    allocate();
    if (group_order.empty())
      for (int g = 0; g < system.group_count(); ++g) group_order.push_back(g);
    std::vector<PlacedGroup> start;
    std::vector<Vec3d> x(capacity), v(capacity);
    int slot = 0;
    for (const int g : group_order) {
      start.push_back({slot, g});
      for (int a = system.group_start[g]; a < system.group_start[g + 1]; ++a, ++slot) {
        x[slot] = positions[a];
        v[slot] = velocities[a];
      }
    }
    placed.upload(start);
    from_position.upload(x);
    from_velocity.upload(v);
    lay_out();
  }

  // Lay out again, from where the atoms are now.
  void rebuild() {
    from_position.upload(position.download());
    from_velocity.upload(velocity.download());
    lay_out();
  }

  void lay_out() {
    const int groups = system.group_count(), patches_total = patch_count();
    const GridView grid{cells, 1, 0, nullptr, nullptr, nullptr};
    BinGroups bin{placed.data(), group_count.data(), groups, from_position.data(), box,
                  grid,          records.data()};
    if (odd) {  // as for several ranks, in two operations
      device.launch(bin);
      bin.placed = nullptr;
    }
    device.launch(
        PlaceGroups{bin,
                    constants(),
                    owned.data(),
                    patches_total,
                    owned.data(),
                    patches.data(),
                    static_cast<int>(capacity),
                    slot_count.data(),
                    tally[odd].data(),
                    tally[!odd].data(),
                    from_position.data(),
                    from_velocity.data(),
                    slots(),
                    placed.data(),
                    origin.data(),
                    slot_of_atom.data(),
                    bounds.data(),
                    step.data(),
                    energy.data() + kHeat,
                    EpochStart{start_position.data(), start_velocity.data(), start_heat.data()},
                    faults.data()});
    odd = !odd;
    device.synchronize();
  }

  Constants constants() const {
    return {mass.data(),
            inverse_mass.data(),
            charge.data(),
            lj_atom.data(),
            group_start.data(),
            nullptr,
            nullptr,
            constraint_start.data(),
            constraints.data(),
            group_shape.data(),
            shapes.data()};
  }

  Slots slots() const {
    Slots s{};
    s.position = position.data();
    s.velocity = velocity.data();
    s.reference = reference.data();
    s.local = local.data();
    s.low = low.data();
    s.lj = lj.data();
    s.atom = atom.data();
    s.patch = cluster_patch.data();
    for (int d = 0; d < 3; ++d) s.force[d] = force[d].data();
    s.long_range = long_range.data();
    return s;
  }

  GroupWork work(double tolerance = 1e-10) const {
    GroupWork w{};
    w.slots = slots();
    w.placed = placed.data();
    w.count = group_count.data();
    w.capacity = system.group_count();
    w.origin = origin.data();
    w.constants = constants();
    w.constraint_tolerance = tolerance;
    w.step = step.data();
    w.buffer_limit2 = 1e10;
    w.blowup2 = 1e20;
    w.faults = faults.data();
    return w;
  }

  // A stage of a step, and what stands for the forces that devices expect between two of them.
  template <class Stage>
  void take(const Stage& stage) {
    device.launch(stage);
    device.fill(momentum.data(), 0, momentum.bytes(), Stream::kMain);
  }

  int patch_count() const { return cells.x * cells.y * cells.z; }

  // A slot array as an array by internal atom.
  template <class T>
  std::vector<T> by_atom(const Buffer<T>& buffer) const {
    const std::vector<T> slots = buffer.download();
    const std::vector<int32_t> where = slot_of_atom.download();
    std::vector<T> result;
    for (const int32_t slot : where) result.push_back(slots[static_cast<size_t>(slot)]);
    return result;
  }

  // Set the force on every atom (kJ/mol/nm), half of it as long-range force.
  void set_forces(const std::vector<Vec3d>& forces) {
    const std::vector<int32_t> where = slot_of_atom.download();
    std::vector<int64_t> fixed[3];
    for (auto& f : fixed) f.assign(capacity, 0);
    std::vector<Float4> far(capacity, Float4{0, 0, 0, 0});
    for (size_t a = 0; a < forces.size(); ++a) {
      const auto slot = static_cast<size_t>(where[a]);
      const Vec3d half = 0.5 * forces[a];
      far[slot] = {static_cast<float>(half.x), static_cast<float>(half.y),
                   static_cast<float>(half.z), 0};
      fixed[0][slot] = to_fixed(forces[a].x - far[slot].x, kForceScale);
      fixed[1][slot] = to_fixed(forces[a].y - far[slot].y, kForceScale);
      fixed[2][slot] = to_fixed(forces[a].z - far[slot].z, kForceScale);
    }
    for (int d = 0; d < 3; ++d) force[d].upload(fixed[d]);
    long_range.upload(far);
  }

  double energy_of(EnergyKind kind) const {
    return from_fixed(energy.download()[kind], kEnergyScale);
  }
  void clear_energy() { device.fill(energy.data(), 0, energy.bytes(), Stream::kMain); }

  Device& device;
  const System& system;
  Box box;
  Int3 cells;
  size_t capacity = 0;
  bool odd = false;  // number of the layout
  Buffer<double> mass, inverse_mass;
  Buffer<float> charge;
  Buffer<Float2> lj_atom, lj;
  Buffer<int32_t> group_start, constraint_start, owned, group_count, slot_count, slot_of_atom, atom,
      cluster_patch;
  Buffer<GroupConstraint> constraints;
  Buffer<uint32_t> group_shape;
  Buffer<GroupShape> shapes;
  Buffer<GroupRecord> records;
  Buffer<PlacedPatch> patches;
  Buffer<PlacedGroup> placed;
  Buffer<Vec3d> from_position, from_velocity, position, velocity, reference, origin;
  Buffer<Vec3d> start_position, start_velocity;
  Buffer<Float4> local, low, long_range;
  Buffer<int64_t> force[3], step, energy, momentum, start_heat, tally[2];
  Buffer<ClusterBounds> bounds;
  Buffer<Faults> faults;

 private:
  void allocate() {
    const auto atoms = static_cast<size_t>(system.atom_count());
    const auto groups = static_cast<size_t>(system.group_count());
    const auto patch_total = static_cast<size_t>(patch_count());
    capacity = atoms + kClusterSize * patch_total;
    std::vector<double> inverse;
    std::vector<float> charges;
    for (size_t a = 0; a < atoms; ++a) {
      inverse.push_back(1 / system.masses[a]);
      charges.push_back(static_cast<float>(system.charges[a] * std::sqrt(kCoulomb)));
    }
    mass = Buffer<double>(device, system.masses);
    inverse_mass = Buffer<double>(device, inverse);
    charge = Buffer<float>(device, charges);
    lj_atom = Buffer<Float2>(device, std::vector<Float2>(atoms, Float2{0, 0}));
    group_start = Buffer<int32_t>(device, system.group_start);
    upload_constraints(inverse);
    std::vector<int32_t> all;
    for (int p = 0; p < patch_count(); ++p) all.push_back(p);
    owned = Buffer<int32_t>(device, all);
    group_count = Buffer<int32_t>(device, std::vector<int32_t>{system.group_count()});
    slot_count = Buffer<int32_t>(device, std::vector<int32_t>{0});
    slot_of_atom = Buffer<int32_t>(device, std::vector<int32_t>(atoms, -1));
    atom = Buffer<int32_t>(device, std::vector<int32_t>(capacity, -2));
    cluster_patch = Buffer<int32_t>(device, capacity / kClusterSize + 1);
    records = Buffer<GroupRecord>(device, groups);
    patches = Buffer<PlacedPatch>(device, patch_total);
    placed = Buffer<PlacedGroup>(device, groups);
    origin = Buffer<Vec3d>(device, groups);
    for (auto* b : {&from_position, &from_velocity, &position, &velocity, &reference,
                    &start_position, &start_velocity})
      *b = Buffer<Vec3d>(device, std::vector<Vec3d>(capacity, Vec3d{0, 0, 0}));
    for (auto* b : {&local, &low, &long_range})
      *b = Buffer<Float4>(device, std::vector<Float4>(capacity, Float4{0, 0, 0, 0}));
    lj = Buffer<Float2>(device, capacity);
    for (auto& f : force) f = Buffer<int64_t>(device, std::vector<int64_t>(capacity, 0));
    for (auto& t : tally) t = Buffer<int64_t>(device, std::vector<int64_t>(patch_total, 0));
    bounds = Buffer<ClusterBounds>(device, capacity / kClusterSize + 1);
    step = Buffer<int64_t>(device, std::vector<int64_t>{0, 0});
    energy = Buffer<int64_t>(device, std::vector<int64_t>(kEnergyKinds, 0));
    momentum = Buffer<int64_t>(device, std::vector<int64_t>(3, 0));
    start_heat = Buffer<int64_t>(device, std::vector<int64_t>(1, 0));
    faults = Buffer<Faults>(device, std::vector<Faults>{Faults{}});
  }

  void upload_constraints(const std::vector<double>& inverse) {
    std::vector<int32_t> starts{0};
    std::vector<GroupConstraint> list;
    size_t next = 0;
    for (int g = 0; g < system.group_count(); ++g) {
      const int32_t first = system.group_start[g], end = system.group_start[g + 1];
      for (; next < system.constraints.size() && system.constraints[next][0] < end; ++next) {
        const auto& pair = system.constraints[next];
        list.push_back({pair[0] - first, pair[1] - first, system.constraint_lengths[next]});
      }
      starts.push_back(static_cast<int32_t>(list.size()));
    }
    if (list.empty()) list.push_back({});
    constraint_start = Buffer<int32_t>(device, starts);
    constraints = Buffer<GroupConstraint>(device, list);
    const GroupShapes known =
        make_group_shapes(system.group_start, starts, list, system.masses, inverse, {});
    group_shape = Buffer<uint32_t>(device, known.codes);
    shapes = Buffer<GroupShape>(device, known.shapes);
  }
};

}  // namespace quiltmd::test
