// SPDX-License-Identifier: Apache-2.0
#include "system/alchemy.h"

#include <algorithm>

#include "system/system.h"

namespace quiltmd {
namespace {

// Whether a pair type interacts with any.
bool interacts(const System& system, int32_t type) {
  if (type == kNoPairType) return false;
  const auto types = system.pair_type_count;
  return std::any_of(system.pair_tables.begin(), system.pair_tables.end(), [&](const auto& table) {
    const auto row = table.begin() + static_cast<ptrdiff_t>(type) * types;
    return std::any_of(row, row + types, [](double value) { return value != 0; });
  });
}

}  // namespace

const ChangedTerms* Alchemy::changed_terms_of(const TermForm& form) const {
  for (const ChangedTerms& changed : changed_terms)
    if (changed.form == &form) return &changed;
  return nullptr;
}

void leave_ghosts(System& system) {
  const auto before = static_cast<size_t>(system.pair_type_count), types = before + 1;
  for (std::vector<double>& table : system.pair_tables) {
    std::vector<double> larger(types * types, 0.0);
    for (size_t s = 0; s < before; ++s)
      for (size_t t = 0; t < before; ++t) larger[s * types + t] = table[s * before + t];
    table = std::move(larger);
  }
  system.pair_type_count = static_cast<int>(types);
  const auto ghost = static_cast<int32_t>(before);
  for (AlchemicalEnd& end : system.alchemy->ends)
    std::replace(end.pair_types.begin(), end.pair_types.end(), kNoPairType, ghost);
  for (const int32_t atom : system.alchemy->atoms) {
    system.charges[static_cast<size_t>(atom)] = 0;
    system.pair_types[static_cast<size_t>(atom)] = ghost;
  }
}

std::vector<double> charges_at(const System& ghosts, const Lambdas& lambdas) {
  std::vector<double> charges = ghosts.charges;
  const Alchemy& alchemy = *ghosts.alchemy;
  const double x = lambdas.of[kLambdaCoulomb];
  for (size_t k = 0; k < alchemy.atoms.size(); ++k)
    charges[static_cast<size_t>(alchemy.atoms[k])] =
        (1 - x) * alchemy.ends[0].charges[k] + x * alchemy.ends[1].charges[k];
  return charges;
}

std::vector<int32_t> pair_types_at(const System& ghosts, size_t end) {
  std::vector<int32_t> types = ghosts.pair_types;
  const Alchemy& alchemy = *ghosts.alchemy;
  for (size_t k = 0; k < alchemy.atoms.size(); ++k)
    types[static_cast<size_t>(alchemy.atoms[k])] = alchemy.ends[end].pair_types[k];
  return types;
}

std::vector<Presence> presence_of(const System& system) {
  std::vector<Presence> found;
  const Alchemy& alchemy = *system.alchemy;
  for (size_t k = 0; k < alchemy.atoms.size(); ++k) {
    const auto is_there = [&](const AlchemicalEnd& end) {
      return end.charges[k] != 0 || interacts(system, end.pair_types[k]);
    };
    const bool first = is_there(alchemy.ends[0]), second = is_there(alchemy.ends[1]);
    found.push_back(first == second ? Presence::kBoth
                    : first         ? Presence::kVanishes
                                    : Presence::kAppears);
  }
  return found;
}

std::string problem_with(const System& system, const Lambdas& lambdas) {
  const Alchemy& alchemy = *system.alchemy;
  if (alchemy.alpha_coulomb > 0) return {};
  const std::vector<Presence> presence = presence_of(system);
  const auto has = [&](Presence which, size_t end) {
    for (size_t k = 0; k < presence.size(); ++k)
      if (presence[k] == which && alchemy.ends[end].charges[k] != 0) return true;
    return false;
  };
  const double charge = lambdas.of[kLambdaCoulomb], core = lambdas.of[kLambdaVdw];
  const std::string hint =
      ", or give the charges a soft core (alpha_coulomb): charges without a core collapse onto "
      "others";
  if (core > 0 && charge < 1 && has(Presence::kVanishes, 0))
    return "atoms whose van der Waals interactions are scaled must have no charges left: "
           "lambda_coulomb must be 1 where lambda_vdw is not 0" +
           hint;
  if (core < 1 && charge > 0 && has(Presence::kAppears, 1))
    return "atoms whose van der Waals interactions are scaled must have no charges yet: "
           "lambda_coulomb must be 0 where lambda_vdw is not 1" +
           hint;
  return {};
}

}  // namespace quiltmd
