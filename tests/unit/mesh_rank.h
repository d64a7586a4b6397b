// SPDX-License-Identifier: Apache-2.0
// The long-range sum on one rank, operation by operation, and the cases that it is tested with.
#pragma once

#include "computes/long_range/pme/mesh_memory.h"
#include "computes/long_range/pme/setup.h"
#include "computes/reference.h"
#include "one_rank.h"
#include "virial.h"

namespace quiltmd::test {

inline const Box kCube{2.1, 0, 2.1, 0, 0, 2.1};
inline const Box kTilted{2.4, 0.7, 2.1, -0.6, 0.9, 2.0};

// Charges and coefficients of dispersion that make forces of like size.
inline System free_charges(int count, Random& random, std::vector<Vec3d>& positions,
                           const Box& box) {
  System s;
  s.pair_form = "lennard-jones";
  s.pair_type_count = 2;
  s.pair_tables = {{0, 0, 0, 0}, {0.09, 0, 0, 0.01}};
  std::uniform_real_distribution<double> uniform(0, 1), charge(-1, 1);
  for (int a = 0; a < count; ++a) {
    add_atom(s, 12);
    s.charges.back() = charge(random);
    s.pair_types.back() = a % 2;
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    positions.push_back(box.to_cartesian({x, y, z}));
  }
  return with_groups(s);
}

struct Mesh : MeshMemory {
  OneRank& rank;

  Mesh(OneRank& r, const MeshSettings& mesh) : MeshMemory(r, mesh), rank(r) {
    update_grid();
    if (has_coefficients()) rank.device.launch(place_coefficients());
    resize_box();
  }

  // Shrinks the box and restores it, as a barostat might: what the device makes of it is tested, too.
  void resize_box() {
    std::vector<Conditions> now = rank.conditions.download();
    const Box box = now[0].box;
    for (const double size : {0.3, 1.0}) {
      now[0].box = {size * box.ax, size * box.bx, size * box.by,
                    size * box.cx, size * box.cy, size * box.cz};
      rank.conditions.upload(now);
      rank.device.launch(update_box());
    }
  }

  // launch(first, count) for each of `parts` pieces of a whole, as ranks would have them.
  template <class Launch>
  static void in_parts(int whole, int parts, const Launch& launch) {
    for (int p = 0; p < parts; ++p) {
      const int first = whole * p / parts, end = whole * (p + 1) / parts;
      launch(first, end - first);
    }
  }

  void spread(int parts) {
    in_parts(rank.owned_patches(), parts, [&](int first, int count) {
      SpreadCharges op = spread_charges();
      op.patches += first;
      op.patch_count = count;
      rank.device.launch(op);
    });
  }

  void run(int parts) {
    spread(parts);
    in_parts(grid.nx, parts,
             [&](int first, int count) { rank.device.launch(transform_planes(first, count)); });
    in_parts(grid.ny, parts, [&](int first, int count) {
      rank.device.launch(convolve_lines(first, count, Energies::kAdd));
    });
    in_parts(grid.nx, parts,
             [&](int first, int count) { rank.device.launch(inverse_planes(first, count)); });
    rank.device.launch(gather_forces());
  }
};

struct MeshResult {
  double energy, dispersion;
  std::vector<int64_t> energies;  // all kinds
  std::vector<Vec3d> forces;
};

// Everything about a case but how it is run.
struct MeshCase {
  Box box;
  Int3 cells, grid;
  int order;
  double drift;          // how far atoms have moved since they were laid out, nm
  double bandwidth = 0;  // of a prolate split; 0: a Gaussian
  double window = 0;     // nm: the spacing that windows alias least for; 0: B-splines

  // With a mesh of the dispersion, on a grid that differs.
  NonbondedSettings settings() const {
    NonbondedSettings settings;
    settings.alpha = bandwidth > 0 ? 0 : 3;
    settings.bandwidth = bandwidth;
    settings.grid = grid;
    settings.order = order;
    settings.window_spacing = window;
    settings.switching = Switching::kMesh;
    settings.dispersion_alpha = 2.5;
    settings.dispersion_grid = {grid.y, grid.x, grid.z};
    return settings;
  }
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
  for (const MeshSettings& mesh : meshes_of(c.settings())) Mesh(rank, mesh).run(parts);
  MeshResult result{
      rank.energy_of(kReciprocal), rank.energy_of(kDispersionMesh), rank.energy.download(), {}};
  for (const Float4& f : rank.by_atom(rank.long_range)) result.forces.push_back({f.x, f.y, f.z});
  return result;
}

inline const MeshCase kMeshCases[] = {
    {kCube, {3, 3, 3}, {32, 32, 32}, 5, 0},
    {kCube, {3, 2, 4}, {20, 27, 24}, 4, 0.3},
    {kTilted, {3, 3, 3}, {28, 25, 33}, 5, 0.25},
    {kTilted, {2, 1, 3}, {24, 21, 16}, 4, 0},
    {kTilted, {5, 4, 3}, {9, 8, 8}, 5, 0.1},
    {kTilted, {1, 1, 1}, {64, 48, 40}, 5, 0},
    {kCube, {3, 2, 4}, {20, 27, 24}, 4, 0.3, 9},
    {kTilted, {3, 3, 3}, {14, 15, 12}, 5, 0.25, 12},
    {kCube, {2, 3, 4}, {24, 20, 28}, 4, 0.3, 9, 0.11},
    {kTilted, {3, 3, 3}, {14, 15, 12}, 5, 0.25, 12, 0.2},
};

}  // namespace quiltmd::test
