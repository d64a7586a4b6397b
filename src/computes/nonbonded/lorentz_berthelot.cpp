// SPDX-License-Identifier: Apache-2.0
#include "computes/nonbonded/lorentz_berthelot.h"

#include <cmath>
#include <set>

namespace quiltmd {
namespace {

// Relative deviation that is let pass: what a prmtop's nine digits and single precision lose.
constexpr double kTolerance = 1e-6;

bool close(double value, double expected) {
  return std::fabs(value - expected) <= kTolerance * std::fabs(expected);
}

}  // namespace

LorentzBerthelot lorentz_berthelot(const System& system) {
  const int types = system.pair_type_count;
  const std::vector<double>&lj_a = system.pair_tables[0], &lj_b = system.pair_tables[1];
  LorentzBerthelot rules;
  for (int t = 0; t < types; ++t) {
    const double a = lj_a[t * types + t], b = lj_b[t * types + t];
    const bool interacts = a > 0 && b > 0;
    rules.sigma.push_back(interacts ? std::pow(a / b, 1.0 / 6) : 0);
    rules.epsilon.push_back(interacts ? b * b / (4 * a) : 0);
  }
  const std::set<int32_t> used(system.pair_types.begin(), system.pair_types.end());
  for (const int32_t s : used) {
    for (const int32_t t : used) {
      const double epsilon = std::sqrt(rules.epsilon[s] * rules.epsilon[t]);
      const double sigma6 = std::pow((rules.sigma[s] + rules.sigma[t]) / 2, 6);
      if (!close(lj_a[s * types + t], 4 * epsilon * sigma6 * sigma6) ||
          !close(lj_b[s * types + t], 4 * epsilon * sigma6)) {
        return {};
      }
    }
  }
  rules.holds = true;
  return rules;
}

}  // namespace quiltmd
