// SPDX-License-Identifier: Apache-2.0
// Every soft core. A new one is a file and a line in each of these two places. A form has, of one end of the path,
// its share of the energy, the energy of Lennard-Jones coefficients, and the potential of unit charges less the
// part of a mesh; force over r and derivative by the present share beside each.
#pragma once

#include "computes/alchemy/soft_core.h"
#include "math/list.h"
#include "math/units.h"

namespace quiltmd {

// clang-format off: derived forms come after those that they are made of
#include "computes/alchemy/forms/beutler.h"
#include "computes/alchemy/forms/amber.h"
#include "computes/alchemy/forms/gapsys.h"
#include "computes/alchemy/forms/smoothstep.h"
// clang-format on

using SoftForms = List<Beutler, Gapsys, Amber, Smoothstep>;

}  // namespace quiltmd
