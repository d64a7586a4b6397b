// SPDX-License-Identifier: Apache-2.0
// Urey-Bradley term: a spring between the outer atoms of an angle, apart from bonds in the log.
#pragma once

#include "computes/bonded/forms/bond.h"

namespace quiltmd {

// E = k/2 (r - length)^2, r the distance of the outer atoms.
struct UreyBradleyForm : BondForm {
  static constexpr TermPart kPart = TermPart::kAngle;
  static constexpr const char* kEnergies[] = {"urey_bradley"};
  static constexpr TermForm kForm{
      "urey_bradley", "a Urey-Bradley term", "urey_bradleys", "urey_bradley_parameters",
      kAtoms,         kParameters,           kEnergies};
};

}  // namespace quiltmd
