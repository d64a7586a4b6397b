// SPDX-License-Identifier: Apache-2.0
// Double-precision reference of every force term: plain loops over plain arrays, no patches, no
// clusters, no polynomials. Slow on purpose; every device is tested against it.
#pragma once

#include <vector>

#include "computes/energies.h"
#include "computes/nonbonded_settings.h"
#include "math/symmetric.h"
#include "system/system.h"

namespace quiltmd {

// Arguments of a family's reference.
struct ReferenceInput {
  const System& system;  // in internal order; alchemical atoms are ghosts
  const NonbondedSettings& nonbonded;
  const Box& box;
  bool periodic;                        // false: the box is only one around all atoms
  const std::vector<Vec3d>& positions;  // nm, any image
};

// Forces have a place for every atom, and are added to.
struct Evaluation {
  std::vector<Vec3d> forces;  // kJ/mol/nm, internal order
  EnergyValues energy{};
  std::vector<double> custom;  // energies with names of their own: System::custom_energies

  // Where the energy of a force is counted.
  double& energy_of(const CustomForce& force) {
    return force.energy < 0 ? energy[kCustom] : custom.at(static_cast<size_t>(force.energy));
  }
  void add_virial(const Symmetric& virial) {
    for (int k = 0; k < Symmetric::kParts; ++k)
      energy[static_cast<size_t>(kVirial + k)] += virial[k];
  }
};

// Each adds to `out`; the virial is that of single atoms. Positions in internal order, nm, any image.
// `energy_by_image`: what energies that depend on the image of an atom are multiplied by.
void reference_bonded(const System& system, const Box& box, const std::vector<Vec3d>& positions,
                      Evaluation& out, double energy_by_image = 1);
void reference_pairs(const System& system, const NonbondedSettings& settings, const Box& box,
                     const std::vector<Vec3d>& positions, Evaluation& out);
// Implicit solvent, where the system has one: no periodic box.
void reference_solvent(const System& system, const NonbondedSettings& settings,
                       const std::vector<Vec3d>& positions, Evaluation& out);
void reference_pme(const System& system, const NonbondedSettings& settings, const Box& box,
                   const std::vector<Vec3d>& positions, Evaluation& out);
void reference_fmm(const System& system, const NonbondedSettings& settings, const Box& box,
                   const std::vector<Vec3d>& positions, Evaluation& out);

// Alchemical atoms at the lambdas that they start with; the mesh has charges_at(ghosts, lambdas).
void reference_alchemy(const ReferenceInput& in, Evaluation& out);

// From the virial of single atoms to that of hydrogen groups, which move as a whole when the box
// changes: takes away (r - centre of mass) (x) force of every atom. To be called last.
void reference_group_virial(const System& system, const Box& box,
                            const std::vector<Vec3d>& positions, Evaluation& out);

}  // namespace quiltmd
