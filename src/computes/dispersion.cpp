// SPDX-License-Identifier: Apache-2.0
// The energy of Lennard-Jones interactions beyond the cutoff, as if every atom saw the mean of all
// pairs at uniform density (Shirts et al., J. Phys. Chem. B 111, 13052 (2007)). The mean counts each
// pair of atoms once and each atom with itself, as OpenMM does, so that energies can be compared.
#include <cmath>
#include <vector>

#include "computes/nonbonded_settings.h"
#include "math/units.h"

namespace quiltmd {

Constant dispersion_constant(const System& system, const NonbondedSettings& settings,
                             double volume) {
  const auto types = static_cast<size_t>(system.lj_type_count);
  if (!settings.dispersion_correction || system.lj_types.empty()) return {};
  std::vector<double> count(types, 0.0);
  for (const int32_t type : system.lj_types) count[static_cast<size_t>(type)] += 1;
  double sum_a = 0, sum_b = 0;
  for (size_t i = 0; i < types; ++i)
    for (size_t j = 0; j <= i; ++j) {
      const double pairs = i == j ? 0.5 * count[i] * (count[i] + 1) : count[i] * count[j];
      sum_a += pairs * system.lj_a[i * types + j];
      sum_b += pairs * system.lj_b[i * types + j];
    }
  const auto atoms = static_cast<double>(system.lj_types.size());
  const double all_pairs = 0.5 * atoms * (atoms + 1);
  const double cutoff3 = std::pow(settings.cutoff, 3);
  const double factor = 2 * kPi * atoms * atoms / volume / all_pairs;
  const double repulsion = factor * sum_a / (9 * cutoff3 * cutoff3 * cutoff3);
  const double attraction = -factor * sum_b / (3 * cutoff3);
  // With a potential in 1/r^n, r times the force is n times the energy, and each element of the
  // diagonal has a third of the sum (Allen and Tildesley, Computer Simulation of Liquids, section
  // 2.8). That is more than the derivative of this energy by the volume, which leaves out that pairs
  // jump in energy as they cross the cutoff.
  return {repulsion + attraction, 4 * repulsion + 2 * attraction};
}

}  // namespace quiltmd
