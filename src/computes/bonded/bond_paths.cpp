// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/bond_paths.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "computes/bonded/forms/forms.h"
#include "math/error.h"

namespace quiltmd {
namespace {

constexpr double kInfinite = kUnbounded;

// Largest energy of a stretched bond, in kJ/mol: 40 kT at room temperature.
constexpr double kMaxEnergy = 100;

// Largest distance of a site from its first parent, from which the other parents are `length`. For up to
// three parents the sums are in one plane, perpendicular to z and the cross product.
double farthest(const Site& site, const std::vector<double>& length) {
  double origin = 0, x = 0, y = 0;
  for (size_t p = 1; p < length.size(); ++p) {
    if (length[p] == kInfinite) return kInfinite;
    origin += std::fabs(site.origin[p]) * length[p];
    x += std::fabs(site.x[p]) * length[p];
    y += std::fabs(site.y[p]) * length[p];
  }
  const double inside = origin + std::hypot(site.local.x, site.local.y);
  const double outside = std::fabs(site.local.z) + std::fabs(site.cross) * x * y;
  return length.size() <= 3 ? std::hypot(inside, outside) : inside + outside;
}

}  // namespace

BondGraph::BondGraph(const System& system) : of_(static_cast<size_t>(system.atom_count())) {
  for (size_t c = 0; c < system.constraints.size(); ++c)
    add(system.constraints[c][0], system.constraints[c][1], system.constraint_lengths[c]);
  TermForms::for_each([&]<class Form>(int) {
    if constexpr (kHoldsAtoms<Form>)
      if (const Terms* terms = system.terms_of(Form::kForm)) add_terms<Form>(*terms);
  });
  add_sites(system.sites);
}

template <class Form>
void BondGraph::add_terms(const Terms& terms) {
  for (int t = 0; t < terms.count(); ++t) {
    const double length = Form::longest(terms.parameters_of(t).data(), kMaxEnergy);
    if (length < kInfinite) add(terms.atoms_of(t)[0], terms.atoms_of(t)[1], length);
  }
}

void BondGraph::add_sites(const std::vector<Site>& sites) {
  std::vector<double> from_parent;
  Paths paths(*this);
  for (const Site& site : sites)
    from_parent.push_back(
        farthest(site, paths.find(site.parent[0], {site.parent, site.parent + site.parents})));
  for (size_t k = 0; k < sites.size(); ++k)
    if (from_parent[k] < kInfinite) add(sites[k].atom, sites[k].parent[0], from_parent[k]);
}

void BondGraph::add(int32_t i, int32_t j, double length) {
  of_[static_cast<size_t>(i)].push_back({j, length});
  of_[static_cast<size_t>(j)].push_back({i, length});
}

Paths::Paths(const BondGraph& graph) : graph_(graph), length_(static_cast<size_t>(graph.atoms())) {
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
    for (const Link& link : graph_.of(atom)) reach(link.to, length + link.length);
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

void add_site_groups(const System& system, GroupRadii& radii) {
  if (system.sites.empty()) return;
  const BondGraph graph(system);
  Paths paths(graph);
  for (int g = 0; g < system.group_count(); ++g) {
    const int32_t first = system.group_start[static_cast<size_t>(g)];
    const int32_t end = system.group_start[static_cast<size_t>(g) + 1];
    if (system.end_of_masses(g) == end) continue;
    std::vector<int32_t> atoms(static_cast<size_t>(end - first));
    std::iota(atoms.begin(), atoms.end(), first);
    const std::vector<double> lengths = paths.find(first, atoms);
    const auto farthest = std::max_element(lengths.begin(), lengths.end());
    if (*farthest == kInfinite) {
      const auto atom = static_cast<size_t>(first + (farthest - lengths.begin()));
      throw Error("no bonds or constraints connect atom " +
                  std::to_string(system.input_index[atom]) +
                  " (counted from 0) with the other parents of its virtual site, or with the site: "
                  "add the bonds that are missing");
    }
    radii.add(*farthest, system.is_large(g));
  }
}

double span_of_restraints(const System& system) {
  std::vector<const Terms*> restraints;
  TermForms::for_each([&]<class Form>(int) {
    if constexpr (kRestrains<Form> && kApart<Form>)
      if (const Terms* terms = system.terms_of(Form::kForm)) restraints.push_back(terms);
  });
  if (restraints.empty()) return 0;
  double farthest = 0;
  const BondGraph graph(system);
  Paths paths(graph);
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
