// SPDX-License-Identifier: Apache-2.0
// Two atoms are no farther apart than the shortest path along bonds and constraints is long, each bond
// stretched as far as it will ever be (Dijkstra's algorithm, from every atom with excluded partners).
#include "computes/bonded/excluded_pairs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "computes/bonded/forms/forms.h"

namespace quiltmd {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// That a bond may hold, in kJ/mol: 40 kT at room temperature.
constexpr double kMostEnergy = 100;

struct Link {
  int32_t to;
  double length;  // at most, nm
};

class Links {
 public:
  explicit Links(const System& system) : of_(static_cast<size_t>(system.atom_count())) {
    for (size_t c = 0; c < system.constraints.size(); ++c)
      add(system.constraints[c][0], system.constraints[c][1], system.constraint_lengths[c]);
    for (const TermForm* form : {&BondForm::kForm, &UreyBradleyForm::kForm})
      if (const Terms* bonds = system.terms_of(*form))
        for (int t = 0; t < bonds->count(); ++t) {
          const double length = bonds->parameters_of(t)[0], k = bonds->parameters_of(t)[1];
          if (k > 0)
            add(bonds->atoms_of(t)[0], bonds->atoms_of(t)[1],
                length + std::sqrt(2 * kMostEnergy / k));
        }
  }
  const std::vector<Link>& of(int32_t atom) const { return of_[static_cast<size_t>(atom)]; }

 private:
  void add(int32_t i, int32_t j, double length) {
    of_[static_cast<size_t>(i)].push_back({j, length});
    of_[static_cast<size_t>(j)].push_back({i, length});
  }
  std::vector<std::vector<Link>> of_;
};

// Lengths of shortest paths, from one atom after another.
class Paths {
 public:
  Paths(const Links& links, int atoms) : links_(links), length_(static_cast<size_t>(atoms)) {
    std::fill(length_.begin(), length_.end(), kInfinite);
  }

  // To each of `ends`; infinite where there is none.
  std::vector<double> find(int32_t from, const std::vector<int32_t>& ends) {
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

 private:
  using Place = std::pair<double, int32_t>;

  void reach(int32_t atom, double length) {
    double& known = length_[static_cast<size_t>(atom)];
    if (length >= known) return;
    known = length;
    reached_.push_back(atom);
    open_.emplace(length, atom);
  }

  const Links& links_;
  std::vector<double> length_;
  std::vector<int32_t> reached_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> open_;
};

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
  Paths paths(links, system.atom_count());
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
