// SPDX-License-Identifier: Apache-2.0
#include "computes/bonded/term_memory.h"

namespace quiltmd {

std::unique_ptr<ForceFamily> make_bonded_family(const FamilySetup& setup) {
  return std::make_unique<TermMemory>(setup.slots);
}

}  // namespace quiltmd
