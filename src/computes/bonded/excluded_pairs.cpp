// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/excluded_pairs.h"

#include <algorithm>
#include <vector>

#include "computes/bonded/bond_paths.h"
#include "computes/bonded/forms/forms.h"

namespace quiltmd {
namespace {

double charge_product(const System& system, const std::array<int32_t, 2>& pair) {
  return system.charges[static_cast<size_t>(pair[0])] *
         system.charges[static_cast<size_t>(pair[1])];
}

// Of charges, each once, ascending.
std::vector<std::array<int32_t, 2>> charged_pairs(const System& system) {
  std::vector<std::array<int32_t, 2>> pairs;
  for (const auto& [i, j] : system.exclusions)
    if (i != j && charge_product(system, {i, j}) != 0)
      pairs.push_back({std::min(i, j), std::max(i, j)});
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace

double add_excluded_pairs(System& system, double cutoff, double alpha) {
  const auto pairs = charged_pairs(system);
  const Links links(system);
  Paths paths(links);
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
      const double given[] = {charge_product(system, *begin), alpha};
      system.terms_to_fill(ExcludedPairForm::kForm).add(*begin, given);
      farthest = std::max(farthest, lengths[k]);
    }
  }
  return farthest;
}

}  // namespace quiltmd
