// SPDX-License-Identifier: Apache-2.0
// What a setup derives from the system, the settings and the box.
#include "schedule/setup.h"

#include <algorithm>
#include <numeric>

#include "computes/bonded/bond_paths.h"
#include "computes/bonded/excluded_pairs.h"
#include "computes/pme/setup.h"
#include "integrators/constraint_loss.h"

namespace quiltmd {
namespace {

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
  const System& all = setup.system;
  setup.degrees_of_freedom = 3 * (all.atom_count() - static_cast<int>(all.sites.size())) -
                             static_cast<int>(all.constraints.size());
  setup.molecules = molecules_of(setup.system);
  setup.plan = make_step_plan(integrator, setup.degrees_of_freedom, setup.molecules.large());
  if (!all.sites.empty()) place_sites_after_moves(setup.plan);
  setup.constraint_rotation = constraint_rotation(setup.system);
  const AtomMotion motion{setup.plan.timestep, setup.plan.baths.temperature,
                          setup.plan.buffer_fraction};
  setup.lists = resolve(lists, motion);
  setup.ages = list_ages(setup.lists, nonbonded.cutoff, motion);
  setup.group_radius = std::max(group_radius(all), radius_of_site_groups(all));
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
