// SPDX-License-Identifier: Apache-2.0
// What an engine says of itself: figures of the decomposition, devices.
#include "runtime/collect.h"
#include "runtime/engine.h"
#include "schedule/grid_shares.h"

namespace quiltmd {
namespace {

struct RankNumbers {
  double bytes, proxies, entries;
};

RankNumbers numbers_of(Rank& rank) {
  RankNumbers n{static_cast<double>(rank.bytes()),
                static_cast<double>(rank.memory().plan().proxies.size()), 0};
  for (const auto& [compute, count] : compute_entries(rank.memory()))
    n.entries += static_cast<double>(count);
  return n;
}

}  // namespace

std::vector<DeviceDescription> Engine::devices() const {
  std::vector<DeviceDescription> found;
  for (const auto& device : devices_) found.push_back(device->describe());
  return found;
}

const char* Engine::mesh() const { return mesh_sharing_name(mesh_sharing()); }

int64_t Engine::early_rebuilds() const { return ranks_.empty() ? 0 : ranks_[0]->early_rebuilds(); }

std::map<std::string, double> Engine::numbers() const {
  require_state();
  const Setup& s = *setup_;
  const double atoms = s.system.atom_count();
  const Balancer::Forecast& move = patch_moves_.forecast;
  double bytes = 0, entries = 0, proxies = 0;
  const auto all = gather<RankNumbers>([](Rank& rank) { return std::vector{numbers_of(rank)}; });
  for (const std::vector<RankNumbers>& rank : all) {
    bytes += rank[0].bytes;
    proxies += rank[0].proxies;
    entries += rank[0].entries;
  }
  return {{"atoms", atoms},
          {"groups", s.system.group_count()},
          {"degrees_of_freedom", s.plan.degrees_of_freedom},
          {"patches", s.grid.size()},
          {"patches_x", s.grid.cells.x},
          {"patches_y", s.grid.cells.y},
          {"patches_z", s.grid.cells.z},
          {"patch_reach_x", s.grid.patch_reach.x},
          {"patch_reach_y", s.grid.patch_reach.y},
          {"patch_reach_z", s.grid.patch_reach.z},
          {"ranks", run_.ranks},
          {"threads", run_.threads},
          {"proxies", proxies},
          {"list_life", s.lists.life},
          {"remove_com_every", s.plan.centre_of_mass.remove_every},
          {"list_buffer", s.lists.buffer},
          {"list_entries", entries},
          {"early_rebuilds", static_cast<double>(early_rebuilds())},
          {"grid_changes", static_cast<double>(grid_changes_)},
          {"grid_changed_at", static_cast<double>(grid_changed_at_)},
          {"patch_moves", static_cast<double>(patch_moves_.count)},
          {"patches_moved_at", static_cast<double>(patch_moves_.at)},
          {"step_before_move", move.now},
          {"step_by_computes", move.by_computes},
          {"step_by_patches", move.by_patches},
          {"steps_of_move", move.now > 0 ? patch_moves_.seconds / move.now : 0},
          {"lorentz_berthelot", s.packed_pairs.table.empty() ? 1.0 : 0.0},
          {"pme_alpha", s.nonbonded.has_pme() ? s.nonbonded.alpha : 0.0},
          {"coulomb_cutoff", s.nonbonded.has_cutoff() ? s.nonbonded.coulomb_cutoff() : 0.0},
          {"pme_bandwidth", s.nonbonded.has_pme() ? s.nonbonded.bandwidth : 0.0},
          {"pme_window", s.nonbonded.has_pme() ? s.nonbonded.window_spacing : 0.0},
          {"pme_order", s.nonbonded.has_pme() ? s.nonbonded.order : 0.0},
          {"pme_grid_x", s.nonbonded.has_pme() ? s.nonbonded.grid.x : 0.0},
          {"pme_grid_y", s.nonbonded.has_pme() ? s.nonbonded.grid.y : 0.0},
          {"pme_grid_z", s.nonbonded.has_pme() ? s.nonbonded.grid.z : 0.0},
          {"lj_pme_alpha", s.nonbonded.dispersion_alpha},
          {"lj_pme_grid_x", static_cast<double>(s.nonbonded.dispersion_grid.x)},
          {"lj_pme_grid_y", static_cast<double>(s.nonbonded.dispersion_grid.y)},
          {"lj_pme_grid_z", static_cast<double>(s.nonbonded.dispersion_grid.z)},
          {"bytes_per_atom", bytes / atoms}};
}

}  // namespace quiltmd
