// SPDX-License-Identifier: Apache-2.0
#include "system/alchemy.h"

#include "system/system.h"

namespace quiltmd {

void leave_ghosts(System& system) {
  const auto before = static_cast<size_t>(system.pair_type_count), types = before + 1;
  for (std::vector<double>& table : system.pair_tables) {
    std::vector<double> larger(types * types, 0.0);
    for (size_t s = 0; s < before; ++s)
      for (size_t t = 0; t < before; ++t) larger[s * types + t] = table[s * before + t];
    table = std::move(larger);
  }
  system.pair_type_count = static_cast<int>(types);
  for (const int32_t atom : system.alchemy->atoms) {
    system.charges[static_cast<size_t>(atom)] = 0;
    system.pair_types[static_cast<size_t>(atom)] = static_cast<int32_t>(before);
  }
}

std::vector<double> charges_at(const System& ghosts, const Lambdas& lambdas) {
  std::vector<double> charges = ghosts.charges;
  const Alchemy& alchemy = *ghosts.alchemy;
  for (size_t k = 0; k < alchemy.atoms.size(); ++k)
    charges[static_cast<size_t>(alchemy.atoms[k])] =
        Alchemy::charge_scale(lambdas) * alchemy.charges[k];
  return charges;
}

}  // namespace quiltmd
