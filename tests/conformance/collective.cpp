// SPDX-License-Identifier: Apache-2.0
// Collective restraints of all kinds: as the reference has them, on a device and between shares of a system.
#include "computes/collective/collective_memory.h"

#include "collective_restraints.h"
#include "computes/collective/reference.h"
#include "suites.h"
#include "virial.h"

namespace quiltmd::test {
namespace {

const Box kBox{3.3, 0.9, 3.2, -1.0, 0.8, 3.1};

struct CollectiveResult {
  std::vector<int64_t> force[3];  // by atom
  std::vector<int64_t> energy;
};

// Atoms of a cloud around a corner of the box.
System cloud(int size, std::vector<Vec3d>& positions) {
  Random random(size);
  System s;
  for (int a = 0; a < 4 * size; ++a) {
    add_atom(s, 1 + a % 7);
    const double turns = a % 3 - 1;
    const Vec3d offset{0.4 * (a / size), 0.3 * (a / size % 2), 0.2 * (a / size)};
    positions.push_back(offset + random_vector(random, 0.2) +
                        kBox.to_cartesian({turns, -turns, 0}));
  }
  s = with_groups(s);
  s.collective = all_collectives(s, size, random);
  return s;
}

void launch_all(CollectiveMemory& memory, Device& device) {
  for (const Work& work : memory.step_work(Energies::kAdd)) work.launch(Stream::kMain, 0);
  device.synchronize();
}

CollectiveResult run_collective(Device& device, const System& s,
                                const std::vector<Vec3d>& positions, int64_t step) {
  const PatchGrid grid = make_patch_grid(kBox, 0.5, 0.9, {1, 1, 1});
  OneRank rank(device, s, grid, positions, std::vector<Vec3d>(positions.size()));
  device.fill(rank.force.data(), 0, rank.force.bytes(), Stream::kMain);
  rank.clear_energy();
  rank.step.upload({step, 0});
  CollectiveMemory memory(rank, 0.001);
  std::vector<double> centres;
  for (const CollectiveRestraint& one : s.collective) centres.push_back(one.path[0][1]);
  memory.take_centres(centres);
  launch_all(memory, device);
  CollectiveResult result;
  for (int d = 0; d < 3; ++d) result.force[d] = rank.by_atom(rank.fixed_forces(d));
  result.energy = rank.energy.download();
  return result;
}

void restraints_meet_the_reference(Pair devices) {
  for (const int size : {5, 40, 300}) {
    std::vector<Vec3d> positions;
    const System s = cloud(size, positions);
    const CollectiveResult found = run_collective(devices.device, s, positions, 0);
    Evaluation expected{std::vector<Vec3d>(positions.size())};
    reference_collective({s, {}, kBox, true, positions}, expected);
    const double energy = expected.energy[static_cast<size_t>(kCollectiveEnergy)];
    CHECK_NEAR(from_fixed(found.energy[kCollectiveEnergy], kEnergyScale) / energy, 1, 1e-8);
    CHECK_NEAR(virial_error(found.energy, expected) / energy, 0, 1e-7);
    std::vector<Vec3d> forces(positions.size());
    for (size_t a = 0; a < forces.size(); ++a)
      for (int d = 0; d < 3; ++d) forces[a][d] = from_fixed(found.force[d][a], kForceScale);
    CHECK_NEAR(force_error(forces, expected.forces), 0, 1e-7);
  }
}

// The same bits each time, and nearly those of the CPU: functions such as the arc tangent differ.
void restraints_have_the_same_bits(Pair devices) {
  std::vector<Vec3d> positions;
  const System s = cloud(77, positions);
  for (const int64_t step : {0, 5, 1000}) {
    const CollectiveResult one = run_collective(devices.device, s, positions, step);
    const CollectiveResult again = run_collective(devices.device, s, positions, step);
    const CollectiveResult cpu = run_collective(devices.cpu, s, positions, step);
    CHECK(one.energy == again.energy);
    for (int d = 0; d < 3; ++d) {
      CHECK(one.force[d] == again.force[d]);
      for (size_t a = 0; a < positions.size(); ++a)
        CHECK_NEAR(from_fixed(one.force[d][a] - cpu.force[d][a], kForceScale), 0, 1e-6);
    }
    for (size_t k = 0; k < one.energy.size(); ++k)
      CHECK_NEAR(from_fixed(one.energy[k] - cpu.energy[k], kEnergyScale), 0, 1e-5);
  }
}

}  // namespace

std::vector<Case> collective_cases(Pair devices) {
  return {{"collective restraints meet the reference",
           [devices] { restraints_meet_the_reference(devices); }},
          {"collective restraints have the same bits",
           [devices] { restraints_have_the_same_bits(devices); }}};
}

}  // namespace quiltmd::test
