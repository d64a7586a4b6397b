// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/constants.h"

#include "computes/long_range/pme/setup.h"
#include "computes/nonbonded/pair_parameters.h"

namespace quiltmd {

LambdaConstants lambda_constants(const System& ghosts, const NonbondedSettings& settings) {
  System ends[] = {ghosts, ghosts};
  for (size_t e = 0; e < 2; ++e) ends[e].pair_types = pair_types_at(ghosts, e);
  const double at[] = {0, 0.5, 1};
  double self[3], background[3];
  for (size_t k = 0; k < 3; ++k) {
    ends[0].charges = charges_at(ghosts, {{at[k]}});
    const Constant found = constant_of_charges(ends[0], settings, 1);
    self[k] = found.energy - found.virial;
    background[k] = found.virial;
  }
  return {Quadratic::through(self[0], self[1], self[2]),
          Quadratic::through(background[0], background[1], background[2]),
          dispersion_constant(ends[0], settings, 1), dispersion_constant(ends[1], settings, 1)};
}

}  // namespace quiltmd
