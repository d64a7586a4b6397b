// SPDX-License-Identifier: Apache-2.0
#include "computes/energies.h"

#include <algorithm>

namespace quiltmd {
namespace {

bool is_any(const System&) { return true; }
bool has_solvent(const System& system) { return system.solvent.has_value(); }
bool has_many_body(const System& system) { return system.embedded || system.three_body; }
bool has_unnamed_expressions(const System& system) {
  const auto is_unnamed = [](const CustomForce& force) { return force.energy < 0; };
  return std::ranges::any_of(system.expressions, is_unnamed) ||
         std::ranges::any_of(system.pair_expressions, is_unnamed);
}

// Potential energies to which force families add, in the order of the kinds: the name in logs, and which systems
// have it. kPairForm has the name of its first form, Lennard-Jones, for every form (docs/decisions.md); the
// dispersion on a mesh is counted with the correction for what lies beyond the cutoff.
struct FamilyEnergy {
  EnergyKind kind;
  const char* name;
  bool (*is_of)(const System&);
};
constexpr FamilyEnergy kFamilyEnergies[] = {{kPairForm, "lj", is_any},
                                            {kCoulombDirect, "coulomb", is_any},
                                            {kReciprocal, "pme", is_any},
                                            {kDispersionMesh, "dispersion", is_any},
                                            {kPolarisation, "polarisation", has_solvent},
                                            {kSurface, "surface", has_solvent},
                                            {kManyBody, "many-body", has_many_body},
                                            {kCustom, "custom", has_unnamed_expressions}};
static_assert([] {
  int kind = kPotentialEnergies;
  for (const FamilyEnergy& energy : kFamilyEnergies)
    if (energy.kind != kind++) return false;
  return kind == kTermEnergies;
}());

}  // namespace

void add_energies(std::map<std::string, double>& named, const std::vector<std::string>& names,
                  const double* values) {
  for (size_t k = 0; k < names.size(); ++k) {
    named[names[k]] += values[k];
    named["potential"] += values[k];
  }
}

std::map<std::string, double> potential_energies(const EnergyValues& energy,
                                                 const ConstantEnergies& constant,
                                                 const System& system) {
  std::map<std::string, double> named;
  for (const FamilyEnergy& family : kFamilyEnergies)
    if (family.is_of(system)) named[family.name] = energy[family.kind];
  named["dispersion"] += constant.dispersion;
  named[kFamilyEnergies[constant.of_charges - kPotentialEnergies].name] += constant.charges;
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
