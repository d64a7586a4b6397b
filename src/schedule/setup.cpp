// SPDX-License-Identifier: Apache-2.0
// What a setup derives from the system, the settings and the box.
#include "schedule/setup.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "computes/alchemy/physics.h"
#include "computes/bonded/bond_paths.h"
#include "computes/bonded/excluded_pairs.h"
#include "computes/dispersion_coefficients.h"
#include "computes/long_range/pme/setup.h"
#include "computes/places.h"
#include "integrators/constraint_loss.h"
#include "math/error.h"

namespace quiltmd {
namespace {

void find_constants(Setup& setup) {
  const Constant charges = constant_of_charges(setup.system, setup.nonbonded, 1);
  setup.self_energy = charges.energy - charges.virial;
  setup.background = {charges.virial, charges.virial};
  setup.dispersion = dispersion_constant(setup.system, setup.nonbonded, 1);
  if (setup.system.alchemy) setup.by_lambda = lambda_constants(setup.system, setup.nonbonded);
  if (setup.nonbonded.has_dispersion_mesh())
    setup.dispersion_self_energy =
        dispersion_self_energy(setup.system, setup.nonbonded.dispersion_alpha);
}

// Without a box there is neither a background of charge nor a mean density.
double volume_of(const PatchGrid& grid) {
  return grid.is_open() ? std::numeric_limits<double>::infinity() : grid.box.volume();
}

void find_constants_in_box(Setup& setup) {
  const double volume = volume_of(setup.grid);
  setup.constants = {setup.self_energy + setup.background.energy / volume,
                     kind_of_constant(setup.nonbonded),
                     setup.dispersion_self_energy + setup.dispersion.energy / volume};
  setup.constant_virial = setup.virial_by_density() / volume;
}

// Alchemical atoms as ghosts, and how far apart those may be that are excluded from each other.
void make_ghosts(Setup& setup) {
  if (!setup.system.alchemy) return;
  if (!setup.external.empty())
    throw Error(
        "alchemical atoms cannot be combined with external forces so far: leave out one of them");
  setup.term_span = std::max(setup.term_span, span_of_alchemical_exclusions(setup.system));
  leave_ghosts(setup.system);
}

// Patches of a system in which every pair meets: some 300 atoms, so that little of the last cluster of
// each is empty and ranks can share them out evenly.
constexpr double kReachOfAllPairs = 1.2;  // nm

// A little more than the least: rounding must not take a patch from a box that is a multiple of the width.
double width_of_open_patches(int patch_reach, double reach, double span) {
  if (!std::isfinite(span))
    throw Error(
        "without a periodic box a restraint may only join atoms of one molecule: give a box, or "
        "leave out the restraint");
  return std::max(reach, span) / patch_reach * (1 + 1e-6);
}

// Patches of an open cell: with the fast multipole method as wide as a whole number of grid points, so that the
// grid stays when the cell becomes larger.
struct OpenPatches {
  int points = 0;  // 0: there is no grid
  int order;       // of its splines
  double width, least;

  OpenPatches(const NonbondedSettings& settings, double least_width)
      : order(settings.order), width(least_width), least(least_width) {
    if (!settings.has_open_grid()) return;
    points = static_cast<int>(std::ceil(least / settings.open_spacing));
    width = points * settings.open_spacing;
  }
  Int3 cells(Int3 needed) const { return points > 0 ? with_levels(needed, points, order) : needed; }
  Int3 points_of(Int3 cells) const {
    return {points * cells.x, points * cells.y, points * cells.z};
  }
  double widened(double reach) const { return reach * (width / least); }
};

void refuse_unsuited_to_fmm(const Setup& setup, bool open) {
  if (open != setup.nonbonded.has_open_grid())
    throw Error(
        "the settings of the fast multipole method are for a system with or without a periodic "
        "box, and this one is not: make a new simulation of it");
  if (setup.system.solvent)
    throw Error(
        "the fast multipole method cannot be combined with an implicit solvent: choose the method "
        "no-cutoff or cutoff");
  if (setup.nonbonded.has_dispersion_mesh())
    throw Error(
        "the fast multipole method cannot be combined with Lennard-Jones PME: choose "
        "lennard_jones = cutoff, or the method pme");
  if (!open) check_fmm_grid(setup.nonbonded.order, setup.nonbonded.grid);
}

// Once for a grid: boxes that follow change the stencil, but neither its points nor their weights.
void make_fmm_tables(Setup& setup) {
  const Box& box = setup.grid.box;
  const bool fits = setup.fmm && setup.fmm->levels.grid == setup.nonbonded.grid;
  if (!fits) setup.fmm = std::make_shared<const FmmTables>(setup.nonbonded, box);
  if (setup.fmm->fit.orthogonal() && !is_orthogonal(lattice_of(box, setup.nonbonded.grid)))
    throw Error(
        "the stencil of the fast multipole method was chosen for a rectangular box, and this one "
        "is "
        "skewed: start a new simulation, or leave out the box of the stencil (fmm_box)");
}

void refuse_unsuited_to_two_cutoffs(const Setup& setup) {
  const NonbondedSettings& settings = setup.nonbonded;
  const auto refuse = [](bool is_so, const char* what) {
    if (is_so)
      throw Error(std::string("a Coulomb cutoff shorter than the cutoff cannot be combined with ") +
                  what + ": leave out coulomb_cutoff");
  };
  refuse(!settings.has_pme(), "electrostatics other than PME");
  refuse(!settings.has_prolate_split(), "a Gaussian split");
  refuse(settings.has_dispersion_mesh(), "Lennard-Jones PME");
  refuse(settings.has_switching_function(), "switching");
  refuse(setup.system.pair_form != "lennard-jones", "pair forms other than Lennard-Jones");
  if (settings.coulomb_cutoff() >= settings.cutoff)
    throw Error("the Coulomb cutoff must be shorter than the cutoff, or left out");
}

void refuse_unsuited(const Setup& setup, const Cell& cell) {
  const bool open = std::holds_alternative<Spread>(cell);
  if (setup.nonbonded.has_two_cutoffs()) refuse_unsuited_to_two_cutoffs(setup);
  if (setup.nonbonded.has_fmm()) refuse_unsuited_to_fmm(setup, open);
  if (open && setup.nonbonded.has_pme())
    throw Error("PME needs a periodic box: give one, or choose the method cutoff or no-cutoff");
  if (setup.nonbonded.has_dispersion_mesh() && !setup.nonbonded.has_pme())
    throw Error(
        "Lennard-Jones PME needs PME for the charges: choose the method pme, or lennard_jones = "
        "cutoff");
  if (open && setup.nonbonded.has_reaction_field())
    throw Error(
        "a reaction field needs a periodic box: give one, or choose the method cutoff or "
        "no-cutoff");
  if (open && setup.plan.rebuild_stage.every > 0)
    throw Error("a barostat needs a periodic box: give one, or leave out the barostat");
  if (!open && !setup.nonbonded.has_cutoff())
    throw Error(
        "the method no-cutoff cannot be used in a periodic box: choose pme, fmm, reaction-field or "
        "cutoff");
}

// Finds the heat bath of each hydrogen group, and for each bath the degrees of freedom and the rotation of
// its constraints.
void find_baths(Setup& setup, const IntegratorSettings& integrator) {
  const size_t baths = baths_of_groups(integrator);
  if (baths > 0)
    setup.bath_of_group = baths_of_groups(setup.system, integrator.bath_of_atom, baths);
  setup.degrees_of_freedom = degrees_of_freedom(setup.system, setup.bath_of_group, baths);
  setup.constraint_rotation.assign(std::max<size_t>(baths, 1), 0.0);
  const std::vector<double> of_group = constraint_rotation(setup.system);
  for (size_t g = 0; g < of_group.size(); ++g)
    setup.constraint_rotation[baths > 0 ? setup.bath_of_group[g] : 0] += of_group[g];
}

// The motion of atoms, as that of hydrogens that go as far, for which list_ages has figures. With m times the mass
// and the same forces everything happens in sqrt(m) times the time; and without hydrogen bonds, which turn
// hydrogens back, velocities last `kLonger` times as long: x(t) becomes c x(t / (c sqrt(m))). Sites have no mass.
// Layouts without lists cost next to nothing, and stay what they are. At constant energy nothing says how warm it
// will be; metals and semiconductors are often heated towards their melting points.
AtomMotion motion_of(const Setup& setup) {
  constexpr double kHydrogen = 1.008, kHeaviest = 4.5, kLonger = 2.5, kMeasuredAt = 300;
  constexpr double kOfCrystals = 800;
  double lightest = std::numeric_limits<double>::infinity();
  for (const double mass : setup.system.masses)
    if (mass > 0) lightest = std::min(lightest, mass);
  const StepPlan& plan = setup.plan;
  AtomMotion motion{plan.timestep, plan.baths.temperature, plan.buffer_fraction};
  const bool is_heavy = lightest > kHeaviest && std::isfinite(lightest);
  if (!is_heavy || !uses_lists(setup.system, setup.nonbonded)) return motion;
  motion.timestep /= kLonger * std::sqrt(lightest / kHydrogen);
  const bool is_crystal = setup.system.embedded || setup.system.three_body;
  const double unknown = is_crystal ? kOfCrystals : kMeasuredAt;
  const double warm = motion.temperature > 0 ? motion.temperature : unknown;
  motion.temperature = kLonger * kLonger * std::max(warm, kMeasuredAt);
  return motion;
}

}  // namespace

double Setup::constraint_loss() const {
  double sum = 0;
  for (size_t b = 0; b < plan.baths.constraint_loss.size(); ++b)
    sum += plan.baths.constraint_loss[b] * constraint_rotation[b];
  return sum;
}

void set_box(Setup& setup, const Cell& cell, std::optional<Int3> cells) {
  const bool open = std::holds_alternative<Spread>(cell);
  const bool lists = uses_lists(setup.system, setup.nonbonded);
  const double cutoff = lists ? setup.nonbonded.cutoff : kReachOfAllPairs;
  const auto& [small_radius, any_radius] = setup.group_radii;
  const double across = 2 * (open ? any_radius : small_radius);
  const double reach = cutoff + setup.lists.buffer + across, span = setup.term_span + across;
  if (open) {
    const Int3 patch_reach = setup.lists.patch_reach;
    const int least =
        std::min({patch_reach.x, patch_reach.y, patch_reach.z});  // open cells are cubes
    const OpenPatches patches(setup.nonbonded, width_of_open_patches(least, reach, span));
    const double width = patches.width;
    cells =
        patches.cells(open_cells(with_places(std::get<Spread>(cell), setup.held), width, cells));
    setup.grid = make_patch_grid(open_box(*cells, width), cutoff, patches.widened(reach),
                                 {least, least, least}, span, cells);
    setup.nonbonded.grid = patches.points_of(*cells);
    setup.grid.holds = Holds::kAll;
    setup.grid.layers_with_places = layers_with_places(setup.held, *cells, width);
  } else {
    const Int3 patch_reach = setup.lists.patch_reach;
    // Who asks for half as wide patches wants many of them.
    const bool may_be_wider = lists && patch_reach == kOneAway;
    const auto& [box, extent] = std::get<PeriodicCell>(cell);
    PatchGrid grid = make_patch_grid(box, cutoff, reach, patch_reach, span, cells,
                                     may_be_wider ? std::ssize(setup.system.masses) : 0);
    if (setup.system.has_large_groups())
      grid = with_room_for_groups(std::move(grid), small_radius, extent, cells);
    setup.grid = std::move(grid);
    if (std::ranges::any_of(setup.families, &Family::full_shell))
      setup.grid.holds = Holds::kFullShell;
  }
  setup.grid.grain = setup.lists.grain;
  if (setup.grid.grain == Grain::kPair && (!lists || setup.grid.holds != Holds::kNeighbours))
    throw Error(
        "pair lists by pair of patches (grain = pair) need a periodic box, a cutoff and forces of "
        "pairs: leave out grain");
  if (setup.nonbonded.has_fmm()) make_fmm_tables(setup);
  find_constants_in_box(setup);
}

void take_lambdas(Setup& setup, const Lambdas& lambdas) {
  if (!setup.by_lambda) return;
  setup.lambdas = lambdas;
  setup.self_energy = setup.by_lambda->self(lambdas.of[kLambdaCoulomb]);
  const double background = setup.by_lambda->background(lambdas.of[kLambdaCoulomb]);
  setup.background = {background, background};
  setup.dispersion = setup.by_lambda->dispersion(lambdas);
  find_constants_in_box(setup);
}

Setup make_setup(System system, const NonbondedSettings& nonbonded,
                 const IntegratorSettings& integrator, const ListSettings& lists, const Cell& cell,
                 std::optional<Int3> cells, std::vector<ExternalForce> external) {
  Setup setup;
  setup.external = std::move(external);
  setup.system = std::move(system);
  setup.nonbonded = nonbonded;
  setup.term_span = span_of_restraints(setup.system);
  setup.held = held_coordinates(setup.system);
  setup.families = families_of(setup.system, nonbonded, !std::holds_alternative<Spread>(cell));
  make_ghosts(setup);
  if (nonbonded.has_ewald_split())
    setup.term_span = std::max(setup.term_span, add_excluded_pairs(setup.system, nonbonded));
  const System& all = setup.system;
  find_baths(setup, integrator);
  setup.molecules = molecules_of(setup.system);
  setup.plan = make_step_plan(integrator, setup.degrees_of_freedom, setup.molecules.large());
  for (const ExternalForce& force : setup.external)
    setup.plan.update_every = std::gcd(setup.plan.update_every, force.update_every);
  if (!all.sites.empty()) place_sites_after_moves(setup.plan);
  const AtomMotion motion = motion_of(setup);
  const BuiltAnew what =
      uses_lists(setup.system, nonbonded) ? BuiltAnew::kLists : BuiltAnew::kLayout;
  setup.lists =
      resolve(lists, motion, {what, nonbonded.cutoff, setup.plan.asked_ends().shortest()});
  setup.plan.follow_lists(setup.lists.life);
  setup.ages = nonbonded.has_two_cutoffs()
                   ? list_ages(setup.lists, nonbonded.cutoff, nonbonded.coulomb_cutoff(), motion)
                   : list_ages(setup.lists, nonbonded.cutoff, motion);
  setup.group_radii = group_radii(all);
  add_site_groups(all, setup.group_radii);
  for (const MeshSettings& mesh : meshes_of(nonbonded))
    check_pme_grid(nonbonded.order, mesh.points);
  find_constants(setup);
  refuse_unsuited(setup, cell);
  set_box(setup, cell, cells);
  if (setup.system.alchemy) take_lambdas(setup, setup.system.alchemy->start);
  for (const CollectiveRestraint& restraint : setup.system.collective)
    setup.restraint_centres.push_back(restraint.path.front()[1]);
  setup.packed_pairs = pack_pairs(setup.system, nonbonded);
  setup.pairs = pair_parameters(setup.system, nonbonded, setup.packed_pairs.form);
  const auto& masses = setup.system.masses;
  setup.total_mass = std::accumulate(masses.begin(), masses.end(), 0.0);
  return setup;
}

}  // namespace quiltmd
