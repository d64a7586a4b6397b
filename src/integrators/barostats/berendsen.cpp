// SPDX-License-Identifier: Apache-2.0
// Relaxation of the box (Berendsen et al., J. Chem. Phys. 81, 3684 (1984)).
#include "integrators/cell_rescaling.h"

#include "integrators/plans.h"

namespace quiltmd {

BarostatKind berendsen_barostat() {
  return {[](const Parameters& parameters, const BarostatInput& input) {
            return cell_rescaling(parameters, input, CellNoise::kNone);
          },
          kPressure};
}

}  // namespace quiltmd
