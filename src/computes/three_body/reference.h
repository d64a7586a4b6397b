// SPDX-License-Identifier: Apache-2.0
// Three-body potentials by plain loops over all pairs (computes/reference.h).
#pragma once

#include "computes/reference.h"

namespace quiltmd {

void reference_three_body(const ReferenceInput& in, Evaluation& out);

}  // namespace quiltmd
