// SPDX-License-Identifier: Apache-2.0
// Whether a Lennard-Jones table follows the Lorentz-Berthelot rules (arithmetic mean of sigma,
// geometric mean of epsilon) for the types that atoms have. If so kernels carry two numbers per atom in place of a table look-up
// per pair. Amber's force fields do; CHARMM's with NBFIX do not.
#pragma once

#include <vector>

#include "system/system.h"

namespace quiltmd {

// Parameters of the rules, if the table of the system follows them: for each type sigma (nm) and epsilon
// (kJ/mol).
struct LorentzBerthelot {
  bool holds = false;
  std::vector<double> sigma, epsilon;
};
LorentzBerthelot lorentz_berthelot(const System& system);

}  // namespace quiltmd
