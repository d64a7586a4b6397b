// SPDX-License-Identifier: Apache-2.0
// The pair forms, for double precision and for GPUs; what a form has to offer is told by
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
#include "computes/nonbonded/pair_parameters.h"
#include "math/macros.h"

namespace quiltmd {

// The tables of a system for a pair of types.
template <class F>
typename F::Given given_tables(const System& system, int s, int t) {
  typename F::Given given{};
  const auto at =
      static_cast<size_t>(s) * static_cast<size_t>(system.pair_type_count) + static_cast<size_t>(t);
  for (size_t k = 0; k < given.size(); ++k) given[k] = system.pair_tables[k][at];
  return given;
}

#define QMD_FORM QMD_HD
#include "computes/nonbonded/forms/list.h"
#undef QMD_FORM

}  // namespace quiltmd
