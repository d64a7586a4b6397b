// SPDX-License-Identifier: Apache-2.0
// Which excluded pairs the pair kernels cannot correct for the reciprocal sum, since they may be
// farther apart than the cutoff; and how far.
#pragma once

#include <array>
#include <vector>

#include "computes/nonbonded_settings.h"
#include "system/system.h"

namespace quiltmd {

// Add a term (ExcludedPairForm, or ExcludedPairProlateForm) for every excluded pair of charges that bonds and
// constraints do not keep closer than the cutoff: a matter of the system, never of positions. Pairs of up to
// four bonds hardly ever need one. With a mesh of the dispersion, pairs that it has count, too, and have a
// second term (ExcludedDispersionForm). Returns how far apart the atoms of such a term can be, in nm: infinite
// where nothing holds them together, 0 where there are none.
double add_excluded_pairs(System& system, const NonbondedSettings& settings);
// The excluded pairs that have a term.
std::vector<std::array<int32_t, 2>> excluded_pairs_of_terms(const System& system);

}  // namespace quiltmd
