// SPDX-License-Identifier: Apache-2.0
#include "computes/energies.h"

namespace quiltmd {

std::map<std::string, double> potential_energies(const EnergyValues& energy,
                                                 const ConstantEnergies& constant,
                                                 Solvent solvent) {
  std::map<std::string, double> named{{"lj", energy[kPairForm]},
                                      {"coulomb", energy[kCoulombDirect]},
                                      {"pme", energy[kReciprocal] + constant.ewald},
                                      {"dispersion", constant.dispersion}};
  if (solvent == Solvent::kImplicit) {
    named["polarisation"] = energy[kPolarisation];
    named["surface"] = energy[kSurface];
  }
  size_t kind = kTermEnergies;
  TermForms::for_each([&]<class Form>(int) {
    for (const char* name : Form::kEnergies) named[name] += energy[kind++];
  });
  double sum = 0;
  for (const auto& [name, value] : named) sum += value;
  named["potential"] = sum;
  return named;
}

}  // namespace quiltmd
