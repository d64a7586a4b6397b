// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluate_reference.h"

#include <limits>

#include "computes/alchemy/constants.h"
#include "computes/dispersion_coefficients.h"
#include "computes/long_range/pme/setup.h"
#include "computes/nonbonded/pair_parameters.h"
#include "computes/places.h"
#include "computes/reference.h"
#include "decomposition/open_box.h"
#include "integrators/group_sites.h"
#include "math/error.h"

namespace quiltmd {
namespace {

void add_families(const ReferenceInput& in, const std::vector<Family>& families, Evaluation& out) {
  for (const Family& family : families) {
    if (!family.add_reference)
      throw Error("the reference in double precision does not have the forces of this system: " +
                  std::string(family.forces) + ". Evaluate it with a Simulation");
    family.add_reference(in, out);
  }
}

}  // namespace

ReferenceResult evaluate_reference(const System& input, const NonbondedSettings& settings,
                                   const std::optional<Box>& periodic,
                                   const std::vector<Vec3d>& positions,
                                   const std::vector<Family>& families) {
  const double reach = settings.has_cutoff() ? settings.cutoff : 0;
  System system = with_groups(input);
  const auto acting = families_of(system, settings, periodic.has_value(), families);
  if (system.alchemy) leave_ghosts(system);
  const Spread spread = with_places(spread_of(positions), held_coordinates(system));
  const Box box = periodic ? *periodic : box_around(spread, reach);
  std::vector<Vec3d> internal;
  for (const int32_t atom : system.input_index)
    internal.push_back(positions[static_cast<size_t>(atom)]);
  place_sites(system, internal);
  Evaluation out{std::vector<Vec3d>(internal.size(), Vec3d{0, 0, 0})};
  out.custom.resize(system.custom_energies.size());
  add_families({system, settings, box, periodic.has_value(), internal}, acting, out);
  System charged = system;  // what is on the mesh
  const double volume = periodic ? box.volume() : std::numeric_limits<double>::infinity();
  Constant dispersion = dispersion_constant(system, settings, volume);
  if (system.alchemy) {
    const Lambdas& lambdas = system.alchemy->start;
    charged.charges = charges_at(system, lambdas);
    const Constant by_density = lambda_constants(system, settings).dispersion(lambdas);
    dispersion = {by_density.energy / volume, by_density.virial / volume};
  }
  if (settings.has_pme()) reference_pme(charged, settings, box, internal, out);
  if (settings.has_fmm()) reference_fmm(system, settings, box, internal, out);
  reference_group_virial(system, box, internal, out);
  spread_forces(system, internal, out.forces);

  const Constant charges = constant_of_charges(charged, settings, volume);
  if (settings.has_dispersion_mesh())
    dispersion.energy += dispersion_self_energy(system, settings.dispersion_alpha);
  ReferenceResult result;
  result.energies = potential_energies(
      out.energy, {charges.energy, kind_of_constant(settings), dispersion.energy}, system);
  add_energies(result.energies, system.custom_energies, out.custom.data());
  result.forces.resize(internal.size());
  for (size_t i = 0; i < internal.size(); ++i)
    result.forces[static_cast<size_t>(system.input_index[i])] = out.forces[i];
  for (int k = 0; k < Symmetric::kParts; ++k)
    result.virial[k] = out.energy[static_cast<size_t>(kVirial + k)] +
                       (k < 3 ? charges.virial + dispersion.virial : 0);
  return result;
}

}  // namespace quiltmd
