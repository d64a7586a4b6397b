// SPDX-License-Identifier: Apache-2.0
// The pair forms, for double precision and for GPUs; what a form has to offer is stated in
// forms/basics.h and forms/lennard_jones.h. Instruction sets of a CPU get theirs from
// host_pair_math-inl.h.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <type_traits>

#include "computes/nonbonded/form_concepts.h"
#include "computes/nonbonded/lorentz_berthelot.h"
#include "computes/nonbonded/natural_spline.h"
#include "computes/nonbonded/pair_parameters.h"
#include "math/error.h"
#include "math/macros.h"

namespace quiltmd {

// The tables of a system for a pair of types.
template <PairFormula F>
typename F::Given given_tables(const System& system, int s, int t) {
  typename F::Given given{};
  if constexpr (takes_any_tables<F>) given.resize(system.pair_tables.size());
  const auto at =
      static_cast<size_t>(s) * static_cast<size_t>(system.pair_type_count) + static_cast<size_t>(t);
  for (size_t k = 0; k < given.size(); ++k) given[k] = system.pair_tables[k][at];
  return given;
}

// For each type, whether it interacts with any type, including itself.
inline std::vector<char> types_with_tables(const System& system) {
  const auto types = static_cast<size_t>(system.pair_type_count);
  std::vector<char> found(types, 0);
  for (const auto& table : system.pair_tables)
    for (size_t at = 0; at < types * types; ++at)
      if (table[at] != 0) found[at / types] = found[at % types] = 1;
  return found;
}

// Table for kernels: the numbers of all pairs of types, then the knots, four numbers each.
template <TypedForm F, class Real>
std::vector<Real> table_of(const System& system, const NonbondedSettings& settings) {
  const int types = system.pair_type_count;
  std::vector<Real> table;
  std::vector<std::array<double, 4>> knots;
  for (int s = 0; s < types; ++s)
    for (int t = 0; t < types; ++t) {
      const auto given = given_tables<F>(system, s, t);
      auto numbers = F::numbers(given, settings);
      if constexpr (FormOnMesh<F>)
        numbers[F::kProduct] =
            F::mesh_product(given_tables<F>(system, s, s), given_tables<F>(system, t, t));
      if constexpr (FormWithKnots<F>) {
        numbers.back() = types * types + static_cast<double>(knots.size());
        const auto of_pair = F::knots(given, settings);
        knots.insert(knots.end(), of_pair.begin(), of_pair.end());
      }
      table.insert(table.end(), numbers.begin(), numbers.end());
    }
  constexpr size_t kMost = 1 << 24;  // places are floats
  if (table.size() / 4 + knots.size() > kMost)
    throw Error(
        "the tabulated pair energies have more than 16 million values in all: use coarser tables");
  for (const auto& knot : knots) table.insert(table.end(), knot.begin(), knot.end());
  return table;
}

#define QMD_FORM QMD_HD
#include "computes/nonbonded/forms/list.h"
#undef QMD_FORM

}  // namespace quiltmd
