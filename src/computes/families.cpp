// SPDX-License-Identifier: Apache-2.0
#include "computes/force_family.h"

namespace quiltmd {

std::vector<Family> families_of(const System& system, const NonbondedSettings& settings,
                                bool periodic, std::vector<Family> families) {
  std::erase_if(families, [&](const Family& family) { return !family.acts(system, settings); });
  for (const Family& family : families)
    if (family.refuse_unsuited) family.refuse_unsuited(system, settings, periodic);
  return families;
}

}  // namespace quiltmd
