// SPDX-License-Identifier: Apache-2.0
// Groups that stages change in batches, waters and single atoms, have the bits that each has alone.
#include <array>
#include <bit>

#include "check.h"
#include "device/host/kernels.h"
#include "integrators/stage_physics.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

constexpr double kTimestep = 0.002;
constexpr HeatBath kBath{2.5, 0.99, 0.2};
constexpr uint64_t kSeed = 11;

struct After {
  Vec3d position, velocity;
  bool operator==(const After& b) const {
    using Bits = std::array<uint64_t, 6>;
    return std::bit_cast<Bits>(*this) == std::bit_cast<Bits>(b);
  }
};

// The atoms of the group that lies at `index` after a step by itself.
template <class Group>
std::vector<After> alone(const LangevinMiddle& op, int index) {
  const PlacedGroup placed = op.work.placed[index];
  Group g;
  load(op.work, placed, g);
  const int first = op.work.constants.group_start[placed.group];
  for (int i = 0; i < g.atoms(); ++i)
    g.noise[i] = gaussian3(kSeed, static_cast<uint64_t>(*op.work.step),
                           static_cast<uint32_t>(first + i), RandomStream::kThermostat);
  CHECK(langevin_middle(op, kBath, g).converged);
  std::vector<After> atoms;
  for (int i = 0; i < g.atoms(); ++i) atoms.push_back({g.position[i], g.velocity[i]});
  return atoms;
}

void batches_give_the_bits(uint64_t seed) {
  const Box box{3, 0, 3, 0, 0, 3};
  Random random(seed);
  std::vector<Vec3d> given, positions, velocities, forces;
  const System system = with_groups(make_mixture(301, 3, box, given, random));
  for (int a = 0; a < system.atom_count(); ++a) {
    positions.push_back(given[static_cast<size_t>(system.input_index[a])]);
    velocities.push_back(random_vector(random, 0.5));
    forces.push_back(random_vector(random, 300));
  }
  HostDevice device(1, host_kernels());
  OneRank rank(device, system, box, {2, 2, 2}, positions, velocities);
  rank.set_forces(forces);
  rank.set_conditions(kBath);
  const LangevinMiddle op{rank.work(),        kTimestep,          kSeed,
                          rank.energy.data(), ForcesAfter::kKept, nullptr};
  std::vector<std::vector<After>> expected;
  int waters = 0, singles = 0;
  for (int index = 0; index < *op.work.count; ++index) {
    const int32_t group = op.work.placed[index].group;
    const GroupClass own = op.work.constants.code(group).group_class();
    const bool water = own == GroupClass::kWater;
    expected.push_back(water                      ? alone<RigidWater>(op, index)
                       : own == GroupClass::kStar ? alone<StarGroup>(op, index)
                                                  : std::vector<After>{});
    waters += water;
    singles += expected.back().size() == 1;
  }
  CHECK(waters > 100 && singles > 10);
  device.launch(op);
  const auto x = rank.position().download(), v = rank.velocity().download();
  for (size_t index = 0; index < expected.size(); ++index) {
    const auto slot = static_cast<size_t>(op.work.placed[index].slot);
    for (size_t i = 0; i < expected[index].size(); ++i) {
      const After found{x[slot + i], v[slot + i]};
      CHECK(found == expected[index][i]);
    }
  }
}

void batches_give_the_bits_of_groups_alone() { batches_give_the_bits(7); }

}  // namespace

int main() {
  return run_all(
      {{"batches give the bits of groups alone", batches_give_the_bits_of_groups_alone}});
}
