// SPDX-License-Identifier: Apache-2.0
// Heat baths of groups: with Langevin-middle each group feels its own, and baths that are alike are one;
// other thermostats scale each group by its own factor; groups that a selection cuts are refused.
#include <cstring>

#include "check.h"
#include "device/host/kernels.h"
#include "integrators/group_constraints.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

const Box kBox{3, 0, 3, 0, 0, 3};

// Molecules of all kinds with forces on them, on a device; laid out the same each time.
struct Molecules {
  Molecules(int count, uint64_t seed) {
    Random random(seed);
    std::vector<Vec3d> given;
    system = with_groups(make_mixture(count, 3, kBox, given, random));
    for (size_t a = 0; a < system.masses.size(); ++a) {
      positions.push_back(given[static_cast<size_t>(system.input_index[a])]);
      forces.push_back(random_vector(random, 300));
    }
    velocities.resize(positions.size(), Vec3d{0, 0, 0});
    HostDevice device(1, host_kernels());
    OneRank rank = place(device);
    device.launch(DrawVelocities{rank.work(), 100, 5});
    velocities = rank.by_atom(rank.velocity());
  }
  OneRank place(Device& device) const {
    return {device, system, kBox, {2, 2, 2}, positions, velocities};
  }
  System system;
  std::vector<Vec3d> positions, velocities, forces;
};

template <class T>
bool same_bits(const Buffer<T>& one, const Buffer<T>& other) {
  const std::vector<T> a = one.download(), b = other.download();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

double kinetic(OneRank& rank) {
  rank.clear_energy();
  rank.device.launch(KineticEnergy{rank.work(), rank.energy.data()});
  return rank.energy_of(kKinetic);
}

HeatBath bath_at(double temperature, double friction, double timestep) {
  const double keep = std::exp(-friction * timestep), thermal = kBoltzmann * temperature;
  return {thermal, keep, std::sqrt(thermal * (1 - keep * keep))};
}

// Groups in turn in these baths, on a device.
struct Baths {
  Baths(Device& device, const System& system, const std::vector<HeatBath>& each)
      : of_group(device, in_turn(system, each.size())), baths(device, each) {}
  LangevinMiddleGroups step(OneRank& rank, double timestep) const {
    return {rank.work(),
            timestep,
            11,
            rank.energy.data(),
            ForcesAfter::kKept,
            rank.step.data(),
            {of_group.data(), baths.data()}};
  }
  static std::vector<uint8_t> in_turn(const System& system, size_t count) {
    std::vector<uint8_t> of;
    for (int g = 0; g < system.group_count(); ++g)
      of.push_back(static_cast<uint8_t>(static_cast<size_t>(g) % count));
    return of;
  }
  Buffer<uint8_t> of_group;
  Buffer<HeatBath> baths;
};

void baths_that_are_alike_are_one() {
  const Molecules in(301, 21);
  HostDevice device(2, host_kernels());
  OneRank one = in.place(device), several = in.place(device);
  const HeatBath bath = bath_at(300, 1, 0.002);
  const Baths baths(device, in.system, {bath, bath, bath});
  for (OneRank* rank : {&one, &several}) rank->set_forces(in.forces);
  for (int n = 0; n < 5; ++n) {
    one.set_conditions(bath);
    device.launch(LangevinMiddle{one.work(), 0.002, 11, one.energy.data(), ForcesAfter::kKept,
                                 one.step.data()});
    device.launch(baths.step(several, 0.002));
  }
  CHECK(one.step.download()[0] == 5 && several.step.download()[0] == 5);
  CHECK(same_bits(one.position(), several.position()));
  CHECK(same_bits(one.velocity(), several.velocity()));
  CHECK(one.energy.download() == several.energy.download());
}

// A group moves as it would if all were in its bath, whatever its neighbours' baths; the heat is the
// sum of what each bath gave.
void each_group_has_its_own_bath() {
  const Molecules in(301, 22);
  HostDevice device(2, host_kernels());
  const std::vector<HeatBath> each{bath_at(200, 1, 0.002), bath_at(400, 20, 0.002),
                                   bath_at(0, 0, 0.002)};
  const Baths baths(device, in.system, each);
  OneRank mixed = in.place(device);
  mixed.set_forces(in.forces);
  device.launch(baths.step(mixed, 0.002));
  const auto v = mixed.by_atom(mixed.velocity());
  for (size_t b = 0; b < each.size(); ++b) {
    OneRank alone = in.place(device);
    alone.set_forces(in.forces);
    device.launch(Baths(device, in.system, {each[b]}).step(alone, 0.002));
    const auto expected = alone.by_atom(alone.velocity());
    int compared = 0;
    for (int g = static_cast<int>(b); g < in.system.group_count(); g += 3)
      for (int a = in.system.group_start[g]; a < in.system.group_start[g + 1]; ++a, ++compared)
        CHECK(norm(v[static_cast<size_t>(a)] - expected[static_cast<size_t>(a)]) == 0);
    CHECK(compared > 200);
  }
}

// Mean kinetic energy of each bath's free molecules, and the energy that the baths gave.
void baths_heat_their_own_groups() {
  const Molecules in(3000, 23);
  HostDevice device(2, host_kernels());
  OneRank rank = in.place(device);
  const double temperature[] = {200, 400};
  const Baths baths(device, in.system, {bath_at(200, 20, 0.0005), bath_at(400, 40, 0.0005)});
  const double before = kinetic(rank);
  rank.clear_energy();
  for (int n = 0; n < 400; ++n) device.launch(baths.step(rank, 0.0005));
  const double heat = rank.energy_of(kHeat);
  double twice[2] = {0, 0};
  int degrees[2] = {0, 0};
  const auto v = rank.by_atom(rank.velocity());
  const GroupConstraints constraints = constraints_by_group(in.system);
  for (int g = 0; g < in.system.group_count(); ++g) {
    const int first = in.system.group_start[g], end = in.system.group_start[g + 1];
    for (int a = first; a < end; ++a)
      twice[g % 2] += in.system.masses[static_cast<size_t>(a)] *
                      dot(v[static_cast<size_t>(a)], v[static_cast<size_t>(a)]);
    const auto k = static_cast<size_t>(g);
    degrees[g % 2] += 3 * (end - first) - (constraints.start[k + 1] - constraints.start[k]);
  }
  for (int b = 0; b < 2; ++b)
    CHECK_NEAR(twice[b] / (degrees[b] * kBoltzmann * temperature[b]), 1,
               5 * std::sqrt(2.0 / degrees[b]));
  CHECK_NEAR((kinetic(rank) - before) / heat, 1, 0.02);  // but for what turned constraints take
}

// Kinetic energies by bath; each bath's velocities are scaled by its own factor, and the heat is what that
// changes.
void groups_are_scaled_by_their_factors() {
  const Molecules in(301, 25);
  HostDevice device(2, host_kernels());
  OneRank rank = in.place(device);
  const Buffer<uint8_t> of_group(device, Baths::in_turn(in.system, 3));
  const BathTable table{of_group.data(), nullptr};
  Buffer<int64_t> sums(device, std::vector<int64_t>(3, 0));
  const Buffer<double> factors(device, std::vector<double>{0.5, 1, 2});
  device.launch(SumKineticEnergyGroups{rank.work(), sums.data(), table, 3});
  const auto before = sums.download();
  const auto slow = rank.by_atom(rank.velocity());
  CHECK(before[0] > 0 && before[1] > 0 && before[2] > 0);
  CHECK_NEAR(from_fixed(before[0] + before[1] + before[2], kEnergyScale), kinetic(rank), 1e-5);
  rank.clear_energy();
  device.launch(ScaleVelocitiesGroups{rank.work(), factors.data(), rank.energy.data(), table, 3});
  const double heat = rank.energy_of(kHeat);
  CHECK_NEAR(heat, from_fixed(3 * before[2] - before[0] * 3 / 4, kEnergyScale), 1e-5);
  const auto fast = rank.by_atom(rank.velocity());
  const double factor[] = {0.5, 1, 2};
  for (int g = 0; g < in.system.group_count(); ++g)
    for (int a = in.system.group_start[g]; a < in.system.group_start[g + 1]; ++a)
      CHECK(norm(fast[static_cast<size_t>(a)] - factor[g % 3] * slow[static_cast<size_t>(a)]) == 0);
}

void degrees_of_freedom_by_bath() {
  const Molecules in(301, 26);
  const auto of = Baths::in_turn(in.system, 2);
  const DegreesOfFreedom found = degrees_of_freedom(in.system, of, 2);
  const auto constraints = static_cast<double>(in.system.constraints.size());
  CHECK(found.all.degrees == 3.0 * in.system.atom_count() - constraints);
  CHECK(found.of_baths[0].degrees + found.of_baths[1].degrees == found.all.degrees);
  CHECK_NEAR(found.of_baths[0].mass_part + found.of_baths[1].mass_part, 1, 1e-12);
  CHECK_NEAR(found.of_baths[0].shared_by(3),
             found.of_baths[0].degrees - 3 * found.of_baths[0].mass_part, 1e-12);
  CHECK(degrees_of_freedom(in.system, {}, 0).of_baths.empty());
}

void groups_that_are_cut_are_refused() {
  const Molecules in(20, 24);
  std::vector<uint8_t> of_atom(in.system.masses.size(), 1);
  CHECK(baths_of_groups(in.system, of_atom, 2) ==
        std::vector<uint8_t>(static_cast<size_t>(in.system.group_count()), 1));
  const auto message = [&](size_t baths) {
    try {
      baths_of_groups(in.system, of_atom, baths);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message(1).find("is in heat bath 1, but there are 1, numbered from 0") !=
        std::string::npos);
  int group = 0;
  while (in.system.group_start[group + 1] - in.system.group_start[group] < 2) ++group;
  const int cut = in.system.input_index[static_cast<size_t>(in.system.group_start[group] + 1)];
  of_atom[static_cast<size_t>(cut)] = 0;
  CHECK(message(2).find("atom " + std::to_string(cut) + " is in another heat bath than atom") == 0);
  of_atom.pop_back();
  CHECK(message(2).find("but the system has") != std::string::npos);
}

}  // namespace

int main() {
  return run_all({{"baths that are alike are one", baths_that_are_alike_are_one},
                  {"each group has its own bath", each_group_has_its_own_bath},
                  {"baths heat their own groups", baths_heat_their_own_groups},
                  {"groups are scaled by their factors", groups_are_scaled_by_their_factors},
                  {"degrees of freedom by bath", degrees_of_freedom_by_bath},
                  {"groups that are cut are refused", groups_that_are_cut_are_refused}});
}
