// SPDX-License-Identifier: Apache-2.0
// Embedded atoms in double precision (computes/reference.h).
#pragma once

#include "computes/reference.h"

namespace quiltmd {

void reference_embedded(const ReferenceInput& in, Evaluation& out);

}  // namespace quiltmd
