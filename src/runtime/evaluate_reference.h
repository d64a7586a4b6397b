// SPDX-License-Identifier: Apache-2.0
// Energies, forces and virial of a system by the double-precision reference, as users see them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "computes/force_family.h"
#include "computes/nonbonded_settings.h"
#include "math/symmetric.h"
#include "system/system.h"

namespace quiltmd {

struct ReferenceResult {
  std::map<std::string, double> energies;  // kJ/mol, by name
  std::vector<Vec3d> forces;               // kJ/mol/nm
  Symmetric virial{};                      // of hydrogen groups, kJ/mol
};

// System, positions (nm, any image) and forces in the order of the input. Without a box there is no
// periodic boundary. Throws Error, naming its forces, for a family that has no reference.
ReferenceResult evaluate_reference(const System& input, const NonbondedSettings& settings,
                                   const std::optional<Box>& box,
                                   const std::vector<Vec3d>& positions,
                                   const std::vector<Family>& families = force_families());

}  // namespace quiltmd
