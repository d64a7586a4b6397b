// SPDX-License-Identifier: Apache-2.0
// Choices that a setup makes: list buffer and lifetime, patch grid, pair parameters.
#include "schedule/setup.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "computes/pme/setup.h"

namespace quiltmd {
namespace {

// Atoms of a group stick out at most this far from its first atom.
double radius_of_groups(const System& system) {
  std::vector<double> direct(static_cast<size_t>(system.atom_count()), 0.0);
  double radius = 0;
  for (size_t c = 0; c < system.constraints.size(); ++c) {
    const double length = system.constraint_lengths[c];
    for (const int32_t atom : system.constraints[c]) direct[static_cast<size_t>(atom)] += length;
    radius = std::max(radius, length);
  }
  // An atom that is not itself constrained to the first is reached through one that is.
  for (int g = 0; g < system.group_count(); ++g) {
    const int32_t first = system.group_start[static_cast<size_t>(g)];
    const int32_t end = system.group_start[static_cast<size_t>(g) + 1];
    int linked = 0;
    if (end - first < 3) continue;
    for (int32_t a = first; a < end; ++a) linked += direct[static_cast<size_t>(a)] > 0;
    if (linked < end - first) radius = std::max(radius, direct[static_cast<size_t>(first)]);
  }
  return radius;
}

// Outer lists live about 60 fs and inner ones 12 fs: long enough to amortise building and pruning
// them, short enough for buffers that cost few pairs. docs/decisions.md has what was measured.
constexpr double kListTime = 0.060, kInnerTime = 0.012;  // ps
constexpr double kRoomTemperature = 300;                 // K

// How far the fastest atom of some millions moves in a time: its initial speed (nm/ps at 300 K)
// fades as it turns round. Hydrogens in water, of single or threefold mass, are the fastest.
double farthest(double time, double temperature) {
  constexpr double kSpeed = 5.2, kFading = 0.084;
  const double warmer = std::sqrt(std::max(temperature, kRoomTemperature) / kRoomTemperature);
  return warmer * kSpeed * kFading * (1 - std::exp(-time / kFading));
}

int steps_in(double time, double timestep) {
  return std::max(1, static_cast<int>(std::lround(time / timestep)));
}

ListSettings resolve(ListSettings lists, const IntegratorSettings& integrator) {
  const double dt = integrator.timestep, temperature = integrator.temperature;
  if (lists.life == 0) lists.life = std::min(steps_in(kListTime, dt), 60);
  if (lists.inner_life == 0) lists.inner_life = std::min(steps_in(kInnerTime, dt), lists.life);
  if (lists.inner_buffer == 0) lists.inner_buffer = farthest(lists.inner_life * dt, temperature);
  const int until_last_pruning = (lists.life - 1) / lists.inner_life * lists.inner_life;
  if (lists.buffer == 0)
    lists.buffer = lists.inner_buffer + farthest(until_last_pruning * dt, temperature);
  // Thin outer lists leave nothing to prune.
  if (lists.inner_buffer > 0.6 * lists.buffer) {
    lists.inner_life = lists.life;
    lists.inner_buffer = lists.buffer;
  }
  return lists;
}

PairParameters pair_parameters(const System& system, const NonbondedSettings& settings,
                               bool lorentz_berthelot_holds) {
  const double cutoff = settings.cutoff;
  PairParameters p{};
  p.cutoff2 = static_cast<float>(cutoff * cutoff);
  p.t_scale = static_cast<float>(2 / (cutoff * cutoff));
  p.lj_shift_6 = settings.potential_shift ? static_cast<float>(std::pow(cutoff, -6)) : 0.0f;
  const double direct = settings.pme ? std::erfc(settings.alpha * cutoff) : 1.0;
  p.coulomb_shift = settings.potential_shift ? static_cast<float>(direct / cutoff) : 0.0f;
  p.combination = lorentz_berthelot_holds ? Combination::kLorentzBerthelot : Combination::kTable;
  p.lj_types = system.lj_type_count;
  p.ewald = fit_ewald(settings.pme ? settings.alpha : 0.0, cutoff);
  return p;
}

}  // namespace

Setup make_setup(System system, const NonbondedSettings& nonbonded,
                 const IntegratorSettings& integrator, const ListSettings& lists, const Box& box) {
  Setup setup;
  setup.system = std::move(system);
  setup.nonbonded = nonbonded;
  setup.integrator = integrator;
  setup.lists = resolve(lists, integrator);
  setup.box = box;
  setup.group_radius = radius_of_groups(setup.system);
  if (nonbonded.pme) check_pme_grid(nonbonded.order, nonbonded.grid);
  const double reach = nonbonded.cutoff + setup.lists.buffer + 2 * setup.group_radius;
  setup.grid = make_patch_grid(box, nonbonded.cutoff, reach, setup.lists.away);
  setup.lorentz_berthelot = lorentz_berthelot(setup.system).holds;
  setup.pairs = pair_parameters(setup.system, nonbonded, setup.lorentz_berthelot);
  const auto& masses = setup.system.masses;
  setup.total_mass = std::accumulate(masses.begin(), masses.end(), 0.0);
  setup.degrees_of_freedom = 3 * setup.system.atom_count() -
                             static_cast<int>(setup.system.constraints.size()) -
                             (integrator.remove_com_every > 0 ? 3 : 0);
  if (nonbonded.pme) setup.constant_energy = ewald_constant(setup.system, nonbonded, box.volume());
  if (nonbonded.dispersion_correction)
    setup.dispersion_energy = dispersion_constant(setup.system, nonbonded, box.volume());
  return setup;
}

}  // namespace quiltmd
