// SPDX-License-Identifier: Apache-2.0
// How nonbonded forces are computed, and what they add to the energy whatever the positions are.
#pragma once

#include "math/vec3.h"
#include "system/system.h"

namespace quiltmd {

struct NonbondedSettings {
  double cutoff = 0.9;
  bool pme = true;
  double alpha = 0;  // 1/nm
  Int3 grid{0, 0, 0};
  int order = 5;
  bool dispersion_correction = true;
  bool potential_shift = false;
};

// What does not depend on positions (kJ/mol): Ewald self energy and neutralising background, and the
// long-range dispersion correction.
struct Constant {
  double energy = 0;
  double virial = 0;  // each element of the diagonal
};
Constant ewald_constant(const System& system, const NonbondedSettings& settings, double volume);
Constant dispersion_constant(const System& system, const NonbondedSettings& settings,
                             double volume);

}  // namespace quiltmd
