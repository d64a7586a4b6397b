// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "computes/reference.h"

namespace quiltmd {

void reference_expressions(const ReferenceInput& in, Evaluation& out);

}  // namespace quiltmd
