// SPDX-License-Identifier: Apache-2.0
// The fast multipole method on one rank, operation by operation.
#pragma once

#include "computes/long_range/fmm/fmm_memory.h"
#include "mesh_rank.h"

namespace quiltmd::test {

inline NonbondedSettings fmm_settings(Int3 grid, int order = 5) {
  NonbondedSettings settings;
  settings.order = order;
  settings.electrostatics = Electrostatics::kFmm;
  settings.bandwidth = 10;
  settings.grid = grid;
  return settings;
}

// As if a barostat had made this box of another.
inline NonbondedSettings fmm_settings(Int3 grid, int order, const Box& now) {
  NonbondedSettings settings = fmm_settings(grid, order);
  settings.stencil_box = {1.02 * now.ax, 0.99 * now.bx, 0.99 * now.by,
                          1.01 * now.cx, 1.01 * now.cy, 1.01 * now.cz};
  return settings;
}

enum class Evaluated { kAllPoints, kAroundAtoms };

struct FmmRank : FmmTables, FmmMemory {
  using FmmMemory::levels, FmmMemory::fit_stencil;
  OneRank& rank;

  FmmRank(OneRank& r, const NonbondedSettings& settings, const Box& box)
      : FmmTables(settings, box), FmmMemory(r, settings, *this), rank(r) {
    mesh.update_grid();
    rank.device.launch(fit_stencil());
  }

  // From the charges on level 0 to the potential, each operation in so many parts, as ranks would have them.
  void sum(int parts) {
    const auto in_parts = [&](auto launch) {
      Mesh::in_parts(levels.grid.x, parts, [&](int first, int count) { launch({first, count}); });
    };
    Device& device = rank.device;
    if (follows_atoms()) device.launch(find_window(0.02));
    in_parts([&](GridRange planes) { device.launch(restrict_charges(planes)); });
    in_parts([&](GridRange planes) { device.launch(convolve_level(planes, Energies::kAdd)); });
    in_parts([&](GridRange planes) {
      device.launch(sum_upper_levels(planes, planes.first == 0 ? Energies::kAdd : Energies::kSkip));
      device.launch(prolong_potential(planes, Energies::kAdd));
    });
  }
};

struct FmmResult {
  std::vector<int64_t> energies;
  std::vector<Vec3d> forces;

  double energy(int kind) const {
    return from_fixed(energies[static_cast<size_t>(kind)], kEnergyScale);
  }
};

inline FmmResult run_fmm(OneRank& rank, const Box& box, const NonbondedSettings& settings,
                         int parts, Evaluated points = Evaluated::kAllPoints) {
  FmmRank fmm(rank, settings, box);
  fmm.follow_atoms(points == Evaluated::kAroundAtoms);
  rank.device.launch(fmm.mesh.spread_charges());
  fmm.sum(parts);
  rank.device.launch(fmm.mesh.gather_forces());
  FmmResult result{rank.energy.download(), {}};
  for (const Float4& f : rank.by_atom(rank.long_range)) result.forces.push_back({f.x, f.y, f.z});
  return result;
}

inline FmmResult run_fmm(Device& device, const Box& box, const NonbondedSettings& settings,
                         const System& s, const std::vector<Vec3d>& positions, int parts) {
  OneRank rank(device, s, box, {3, 2, 3}, positions, std::vector<Vec3d>(positions.size()));
  return run_fmm(rank, box, settings, parts);
}

}  // namespace quiltmd::test
