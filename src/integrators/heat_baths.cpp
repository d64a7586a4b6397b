// SPDX-License-Identifier: Apache-2.0
#include "integrators/heat_baths.h"

#include <string>

#include "math/error.h"

namespace quiltmd {

std::vector<uint8_t> baths_of_groups(const System& system, const std::vector<uint8_t>& of_atom,
                                     size_t baths) {
  if (of_atom.size() != system.masses.size())
    throw Error("heat baths of " + std::to_string(of_atom.size()) + " atoms, but the system has " +
                std::to_string(system.masses.size()));
  const auto input = [&](int32_t atom) { return system.input_index[static_cast<size_t>(atom)]; };
  const auto bath = [&](int32_t atom) { return of_atom[static_cast<size_t>(input(atom))]; };
  std::vector<uint8_t> of_group;
  for (size_t g = 0; g + 1 < system.group_start.size(); ++g) {
    const int32_t first = system.group_start[g];
    if (bath(first) >= baths)
      throw Error("atom " + std::to_string(input(first)) + " is in heat bath " +
                  std::to_string(bath(first)) + " of " + std::to_string(baths));
    for (int32_t atom = first + 1; atom < system.group_start[g + 1]; ++atom)
      if (bath(atom) != bath(first))
        throw Error("atom " + std::to_string(input(atom)) + " is in another heat bath than atom " +
                    std::to_string(input(first)) + ", to whose hydrogen group it belongs");
    of_group.push_back(bath(first));
  }
  return of_group;
}

}  // namespace quiltmd
