// SPDX-License-Identifier: Apache-2.0
// Energies by kind, those of bonded forms included, and their names in logs.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "computes/bonded/forms/forms.h"
#include "decomposition/energies.h"
#include "system/system.h"

namespace quiltmd {

// The first energy of each form; after the last of the list, the number of all kinds.
inline constexpr std::array<int, kTermForms + 1> kFirstEnergy = [] {
  std::array<int, kTermForms + 1> first{kTermEnergies};
  TermForms::for_each([&first]<class Form>(int k) {
    first[static_cast<size_t>(k) + 1] = first[static_cast<size_t>(k)] + kEnergiesOf<Form>;
  });
  return first;
}();
inline constexpr int kEnergyKinds = kFirstEnergy[kTermForms];

template <class Form>
inline constexpr int kEnergyOf = kFirstEnergy[TermForms::index_of<Form>()];

// Entries after the kinds of energies, for alchemical atoms in steps with energies.
struct AlchemicalSums {
  // Energies of the mesh of the change of charges, all kinds up to kTermEnergies: kReciprocal is half the
  // product of the change with itself.
  static constexpr int kMesh = kEnergyKinds;
  static constexpr int kMeshSlope = kMesh + kTermEnergies;  // its product with the charges
  static constexpr int kSlopes = kMeshSlope + 1;            // of pairs: derivatives by each lambda
  static constexpr int kStates = kSlopes + kLambdas;  // of pairs: each state less the present one

  static int kinds(const System& system) {
    if (!system.alchemy) return kEnergyKinds;
    return kStates + static_cast<int>(system.alchemy->states.size());
  }
};

using EnergyValues = std::array<double, kEnergyKinds>;  // kJ/mol

// Energies that depend on the box alone, kJ/mol.
struct ConstantEnergies {
  double charges = 0;                   // see constant_of_charges
  EnergyKind of_charges = kReciprocal;  // kind in the sums
  double dispersion = 0;  // long-range dispersion correction, or self energy on the mesh
};

// Adds potential energies with names of their own to those by name, and to their sum.
void add_energies(std::map<std::string, double>& named, const std::vector<std::string>& names,
                  const double* values);

// Potential energies of a system by name, and their sum as "potential".
std::map<std::string, double> potential_energies(const EnergyValues& energy,
                                                 const ConstantEnergies& constant,
                                                 const System& system);

}  // namespace quiltmd
