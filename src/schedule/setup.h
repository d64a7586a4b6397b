// SPDX-License-Identifier: Apache-2.0
// What all ranks of a simulation share: the system, the settings, and everything derived from
// them and the box alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "computes/alchemy/constants.h"
#include "computes/energies.h"
#include "computes/external/provider.h"
#include "computes/force_family.h"
#include "computes/lists/list_ages.h"
#include "computes/long_range/fmm/tables.h"
#include "computes/nonbonded/pair_parameters.h"
#include "computes/nonbonded_settings.h"
#include "decomposition/open_box.h"
#include "decomposition/patch_grid.h"
#include "integrators/heat_baths.h"
#include "integrators/step_plan.h"
#include "system/molecules.h"
#include "system/system.h"

namespace quiltmd {

struct Setup {
  // Also with excluded pairs that may be beyond the cutoff as terms. Alchemical atoms are ghosts in it.
  System system;
  NonbondedSettings nonbonded;
  StepPlan plan;
  ListSettings lists;  // resolved: no zeros
  ListAges ages;
  PatchGrid grid;                    // of the box as it is now
  std::vector<HeldCoordinate> held;  // by position restraints
  PackedPairs packed_pairs;
  PairParameters pairs{};
  GroupRadii group_radii;  // of hydrogen groups
  double term_span = 0;    // atoms of restraints and of excluded pairs that are terms may be so far
                           // apart, nm
  double total_mass = 0;
  Molecules molecules;
  std::shared_ptr<const FmmTables> fmm;     // null where there is no such sum
  double restraint_strength = 1;            // see Conditions
  Lambdas lambdas{};                        // with take_lambdas()
  std::vector<double> restraint_centres;    // of collective restraints
  std::vector<uint8_t> bath_of_group;       // empty: one heat bath has all
  std::vector<double> constraint_rotation;  // by heat bath: of constraint_loss.h, 1/(amu nm^2)
  DegreesOfFreedom degrees_of_freedom;
  ConstantEnergies constants;
  double constant_virial = 0;  // of both, each element of the diagonal, kJ/mol
  // Parts that do not depend on the volume, and parts multiplied by its inverse, kJ/mol nm^3.
  double self_energy = 0, dispersion_self_energy = 0;
  Constant background, dispersion;
  std::optional<LambdaConstants> by_lambda;  // of these three, where atoms are alchemical
  double energy_by_density() const { return background.energy + dispersion.energy; }
  double virial_by_density() const { return background.virial + dispersion.virial; }

  double constraint_loss() const;  // kJ/mol, in a step

  std::vector<ExternalForce> external;  // atoms by internal index
  // The energies of the core, then one for each external force, and then those of custom forces.
  int custom_energies() const { return kEnergyKinds + static_cast<int>(external.size()); }
  int energy_kinds() const {
    return custom_energies() + static_cast<int>(system.custom_energies.size());
  }

  // All, with what lies behind the energies: sums of alchemical atoms, and values of collective restraints last.
  int accumulators() const {
    const int energies = system.alchemy ? AlchemicalSums::kinds(system) : energy_kinds();
    return energies + static_cast<int>(system.collective.size());
  }

  std::vector<Family> families;  // that act in the system
};

// Lambdas of alchemical atoms, and the constants that go with them in the present box.
void take_lambdas(Setup& setup, const Lambdas& lambdas);

// A periodic box, and how far atoms of large hydrogen groups are from the first one, nm.
struct PeriodicCell {
  Box box;
  double extent = 0;
};
// Space of the atoms: a periodic box, or none (decomposition/open_box.h).
using Cell = std::variant<PeriodicCell, Spread>;

// Changes the cell and what follows from it. `cells`: of the present patch grid, if there is one. Throws
// Error, and changes nothing, when a box does not suit the cutoff or the lists.
void set_box(Setup& setup, const Cell& cell, std::optional<Int3> cells);

// Derive a setup. Throws Error when the box does not suit the cutoff or the lists.
Setup make_setup(System system, const NonbondedSettings& nonbonded,
                 const IntegratorSettings& integrator, const ListSettings& lists, const Cell& cell,
                 std::optional<Int3> cells = {}, std::vector<ExternalForce> external = {});

}  // namespace quiltmd
