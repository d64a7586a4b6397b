// SPDX-License-Identifier: Apache-2.0
#include "computes/dispersion_coefficients.h"

#include <cmath>
#include <numbers>

#include "math/error.h"

namespace quiltmd {

std::vector<double> dispersion_coefficients(const System& system) {
  if (system.pair_form != "lennard-jones")
    throw Error("Lennard-Jones PME needs Lennard-Jones interactions, and the pair form is " +
                system.pair_form + ": choose lennard_jones = cutoff");
  const auto types = static_cast<size_t>(system.pair_type_count);
  std::vector<double> found;
  for (const int32_t type : system.pair_types) {
    const double c6 = system.pair_tables[1][static_cast<size_t>(type) * (types + 1)];
    if (c6 < 0)
      throw Error("Lennard-Jones PME needs C6 coefficients that are not negative, and atom type " +
                  std::to_string(type) + " has a negative one: choose lennard_jones = cutoff");
    found.push_back(std::sqrt(c6));
  }
  return found;
}

double dispersion_self_energy(const System& system, double alpha) {
  double sum = 0;
  for (const double c : dispersion_coefficients(system)) sum += c * c;
  return std::pow(alpha, 6) / 12 * sum;
}

// The integral of g(x)/x^4 from x on is (1 + x^2) exp(-x^2)/(3 x^3) - sqrt(pi)/12 erfc(x).
DirectDispersion direct_dispersion(double alpha, double distance) {
  const double x = alpha * distance, x2 = x * x, decay = std::exp(-x2);
  const double tail =
      decay * (1 + x2) / (3 * x * x2) - std::sqrt(std::numbers::pi) / 12 * std::erfc(x);
  return {decay * (1 + x2 + 0.5 * x2 * x2) / std::pow(distance, 6), alpha * alpha * alpha * tail};
}

}  // namespace quiltmd
