// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/excluded_pairs.h"

#include <algorithm>
#include <vector>

#include "computes/bonded/bond_paths.h"
#include "computes/bonded/forms/forms.h"
#include "computes/dispersion_coefficients.h"

namespace quiltmd {
namespace {

// Of what meshes have of a pair: products of charges and of coefficients of the dispersion.
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

}  // namespace

double add_excluded_pairs(System& system, double cutoff, double alpha,
                          std::optional<double> mesh_alpha) {
  const MeshPairs on_mesh(system, mesh_alpha.has_value());
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
      if (lengths[k] < cutoff) continue;
      const double given[] = {on_mesh.charges(*begin), alpha};
      system.terms_to_fill(ExcludedPairForm::kForm).add(*begin, given);
      if (mesh_alpha) {
        const double of_dispersion[] = {on_mesh.dispersion(*begin), *mesh_alpha};
        system.terms_to_fill(ExcludedDispersionForm::kForm).add(*begin, of_dispersion);
      }
      farthest = std::max(farthest, lengths[k]);
    }
  }
  return farthest;
}

}  // namespace quiltmd
