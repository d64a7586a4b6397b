// SPDX-License-Identifier: Apache-2.0
// Energies by kind, those of bonded forms included, and their names in logs.
#pragma once

#include <array>
#include <map>
#include <string>

#include "computes/bonded/forms/forms.h"
#include "decomposition/energies.h"

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

using EnergyValues = std::array<double, kEnergyKinds>;  // kJ/mol

// Energies that depend on the box alone, kJ/mol.
struct ConstantEnergies {
  double charges = 0;                   // see constant_of_charges
  EnergyKind of_charges = kReciprocal;  // what it is counted as
  double dispersion = 0;  // long-range dispersion correction, or self energy on the mesh
};

// Potential energies by name, those of an implicit solvent where there is one, and their sum as
// "potential".
std::map<std::string, double> potential_energies(const EnergyValues& energy,
                                                 const ConstantEnergies& constant,
                                                 Solvent solvent = Solvent::kNone);

}  // namespace quiltmd
