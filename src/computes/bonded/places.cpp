// SPDX-License-Identifier: Apache-2.0
#include "computes/places.h"

#include "computes/bonded/forms/constant_force.h"
#include "computes/bonded/forms/position_restraint.h"

namespace quiltmd {

std::vector<HeldCoordinate> held_coordinates(const System& system) {
  constexpr size_t kPlace = 3, kStrength = 6,
                   kWeights = 8;  // of PositionRestraintForm::kParameters
  std::vector<HeldCoordinate> held;
  const Terms* terms = system.terms_of(PositionRestraintForm::kForm);
  for (int t = 0; terms && t < terms->count(); ++t) {
    const auto row = terms->parameters_of(t);
    for (int axis = 0; axis < 3; ++axis) {
      const auto d = static_cast<size_t>(axis);
      if (row[kStrength] * row[kWeights + d] > 0) held.push_back({axis, row[kPlace + d]});
    }
  }
  return held;
}

bool has_constant_forces(const System& system) {
  return system.terms_of(ConstantForceForm::kForm) != nullptr;
}

double constant_force_energy(const System& system, const std::vector<Vec3d>& positions) {
  constexpr size_t kForce = 6;  // of ConstantForceForm::kParameters
  double energy = 0;
  const Terms* terms = system.terms_of(ConstantForceForm::kForm);
  for (int t = 0; terms && t < terms->count(); ++t) {
    const auto row = terms->parameters_of(t);
    const Vec3d force{row[kForce], row[kForce + 1], row[kForce + 2]};
    energy -= dot(force, positions[static_cast<size_t>(terms->atoms_of(t)[0])]);
  }
  return energy;
}

}  // namespace quiltmd
