// SPDX-License-Identifier: Apache-2.0
#include "integrators/heat_baths.h"

#include <numeric>
#include <string>
#include <utility>

#include "integrators/group_constraints.h"
#include "math/error.h"

namespace quiltmd {

std::vector<uint8_t> baths_of_groups(const System& system, const std::vector<uint8_t>& of_atom,
                                     size_t baths) {
  if (of_atom.size() != system.masses.size())
    throw Error("heat baths are given for " + std::to_string(of_atom.size()) +
                " atoms, but the system has " + std::to_string(system.masses.size()) +
                ": give one for every atom");
  const auto input = [&](int32_t atom) { return system.input_index[static_cast<size_t>(atom)]; };
  const auto bath = [&](int32_t atom) { return of_atom[static_cast<size_t>(input(atom))]; };
  std::vector<uint8_t> of_group;
  for (size_t g = 0; g + 1 < system.group_start.size(); ++g) {
    const int32_t first = system.group_start[g];
    if (bath(first) >= baths)
      throw Error("atom " + std::to_string(input(first)) + " is in heat bath " +
                  std::to_string(bath(first)) + ", but there are " + std::to_string(baths) +
                  ", numbered from 0");
    for (int32_t atom = first + 1; atom < system.group_start[g + 1]; ++atom)
      if (bath(atom) != bath(first))
        throw Error("atom " + std::to_string(input(atom)) + " is in another heat bath than atom " +
                    std::to_string(input(first)) +
                    ", with which it shares a hydrogen group: put both into one heat bath");
    of_group.push_back(bath(first));
  }
  return of_group;
}

DegreesOfFreedom degrees_of_freedom(const System& system, const std::vector<uint8_t>& bath_of_group,
                                    size_t baths) {
  const double total = std::accumulate(system.masses.begin(), system.masses.end(), 0.0);
  const GroupConstraints constraints = constraints_by_group(system);
  std::vector<Freedom> of_baths(baths, Freedom{0, 0});
  double all = 0;
  for (int g = 0; g < system.group_count(); ++g) {
    const auto group = static_cast<size_t>(g);
    const int first = system.group_start[group], end = system.end_of_masses(g);
    const double degrees =
        3.0 * (end - first) - (constraints.start[group + 1] - constraints.start[group]);
    all += degrees;
    if (baths == 0) continue;
    Freedom& own = of_baths[bath_of_group[group]];
    own.degrees += degrees;
    for (int atom = first; atom < end; ++atom)
      own.mass_part += system.masses[static_cast<size_t>(atom)] / total;
  }
  return {{all}, std::move(of_baths)};
}

}  // namespace quiltmd
