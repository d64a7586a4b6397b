// SPDX-License-Identifier: Apache-2.0
// Energies of terms that change, on the `cpu` device.
#pragma once

#include "computes/alchemy/changed_terms.h"
#include "device/host/host_device.h"

namespace quiltmd {

void changed_term_energies(const ChangedTermEnergies& op, ThreadGroup& threads);

}  // namespace quiltmd
