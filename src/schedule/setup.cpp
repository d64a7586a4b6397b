// SPDX-License-Identifier: Apache-2.0
// Choices that a setup makes: list buffer and lifetime, patch grid.
#include "schedule/setup.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "computes/bonded/bond_paths.h"
#include "computes/bonded/excluded_pairs.h"
#include "computes/pme/setup.h"
#include "integrators/constraint_loss.h"

namespace quiltmd {
namespace {

// Atoms of a group stick out at most this far from its first atom: the longest of the shortest paths
// along constraints.
double radius_of_groups(const System& system) {
  const double far = std::numeric_limits<double>::max();
  std::vector<double> path(static_cast<size_t>(system.atom_count()), far);
  for (int g = 0; g < system.group_count(); ++g)
    path[static_cast<size_t>(system.group_start[static_cast<size_t>(g)])] = 0;
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (size_t c = 0; c < system.constraints.size(); ++c)
      for (const int end : {0, 1}) {
        double& there = path[static_cast<size_t>(system.constraints[c][static_cast<size_t>(end)])];
        const double here =
            path[static_cast<size_t>(system.constraints[c][1 - static_cast<size_t>(end)])];
        if (here == far || here + system.constraint_lengths[c] >= there) continue;
        there = here + system.constraint_lengths[c];
        shorter = true;
      }
  }
  return path.empty() ? 0 : *std::max_element(path.begin(), path.end());
}

// A list lives about 40 fs: long enough to amortise building it, short enough for a buffer that costs
// few pairs.
constexpr double kListTime = 0.040;  // ps

// How far the fastest of two million atoms moves in a time (ps), in nm: hydrogens of water at 300 K,
// whose speed fades as the molecules turn round. Measured; docs/decisions.md has the figures.
double farthest(double time, double temperature) {
  constexpr double kSpeed = 9.0, kFading = 0.0285, kMeasuredAt = 300;
  const double warmer = std::sqrt(std::max(temperature / kMeasuredAt, 1.0));
  return warmer * kSpeed * kFading * (1 - std::exp(-time / kFading));
}

constexpr double kLeastBuffer = 0.05;  // nm; short-lived lists need room for what is unusually hot

ListSettings resolve(ListSettings lists, const StepPlan& plan) {
  const double dt = plan.timestep;
  if (lists.life == 0)
    lists.life = std::clamp(static_cast<int>(std::lround(kListTime / dt)), 4, 40);
  if (lists.buffer == 0)
    lists.buffer = plan.buffer_fraction * farthest(lists.life * dt, plan.temperature);
  const double first_step = plan.buffer_fraction * farthest(dt, plan.temperature);
  lists.buffer = std::max({lists.buffer, first_step, kLeastBuffer});
  return lists;
}

// The buffer that the end of a life is given, scaled down to earlier ages. A displacement calls for new
// lists when it exceeds by a quarter what the farthest of two million atoms are known to move. Lists
// live for a step at least: what happens in the first one counts when the second is made.
ListAges list_ages(const ListSettings& lists, double cutoff, const StepPlan& plan) {
  const double part = plan.buffer_fraction, allowance = 1.25 / part;
  const double dt = plan.timestep, whole = farthest(lists.life * dt, 0);
  const double first_step = farthest(dt, plan.temperature);
  ListAges ages;
  for (int age = 0; age <= lists.life; ++age)
    ages.buffer.push_back(
        std::max(lists.buffer * farthest(age * dt, 0) / whole, part * first_step));
  for (const double buffer : ages.buffer) ages.limit.push_back(allowance * buffer);
  if (lists.life > 1) ages.limit[1] = std::numeric_limits<double>::max();
  for (int shell = 0; shell < kShells; ++shell) {
    const int last_age = shell * lists.life / (kShells - 1);
    ages.reach[shell] = cutoff + ages.buffer[static_cast<size_t>(last_age)];
    while (static_cast<int>(ages.shell.size()) <= last_age) ages.shell.push_back(shell);
  }
  return ages;
}

void find_constants(Setup& setup) {
  const Constant ewald = ewald_constant(setup.system, setup.nonbonded, 1);
  setup.self_energy = ewald.energy - ewald.virial;
  setup.background = {ewald.virial, ewald.virial};
  setup.dispersion = dispersion_constant(setup.system, setup.nonbonded, 1);
}

}  // namespace

void set_box(Setup& setup, const Box& box, std::optional<Int3> cells) {
  const NonbondedSettings& nonbonded = setup.nonbonded;
  const double reach = nonbonded.cutoff + setup.lists.buffer + 2 * setup.group_radius;
  setup.grid = make_patch_grid(box, nonbonded.cutoff, reach, setup.lists.away,
                               setup.term_span + 2 * setup.group_radius, cells);
  setup.constant_energy = setup.self_energy + setup.background.energy / box.volume();
  setup.dispersion_energy = setup.dispersion.energy / box.volume();
  setup.constant_virial = setup.virial_by_density() / box.volume();
}

Setup make_setup(System system, const NonbondedSettings& nonbonded,
                 const IntegratorSettings& integrator, const ListSettings& lists, const Box& box,
                 std::optional<Int3> cells) {
  Setup setup;
  setup.system = std::move(system);
  setup.nonbonded = nonbonded;
  setup.term_span = span_of_restraints(setup.system);
  if (nonbonded.pme)
    setup.term_span = std::max(setup.term_span,
                               add_excluded_pairs(setup.system, nonbonded.cutoff, nonbonded.alpha));
  setup.degrees_of_freedom =
      3 * setup.system.atom_count() - static_cast<int>(setup.system.constraints.size());
  setup.molecules = molecules_of(setup.system);
  setup.plan = make_step_plan(integrator, setup.degrees_of_freedom, setup.molecules.large());
  setup.turning = turning_of_constraints(setup.system);
  setup.lists = resolve(lists, setup.plan);
  setup.ages = list_ages(setup.lists, nonbonded.cutoff, setup.plan);
  setup.group_radius = radius_of_groups(setup.system);
  if (nonbonded.pme) check_pme_grid(nonbonded.order, nonbonded.grid);
  find_constants(setup);
  set_box(setup, box, cells);
  setup.packed_pairs = pack_pairs(setup.system, nonbonded);
  setup.pairs = pair_parameters(setup.system, nonbonded, setup.packed_pairs.form);
  const auto& masses = setup.system.masses;
  setup.total_mass = std::accumulate(masses.begin(), masses.end(), 0.0);
  return setup;
}

}  // namespace quiltmd
