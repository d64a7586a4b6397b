// SPDX-License-Identifier: Apache-2.0
#include "computes/energies.h"

namespace quiltmd {

std::set<Feature> features_of(const System& system) {
  std::set<Feature> found{Feature::kAny};
  if (system.solvent) found.insert(Feature::kImplicitSolvent);
  if (system.embedded || system.three_body) found.insert(Feature::kManyBody);
  if (!system.expressions.empty() || !system.pair_expressions.empty())
    found.insert(Feature::kExpressions);
  return found;
}

std::map<std::string, double> potential_energies(const EnergyValues& energy,
                                                 const ConstantEnergies& constant,
                                                 const std::set<Feature>& features) {
  std::map<std::string, double> named;
  size_t kind = kPotentialEnergies;
  for (const auto& [name, feature] : kFamilyEnergies) {
    if (features.contains(feature)) named[name] = energy[kind];
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
