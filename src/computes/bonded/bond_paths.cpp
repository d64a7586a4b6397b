// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/bond_paths.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "computes/bonded/forms/forms.h"

namespace quiltmd {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// That a bond may hold, in kJ/mol: 40 kT at room temperature.
constexpr double kMostEnergy = 100;

// How far a spring that pulls with up to k * most is stretched by that energy.
double farthest_stretch(double k, double most) {
  const double linear_from = 0.5 * k * most * most;
  return linear_from >= kMostEnergy ? std::sqrt(2 * kMostEnergy / k)
                                    : kMostEnergy / (k * most) + most / 2;
}

}  // namespace

Links::Links(const System& system) : of_(static_cast<size_t>(system.atom_count())) {
  for (size_t c = 0; c < system.constraints.size(); ++c)
    add(system.constraints[c][0], system.constraints[c][1], system.constraint_lengths[c]);
  for (const TermForm* form : {&BondForm::kForm, &UreyBradleyForm::kForm})
    if (const Terms* bonds = system.terms_of(*form))
      for (int t = 0; t < bonds->count(); ++t) {
        const double length = bonds->parameters_of(t)[0], k = bonds->parameters_of(t)[1];
        if (k > 0)
          add(bonds->atoms_of(t)[0], bonds->atoms_of(t)[1],
              length + farthest_stretch(k, kInfinite));
      }
  if (const Terms* springs = system.terms_of(DistanceRestraintForm::kForm))
    for (int t = 0; t < springs->count(); ++t) {
      const auto p = springs->parameters_of(t);
      const double upper = p[1], most = p[2] - upper, k = p[3];
      if (k > 0 && most > 0)
        add(springs->atoms_of(t)[0], springs->atoms_of(t)[1], upper + farthest_stretch(k, most));
    }
}

void Links::add(int32_t i, int32_t j, double length) {
  of_[static_cast<size_t>(i)].push_back({j, length});
  of_[static_cast<size_t>(j)].push_back({i, length});
}

Paths::Paths(const Links& links) : links_(links), length_(static_cast<size_t>(links.atoms())) {
  std::fill(length_.begin(), length_.end(), kInfinite);
}

std::vector<double> Paths::find(int32_t from, const std::vector<int32_t>& ends) {
  reach(from, 0);
  size_t missing = ends.size();
  while (!open_.empty() && missing > 0) {
    const auto [length, atom] = open_.top();
    open_.pop();
    if (length > length_[static_cast<size_t>(atom)]) continue;
    if (std::find(ends.begin(), ends.end(), atom) != ends.end()) --missing;
    for (const Link& link : links_.of(atom)) reach(link.to, length + link.length);
  }
  std::vector<double> found;
  for (const int32_t end : ends) found.push_back(length_[static_cast<size_t>(end)]);
  for (const int32_t atom : reached_) length_[static_cast<size_t>(atom)] = kInfinite;
  reached_.clear();
  open_ = {};
  return found;
}

void Paths::reach(int32_t atom, double length) {
  double& known = length_[static_cast<size_t>(atom)];
  if (length >= known) return;
  known = length;
  reached_.push_back(atom);
  open_.emplace(length, atom);
}

double span_of_restraints(const System& system) {
  std::vector<const Terms*> restraints;
  for (const TermForm* form :
       {&DistanceRestraintForm::kForm, &AngleRestraintForm::kForm, &TorsionRestraintForm::kForm})
    if (const Terms* terms = system.terms_of(*form)) restraints.push_back(terms);
  if (restraints.empty()) return 0;
  double farthest = 0;
  const Links links(system);
  Paths paths(links);
  for (const Terms* terms : restraints)
    for (int t = 0; t < terms->count(); ++t) {
      const auto atoms = terms->atoms_of(t);
      for (const int32_t from : atoms)
        for (const double length : paths.find(from, {atoms.begin(), atoms.end()}))
          farthest = std::max(farthest, length);
    }
  return farthest;
}

}  // namespace quiltmd
