// SPDX-License-Identifier: Apache-2.0
#include "computes/energies.h"

#include <algorithm>

namespace quiltmd {

std::set<Feature> features_of(const System& system) {
  std::set<Feature> found{Feature::kAny};
  if (system.solvent) found.insert(Feature::kImplicitSolvent);
  if (system.embedded || system.three_body) found.insert(Feature::kManyBody);
  const auto is_unnamed = [](const CustomForce& force) { return force.energy < 0; };
  if (std::ranges::any_of(system.expressions, is_unnamed) ||
      std::ranges::any_of(system.pair_expressions, is_unnamed))
    found.insert(Feature::kExpressions);
  return found;
}

void add_energies(std::map<std::string, double>& named, const std::vector<std::string>& names,
                  const double* values) {
  for (size_t k = 0; k < names.size(); ++k) {
    named[names[k]] += values[k];
    named["potential"] += values[k];
  }
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
