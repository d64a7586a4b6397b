// SPDX-License-Identifier: Apache-2.0
// The coordinates of a path between two ends, along which interactions of alchemical atoms change.
#pragma once

namespace quiltmd {

// Lambdas, with their names in set_conditions().
enum Lambda { kLambdaCoulomb, kLambdaVdw, kLambdaBonded, kLambdas };
inline constexpr const char* kLambdaNames[kLambdas] = {"lambda_coulomb", "lambda_vdw",
                                                       "lambda_bonded"};

// Each from 0 to 1, the first and the second end. No initialisers: part of Conditions.
struct Lambdas {
  double of[kLambdas];
};

}  // namespace quiltmd
