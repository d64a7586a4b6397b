// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/constants.h"

#include "computes/long_range/pme/setup.h"
#include "computes/nonbonded/pair_parameters.h"

namespace quiltmd {

LambdaConstants lambda_constants(const System& ghosts, const NonbondedSettings& settings) {
  System full = ghosts;
  const Alchemy& alchemy = *ghosts.alchemy;
  for (size_t k = 0; k < alchemy.atoms.size(); ++k)
    full.pair_types[static_cast<size_t>(alchemy.atoms[k])] = alchemy.pair_types[k];
  const double at[] = {0, 0.5, 1};
  double self[3], background[3];
  for (size_t k = 0; k < 3; ++k) {
    full.charges = charges_at(ghosts, {{at[k], 0}});
    const Constant found = constant_of_charges(full, settings, 1);
    self[k] = found.energy - found.virial;
    background[k] = found.virial;
  }
  return {Quadratic::through(self[0], self[1], self[2]),
          Quadratic::through(background[0], background[1], background[2]),
          dispersion_constant(full, settings, 1), dispersion_constant(ghosts, settings, 1)};
}

}  // namespace quiltmd
