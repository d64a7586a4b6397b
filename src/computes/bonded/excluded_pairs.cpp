// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/excluded_pairs.h"

#include <algorithm>
#include <vector>

#include "computes/bonded/bond_paths.h"
#include "computes/bonded/forms/forms.h"
#include "computes/dispersion_coefficients.h"

namespace quiltmd {
namespace {

// Contributions of meshes to a pair: products of charges and of dispersion coefficients.
class MeshPairs {
 public:
  MeshPairs(const System& system, bool dispersion) : system_(system) {
    if (dispersion) coefficients_ = dispersion_coefficients(system);
  }
  double charges(const std::array<int32_t, 2>& pair) const {
    return product(system_.charges, pair);
  }
  double dispersion(const std::array<int32_t, 2>& pair) const {
    return coefficients_.empty() ? 0 : product(coefficients_, pair);
  }

  // The excluded pairs that are on some mesh, each once, ascending.
  std::vector<std::array<int32_t, 2>> excluded() const {
    std::vector<std::array<int32_t, 2>> pairs;
    for (const auto& [i, j] : system_.exclusions)
      if (i != j && (charges({i, j}) != 0 || dispersion({i, j}) != 0))
        pairs.push_back({std::min(i, j), std::max(i, j)});
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    return pairs;
  }

 private:
  static double product(const std::vector<double>& of, const std::array<int32_t, 2>& pair) {
    return of[static_cast<size_t>(pair[0])] * of[static_cast<size_t>(pair[1])];
  }

  const System& system_;
  std::vector<double> coefficients_;
};

void add_term(System& system, const NonbondedSettings& settings, const std::array<int32_t, 2>& pair,
              double charges) {
  if (!settings.has_prolate_split()) {
    const double given[] = {charges, settings.alpha};
    system.terms_to_fill(ExcludedPairForm::kForm).add(pair, given);
    return;
  }
  const double given[] = {charges, settings.coulomb_cutoff()};
  Terms& terms = system.terms_to_fill(ExcludedPairProlateForm::kForm);
  terms.shared = {settings.bandwidth};
  terms.shared_rows = 1;
  terms.add(pair, given);
}

}  // namespace

std::vector<std::array<int32_t, 2>> excluded_pairs_of_terms(const System& system) {
  std::vector<std::array<int32_t, 2>> pairs;
  for (const TermForm* form : {&ExcludedPairForm::kForm, &ExcludedPairProlateForm::kForm})
    if (const Terms* terms = system.terms_of(*form))
      for (int t = 0; t < terms->count(); ++t)
        pairs.push_back({terms->atoms_of(t)[0], terms->atoms_of(t)[1]});
  return pairs;
}

double add_excluded_pairs(System& system, const NonbondedSettings& settings) {
  const MeshPairs on_mesh(system, settings.has_dispersion_mesh());
  const auto pairs = on_mesh.excluded();
  const BondGraph graph(system);
  Paths paths(graph);
  double farthest = 0;
  std::vector<int32_t> partners;
  for (auto begin = pairs.begin(); begin != pairs.end();) {
    const auto end =
        std::find_if(begin, pairs.end(), [&](const auto& pair) { return pair[0] != (*begin)[0]; });
    partners.clear();
    for (auto pair = begin; pair != end; ++pair) partners.push_back((*pair)[1]);
    const std::vector<double> lengths = paths.find((*begin)[0], partners);
    for (size_t k = 0; k < lengths.size(); ++k, ++begin) {
      if (lengths[k] < settings.coulomb_cutoff()) continue;
      add_term(system, settings, *begin, on_mesh.charges(*begin));
      if (settings.has_dispersion_mesh()) {
        const double of_dispersion[] = {on_mesh.dispersion(*begin), settings.dispersion_alpha};
        system.terms_to_fill(ExcludedDispersionForm::kForm).add(*begin, of_dispersion);
      }
      farthest = std::max(farthest, lengths[k]);
    }
  }
  return farthest;
}

}  // namespace quiltmd
