// SPDX-License-Identifier: Apache-2.0
#include "computes/alchemy/physics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "computes/bonded/bond_paths.h"
#include "computes/long_range/ewald_split.h"
#include "math/error.h"
#include "math/prolate.h"

namespace quiltmd {
namespace {

std::vector<char> marks_of(const System& system) {
  std::vector<char> marks(static_cast<size_t>(system.atom_count()), 0);
  for (const int32_t atom : system.alchemy->atoms) marks[static_cast<size_t>(atom)] = 1;
  return marks;
}

// Powers that change neither value nor slope in double precision within the cutoff are left out.
std::vector<double> shortened(std::vector<double> series) {
  double rest = 0;
  const auto small = [&](double power) {
    rest += static_cast<double>(series.size()) * std::abs(power);
    return rest < 1e-17 * std::abs(series[0]);
  };
  while (series.size() > 1 && small(series.back())) series.pop_back();
  if (series.size() % 2) series.push_back(0);
  return series;
}

}  // namespace

void refuse_unsuited_to_alchemy(const System& system, const NonbondedSettings& settings, bool) {
  const auto refuse = [](bool is_so, const char* what) {
    if (is_so) throw Error(std::string("alchemical atoms cannot be combined with ") + what);
  };
  refuse(!settings.has_pme(), "electrostatics other than PME so far: choose the method pme");
  refuse(settings.has_dispersion_mesh(), "Lennard-Jones PME: choose lennard_jones = cutoff");
  refuse(settings.has_two_cutoffs(), "a shorter Coulomb cutoff: leave out coulomb_cutoff");
  refuse(system.pair_form != "lennard-jones", "pair forms other than Lennard-Jones");
  refuse(settings.has_switching_function() && settings.switching != Switching::kPotential,
         "this switching function so far: choose potential or none");
  refuse(system.solvent.has_value(), "implicit solvent");
  const std::vector<char> marks = marks_of(system);
  for (const Site& site : system.sites)
    for (int p = 0; p < site.parents; ++p)
      refuse(marks[static_cast<size_t>(site.atom)] != marks[static_cast<size_t>(site.parent[p])],
             "virtual sites of which some parents are alchemical and others not");
}

int soft_form_named(const std::string& name) {
  int found = -1;
  std::string names;
  SoftForms::for_each([&]<class Form>(int position) {
    if (name == Form::kName) found = position;
    names += std::string(names.empty() ? "" : ", ") + Form::kName;
  });
  if (found < 0) throw Error("there is no soft core '" + name + "': choose one of " + names);
  return found;
}

SoftCore soft_core(const Alchemy& alchemy, const NonbondedSettings& settings) {
  SoftCore core{};
  core.form = soft_form_named(alchemy.soft_core);
  core.alpha = alchemy.alpha;
  core.alpha_coulomb = alchemy.alpha_coulomb;
  core.least_sigma6 = std::pow(alchemy.least_sigma, 6);
  core.cutoff2 = settings.cutoff * settings.cutoff;
  if (settings.shifts_van_der_waals()) core.shift_6 = std::pow(settings.cutoff, -6);
  if (settings.has_switching_function()) {
    core.switch_start = settings.switch_distance;
    core.inverse = 1 / (settings.cutoff - settings.switch_distance);
    core.shift_6 = 0;
  }
  return core;
}

SmoothCoulomb smooth_coulomb_of(const NonbondedSettings& settings, std::vector<double>& series) {
  SmoothCoulomb smooth{};
  if (!settings.has_prolate_split()) {
    smooth.alpha = settings.alpha;
    return smooth;
  }
  series = shortened(Prolate(settings.bandwidth).mean_series());
  smooth.cutoff = settings.cutoff;
  smooth.inverse_cutoff2 = 1 / (settings.cutoff * settings.cutoff);
  smooth.powers = static_cast<int>(series.size());
  smooth.series = series.data();
  return smooth;
}

double coulomb_shift(const System& system, const NonbondedSettings& settings) {
  if (!shifts_charges(system, settings)) return 0;
  const double cutoff = settings.cutoff;
  return 1 / cutoff - ewald_split(settings)->potential(cutoff * cutoff);
}

std::vector<std::array<int32_t, 2>> alchemical_exclusions(const System& system) {
  const std::vector<char> marks = marks_of(system);
  std::vector<std::array<int32_t, 2>> pairs;
  for (const auto& [i, j] : system.exclusions)
    if (i != j && (marks[static_cast<size_t>(i)] || marks[static_cast<size_t>(j)]))
      pairs.push_back({std::min(i, j), std::max(i, j)});
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

double span_of_alchemical_exclusions(const System& system) {
  const auto pairs = alchemical_exclusions(system);
  const BondGraph graph(system);
  Paths paths(graph);
  double farthest = 0;
  for (auto begin = pairs.begin(); begin != pairs.end();) {
    const auto end =
        std::find_if(begin, pairs.end(), [&](const auto& pair) { return pair[0] != (*begin)[0]; });
    std::vector<int32_t> partners;
    std::transform(begin, end, std::back_inserter(partners),
                   [](const auto& pair) { return pair[1]; });
    for (const double length : paths.find((*begin)[0], partners))
      farthest = std::max(farthest, length);
    begin = end;
  }
  if (!std::isfinite(farthest))
    throw Error(
        "alchemical atoms of different molecules, which no bond holds together, exclude each "
        "other: decouple one molecule, or annihilate the interactions within all");
  return farthest;
}

}  // namespace quiltmd
