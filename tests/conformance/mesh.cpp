// SPDX-License-Identifier: Apache-2.0
// The long-range sum against the double-precision reference on the same grid.
#include "math/error.h"
#include "mesh_rank.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

const Box kLarge{11, 0, 11, 0, 0, 11};
constexpr Int3 kMany{10, 10, 10};

// Grids that fit one block and grids that do not, small primes alone and mixed.
std::vector<MeshCase> cases() {
  std::vector<MeshCase> all(std::begin(kMeshCases), std::end(kMeshCases));
  all.push_back({kCube, {3, 3, 3}, {56, 56, 56}, 5, 0.1});
  all.push_back({kTilted, {2, 3, 2}, {112, 168, 140}, 5, 0.05});
  all.push_back({kCube, {1, 2, 1}, {27, 245, 160}, 4, 0});
  all.push_back({kTilted, {1, 1, 1}, {250, 45, 48}, 5, 0.2});
  for (const int order : {4, 5}) all.push_back({kLarge, kMany, {80, 80, 80}, order, 0.1});
  return all;
}

// As many charges as patches of a large system have: a device may spread those in another way.
int charges_of(const MeshCase& c, int few) { return c.cells.x == kMany.x ? 30000 : few; }

bool any_device_takes(const MeshCase& c) { return c.grid.z % 2 == 0; }

void forces_meet_the_reference(Pair devices) {
  for (const MeshCase& c : cases()) {
    if (!any_device_takes(c)) continue;
    Random random(4);
    std::vector<Vec3d> positions;
    const System s = free_charges(charges_of(c, 600), random, positions, c.box);
    const MeshResult result = run_mesh(devices.device, c, s, positions, 1);
    Evaluation expected;
    reference_pme(s, c.settings(), c.box, positions, expected);
    CHECK_NEAR(result.energy / expected.energy[kReciprocal], 1, bound(devices, 1e-6, 2e-6));
    CHECK_NEAR(result.dispersion / expected.energy[kDispersionMesh], 1, bound(devices, 2e-6, 3e-6));
    CHECK_NEAR(virial_error(result.energies, expected) / result.energy, 0,
               bound(devices, 1e-6, 2e-6));
    CHECK_NEAR(force_error(result.forces, expected.forces), 0, bound(devices, 3e-6, 5e-6));
  }
}

// Atoms are packed between the points of a mesh as coarse as a barostat could make it: without the factor for
// coarse grids, the sum of their coefficients would overflow.
void coarse_grids_hold_dense_atoms(Pair devices) {
  const MeshCase c{{20, 0, 20, 0, 0, 20}, {3, 3, 3}, {16, 16, 16}, 5, 0};
  Random random(8);
  std::vector<Vec3d> positions;
  System s = free_charges(1200, random, positions, c.box);
  s.charges.assign(s.charges.size(), 0);
  for (Vec3d& r : positions) r = 0.05 * r + Vec3d{7, 7, 7};
  const MeshResult result = run_mesh(devices.device, c, s, positions, 1);
  Evaluation expected;
  reference_pme(s, c.settings(), c.box, positions, expected);
  CHECK_NEAR(result.dispersion / expected.energy[kDispersionMesh], 1, bound(devices, 2e-6, 3e-6));
  CHECK_NEAR(force_error(result.forces, expected.forces), 0, bound(devices, 1e-5, 1e-5));
}

// And for any number of parts that planes and lines are cut into.
void bits_are_the_same_each_time(Pair devices) {
  for (const MeshCase& c : cases()) {
    if (!any_device_takes(c)) continue;
    Random random(5);
    std::vector<Vec3d> positions;
    const System s = free_charges(charges_of(c, 2000), random, positions, c.box);
    const MeshResult one = run_mesh(devices.device, c, s, positions, 1);
    for (const int parts : {1, 1, 2, 3, 7}) {
      const MeshResult other = run_mesh(devices.device, c, s, positions, parts);
      CHECK(other.energies == one.energies);
      CHECK(same_bits(other.forces, one.forces));
    }
  }
}

// The integer grid is the CPU's but for the last bits of single weights.
void charges_agree(Pair devices, MeshOf of, const MeshCase& c) {
  Random random(6);
  std::vector<Vec3d> positions;
  const System s = free_charges(500, random, positions, c.box);
  std::vector<int32_t> charges[2];
  for (int k = 0; k < 2; ++k) {
    Device& device = k ? devices.cpu : devices.device;
    OneRank rank(device, s, c.box, c.cells, positions, std::vector<Vec3d>(positions.size()));
    Mesh mesh(rank, meshes_of(c.settings())[static_cast<size_t>(of)]);
    mesh.spread(1);
    charges[k] = mesh.charges.download();
    mesh.run(1);
    for (const int32_t charge : mesh.charges.download()) CHECK(charge == 0);
  }
  double worst = 0;
  for (size_t i = 0; i < charges[0].size(); ++i)
    worst = std::max(worst, std::fabs(double(charges[0][i]) - double(charges[1][i])));
  CHECK(worst / kChargeScale < 2e-5);  // charges are up to 12 in these units, others up to 16
}

}  // namespace

std::vector<Case> mesh_cases(Pair devices) {
  return {
      {"long-range forces meet the reference", [devices] { forces_meet_the_reference(devices); }},
      {"coarse grids hold dense atoms", [devices] { coarse_grids_hold_dense_atoms(devices); }},
      {"long-range bits are the same each time",
       [devices] { bits_are_the_same_each_time(devices); }},
      {"charge grids agree",
       [devices] {
         for (const size_t n : {3, 8}) charges_agree(devices, MeshOf::kCharges, kMeshCases[n]);
       }},
      {"dispersion grids agree",
       [devices] { charges_agree(devices, MeshOf::kDispersion, kMeshCases[3]); }}};
}

}  // namespace quiltmd::test
