// SPDX-License-Identifier: Apache-2.0
#include "runtime/entering_state.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "integrators/group_sites.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr double kFarthest = 1e7;        // nm; ten times what a State may have
constexpr double kSameSite = 1e-6;       // nm; what a run has left is the same but for rounding
constexpr double kRounding = 1 + 1e-12;  // of displacements, which a device has found

bool is_within_reach(const Vec3d& r) {
  return std::fabs(r.x) < kFarthest && std::fabs(r.y) < kFarthest && std::fabs(r.z) < kFarthest;
}

bool is_farther(const Vec3d& a, const Vec3d& b, double distance) {
  const Vec3d apart = a - b;
  return !(dot(apart, apart) <= distance * distance);
}

// One for each atom, in the order of the input, finite and within range.
void check_vectors(const std::vector<Vec3d>& vectors, const System& system, const char* what) {
  const auto atoms = static_cast<size_t>(system.atom_count());
  if (vectors.size() != atoms)
    throw Error("the state has " + std::to_string(vectors.size()) + " atoms, but the system has " +
                std::to_string(atoms));
  const auto out_of_range = std::find_if_not(vectors.begin(), vectors.end(), is_within_reach);
  if (out_of_range != vectors.end())
    throw Error("the " + std::string(what) + " of atom " +
                std::to_string(out_of_range - vectors.begin() + 1) +
                " is not a number or too large");
}

// Places the sites that are farther than `keep` (nm) from their defined positions.
void place_sites_anew(const System& system, int64_t step, double keep,
                      std::vector<Vec3d>& positions) {
  std::vector<Vec3d> placed = positions;
  place_sites(system, placed);
  for (const Site& site : system.sites) {
    const auto a = static_cast<size_t>(site.atom);
    if (!is_within_reach(placed[a]))
      throw SimulationError(step, "the virtual site atom " + std::to_string(system.input_index[a]) +
                                      " has no defined position: its parents lie on a line or at "
                                      "a point, or its weights are too large");
    if (is_farther(placed[a], positions[a], keep)) positions[a] = placed[a];
  }
}

}  // namespace

std::vector<Vec3d> to_internal_order(const System& system, const std::vector<Vec3d>& from) {
  std::vector<Vec3d> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[static_cast<size_t>(system.input_index[i])];
  return to;
}

std::vector<Vec3d> to_input_order(const System& system, const std::vector<Vec3d>& from) {
  std::vector<Vec3d> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[static_cast<size_t>(system.input_index[i])] = from[i];
  return to;
}

std::vector<Vec3d> entering_positions(const System& system, int64_t step,
                                      const std::vector<Vec3d>& given, Sites sites) {
  check_vectors(given, system, "position");
  std::vector<Vec3d> positions = to_internal_order(system, given);
  if (!system.sites.empty())
    place_sites_anew(system, step, sites == Sites::kLeftByARun ? kSameSite : 0, positions);
  return positions;
}

HostState entering_state(const System& system, const HostState& given) {
  const bool was_left_by_a_run = !given.list_positions.empty();
  const Sites sites = was_left_by_a_run ? Sites::kLeftByARun : Sites::kAnywhere;
  HostState state{given.step,
                  entering_positions(system, given.step, given.positions, sites),
                  {},
                  given.list_step,
                  {},
                  given.patches,
                  given.variables};
  check_vectors(given.velocities, system, "velocity");
  state.velocities = to_internal_order(system, given.velocities);
  if (was_left_by_a_run) {
    check_vectors(given.list_positions, system, "position of the pair lists");
    state.list_positions = to_internal_order(system, given.list_positions);
  }
  for (const Site& site : system.sites)
    state.velocities[static_cast<size_t>(site.atom)] = {0, 0, 0};
  return state;
}

void doubt_lists(const Setup& setup, HostState& state) {
  const int64_t age = state.step - state.list_step;
  if (state.list_positions.empty()) return;
  if (age < 0 || age > setup.lists.life) {
    state.list_positions.clear();
    return;
  }
  // Lists live for a step at least, however far it takes atoms (list_ages); what then goes beyond the next
  // step's limit is replaced there.
  const auto life = static_cast<size_t>(setup.lists.life);
  const auto limit_at = std::min(std::max<size_t>(static_cast<size_t>(age), 2), life);
  const double limit = age == 0 ? 0 : setup.ages.limit[limit_at] * kRounding;
  for (size_t a = 0; a < state.positions.size(); ++a)
    if (is_farther(state.positions[a], state.list_positions[a], limit)) {
      state.list_positions = state.positions;
      return;
    }
}

}  // namespace quiltmd
