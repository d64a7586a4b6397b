// SPDX-License-Identifier: Apache-2.0
#include "computes/dispersion_coefficients.h"

#include "math/error.h"

namespace quiltmd {

std::vector<double> dispersion_coefficients(const System& system) {
  if (system.pair_form != "lennard-jones")
    throw Error("Lennard-Jones PME is for Lennard-Jones interactions, not for " + system.pair_form);
  const auto types = static_cast<size_t>(system.pair_type_count);
  std::vector<double> found;
  for (const int32_t type : system.pair_types) {
    const double c6 = system.pair_tables[1][static_cast<size_t>(type) * (types + 1)];
    if (c6 < 0)
      throw Error("Lennard-Jones PME: type " + std::to_string(type) + " has a negative C6");
    found.push_back(std::sqrt(c6));
  }
  return found;
}

double dispersion_self_energy(const System& system, double alpha) {
  double sum = 0;
  for (const double c : dispersion_coefficients(system)) sum += c * c;
  return std::pow(alpha, 6) / 12 * sum;
}

}  // namespace quiltmd
