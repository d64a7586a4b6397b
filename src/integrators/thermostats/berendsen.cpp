// SPDX-License-Identifier: Apache-2.0
// Relaxation of the kinetic energy (Berendsen et al., J. Chem. Phys. 81, 3684 (1984)).
#include "integrators/velocity_rescaling.h"

#include "integrators/plans.h"

namespace quiltmd {

ThermostatKind berendsen_thermostat() {
  return {[](const Parameters& parameters, const ThermostatInput& input) {
            return velocity_rescaling(parameters, input, VelocityNoise::kNone);
          },
          kTemperature};
}

}  // namespace quiltmd
