// SPDX-License-Identifier: Apache-2.0
// The accumulators of energies, virial and kinetic energy that operations add to.
#pragma once

#include <iterator>

namespace quiltmd {

// Accumulators of energies and of what else has their unit, one int64 per kind. The virial and the
// kinetic tensor are symmetric: Symmetric::kParts kinds each, in its order. After these come the
// energies of the forms of bonded terms: see computes/energies.h.
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

// Features that only some systems have.
enum class Feature { kAny, kImplicitSolvent, kManyBody, kExpressions };

// Names in logs of the potential energies that force families add to, each where the system has its `feature`.
// kPairForm has the name of its first form, Lennard-Jones, for every form (docs/decisions.md); the dispersion
// on a mesh is counted with the correction for what lies beyond the cutoff.
struct FamilyEnergy {
  const char* name;
  Feature feature = Feature::kAny;
};
inline constexpr FamilyEnergy kFamilyEnergies[] = {{"lj"},
                                                   {"coulomb"},
                                                   {"pme"},
                                                   {"dispersion"},
                                                   {"polarisation", Feature::kImplicitSolvent},
                                                   {"surface", Feature::kImplicitSolvent},
                                                   {"many-body", Feature::kManyBody},
                                                   {"custom", Feature::kExpressions}};
static_assert(std::size(kFamilyEnergies) == kTermEnergies - kPotentialEnergies);

// Whether force operations add energies and virial, too.
enum class Energies { kSkip, kAdd };

}  // namespace quiltmd
