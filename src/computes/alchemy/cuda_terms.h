// SPDX-License-Identifier: Apache-2.0
// Energies of terms that change, on the `cuda` device.
#pragma once

#include "computes/alchemy/changed_terms.h"
#include "device/cuda/context.h"

namespace quiltmd {

void changed_term_energies(const ChangedTermEnergies& op, CudaContext& context);

}  // namespace quiltmd
