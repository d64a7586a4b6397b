// SPDX-License-Identifier: Apache-2.0
// Programs of expressions as text of C++, for devices that compile it.
#pragma once

#include <string>

#include "system/expression.h"

namespace quiltmd {

// A source whose kernel kCompiledTerms evaluates a force. Constants and parameters are not part of it.
inline constexpr const char* kCompiledTerms = "evaluate_compiled_terms";
std::string term_source(const ExpressionForce& force);

// Likewise for pairs, with a kernel for forces alone. Error if tables are too large for single precision.
inline constexpr const char *kCompiledPairs = "evaluate_compiled_pairs",
                            *kCompiledPairsWithEnergies = "evaluate_compiled_pairs_with_energies";
std::string pair_source(const PairExpression& force);

}  // namespace quiltmd
