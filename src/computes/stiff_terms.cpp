// SPDX-License-Identifier: Apache-2.0
#include "computes/stiff_terms.h"

#include "computes/bonded/forms/forms.h"

namespace quiltmd {

bool keeps_stiff(const TermForm& form) {
  bool stiff = false;
  TermForms::for_each([&]<class Form>(int) {
    constexpr bool bends = Form::kPart == TermPart::kAngle && Form::kAtoms == 3;
    if (&Form::kForm == &form) stiff = Form::kPart == TermPart::kBond || bends;
  });
  return stiff;
}

}  // namespace quiltmd
