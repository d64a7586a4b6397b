// SPDX-License-Identifier: Apache-2.0
// The accumulators of energies, virial and kinetic energy that operations add to.
#pragma once

namespace quiltmd {

// Accumulators of energies and of what else has their unit, one int64 per kind. The virial and the
// kinetic tensor are symmetric: Symmetric::kParts kinds each, in its order. The potential energies of force
// families have their names in computes/energies.cpp. After these come the energies of the forms of bonded
// terms: see computes/energies.h.
enum EnergyKind {
  kHeat,  // given by thermostat and barostat; accumulates, while all others are cleared for each step
  kKinetic,
  kVirial,  // of hydrogen groups: minus the derivative of the energy by a strain of the box
  kKineticTensor = kVirial + 6,  // momentum (x) momentum / mass, summed over hydrogen groups
  kPotentialEnergies = kKineticTensor + 6,  // all from here on
  kPairForm = kPotentialEnergies,
  kCoulombDirect,
  kReciprocal,
  kDispersionMesh,
  kPolarisation,  // of implicit solvent
  kSurface,
  kManyBody,  // of embedded atoms and three-body potentials
  kCustom,    // of forces by expressions
  kTermEnergies
};

// Whether force operations add energies and virial, too.
enum class Energies { kSkip, kAdd };

}  // namespace quiltmd
