// SPDX-License-Identifier: Apache-2.0
#include "computes/energies.h"

namespace quiltmd {

std::map<std::string, double> potential_energies(const EnergyValues& energy,
                                                 const ConstantEnergies& constant,
                                                 Solvent solvent) {
  std::map<std::string, double> named;
  size_t kind = kPotentialEnergies;
  for (const auto& [name, least] : kFamilyEnergies) {
    if (solvent >= least) named[name] = energy[kind];
    ++kind;
  }
  named["dispersion"] += constant.dispersion;
  named[kFamilyEnergies[constant.of_charges - kPotentialEnergies].name] += constant.charges;
  TermForms::for_each([&]<class Form>(int) {
    for (const char* name : Form::kEnergies) named[name] += energy[kind++];
  });
  double sum = 0;
  for (const auto& [name, value] : named) sum += value;
  named["potential"] = sum;
  return named;
}

}  // namespace quiltmd
