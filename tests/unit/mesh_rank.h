// SPDX-License-Identifier: Apache-2.0
// The long-range sum on one rank, operation by operation, and the cases that it is tested with.
#pragma once

#include "computes/pme/setup.h"
#include "computes/reference.h"
#include "one_rank.h"
#include "virial.h"

namespace quiltmd::test {

inline const Box kCube{2.1, 0, 2.1, 0, 0, 2.1};
inline const Box kTilted{2.4, 0.7, 2.1, -0.6, 0.9, 2.0};

inline System free_charges(int count, Random& random, std::vector<Vec3d>& positions,
                           const Box& box) {
  System s;
  std::uniform_real_distribution<double> uniform(0, 1), charge(-1, 1);
  for (int a = 0; a < count; ++a) {
    add_atom(s, 12);
    s.charges.back() = charge(random);
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    positions.push_back(box.to_cartesian({x, y, z}));
  }
  return with_groups(s);
}

struct Mesh {
  Device& device;
  OneRank& rank;
  PmeGrid grid;
  double alpha;
  Buffer<int32_t> charges;
  Buffer<Complex> spectrum;
  Buffer<float> potential, moduli[3];

  Mesh(Device& d, OneRank& r, const NonbondedSettings& settings)
      : device(d),
        rank(r),
        grid{settings.grid.x, settings.grid.y, settings.grid.z, settings.order, r.box, r.cells},
        alpha(settings.alpha) {
    const auto rows = static_cast<size_t>(grid.nx * grid.ny);
    charges = Buffer<int32_t>(d, std::vector<int32_t>(rows * static_cast<size_t>(grid.nz), 0));
    spectrum = Buffer<Complex>(d, rows * static_cast<size_t>(grid.nz / 2 + 1));
    potential = Buffer<float>(d, rows * static_cast<size_t>(grid.nz));
    for (int k = 0; k < 3; ++k)
      moduli[k] = Buffer<float>(d, spline_moduli(settings.grid[k], settings.order));
  }

  // In `parts` pieces, as ranks would have them.
  void spread(int parts) {
    const int patches = rank.patch_count(), slots = static_cast<int>(rank.capacity);
    for (int p = 0; p < parts; ++p) {
      const int first = patches * p / parts, end = patches * (p + 1) / parts;
      device.launch(SpreadCharges{grid, rank.slots(), rank.patches.data() + first, end - first,
                                  rank.slot_count.data(), slots, charges.data()});
    }
  }

  void run(int parts) {
    const int patches = rank.patch_count(), slots = static_cast<int>(rank.capacity);
    spread(parts);
    for (int p = 0; p < parts; ++p) {
      const int first = grid.nx * p / parts, end = grid.nx * (p + 1) / parts;
      device.launch(TransformPlanes{grid, first, end - first, charges.data(), spectrum.data()});
    }
    for (int p = 0; p < parts; ++p) {
      const int first = grid.ny * p / parts, end = grid.ny * (p + 1) / parts;
      device.launch(ConvolveLines{grid,
                                  first,
                                  end - first,
                                  alpha,
                                  {moduli[0].data(), moduli[1].data(), moduli[2].data()},
                                  spectrum.data(),
                                  rank.energy.data()});
    }
    for (int p = 0; p < parts; ++p) {
      const int first = grid.nx * p / parts, end = grid.nx * (p + 1) / parts;
      device.launch(InversePlanes{grid, first, end - first, spectrum.data(), potential.data()});
    }
    device.launch(GatherForces{grid, rank.slots(), rank.patches.data(), patches,
                               rank.slot_count.data(), slots, potential.data(), charges.data()});
  }
};

struct MeshResult {
  double energy;
  std::vector<int64_t> energies;  // all kinds
  std::vector<Vec3d> forces;
};

// Everything about a case but how it is run.
struct MeshCase {
  Box box;
  Int3 cells, grid;
  int order;
  double drift;  // how far atoms have moved since they were laid out, nm
};

inline MeshResult run_mesh(Device& device, const MeshCase& c, const System& s,
                           const std::vector<Vec3d>& positions, int parts) {
  // Laid out elsewhere, then moved: atoms stick out of their patches.
  std::vector<Vec3d> before = positions;
  for (Vec3d& r : before) r += Vec3d{c.drift, -c.drift, c.drift};
  OneRank rank(device, s, c.box, c.cells, before, std::vector<Vec3d>(before.size()));
  std::vector<Float4> local = rank.local.download();
  const std::vector<int32_t> where = rank.slot_of_atom.download();
  for (const int32_t slot : where) {
    Float4& r = local[static_cast<size_t>(slot)];
    r = {static_cast<float>(r.x - c.drift), static_cast<float>(r.y + c.drift),
         static_cast<float>(r.z - c.drift), r.w};
  }
  rank.local.upload(local);
  NonbondedSettings settings;
  settings.alpha = 3;
  settings.grid = c.grid;
  settings.order = c.order;
  Mesh mesh(device, rank, settings);
  mesh.run(parts);
  MeshResult result{rank.energy_of(kReciprocal), rank.energy.download(), {}};
  for (const Float4& f : rank.by_atom(rank.long_range)) result.forces.push_back({f.x, f.y, f.z});
  return result;
}

inline const MeshCase kMeshCases[] = {
    {kCube, {3, 3, 3}, {32, 32, 32}, 5, 0},      {kCube, {3, 2, 4}, {20, 27, 24}, 4, 0.3},
    {kTilted, {3, 3, 3}, {28, 25, 33}, 5, 0.25}, {kTilted, {2, 1, 3}, {24, 21, 16}, 4, 0},
    {kTilted, {5, 4, 3}, {9, 8, 8}, 5, 0.1},     {kTilted, {1, 1, 1}, {64, 48, 40}, 5, 0},
};

}  // namespace quiltmd::test
