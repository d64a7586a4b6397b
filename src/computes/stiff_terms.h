// SPDX-License-Identifier: Apache-2.0
// Which forms of bonded terms make a molecule stiff.
#pragma once

#include "system/term_form.h"

namespace quiltmd {

// Whether terms of a form keep lengths of bonds and angles; Urey-Bradley terms are part of angles that
// have terms of their own.
bool keeps_stiff(const TermForm& form);

}  // namespace quiltmd
