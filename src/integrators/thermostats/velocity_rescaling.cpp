// SPDX-License-Identifier: Apache-2.0
// Stochastic velocity rescaling (Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007)).
#include "integrators/velocity_rescaling.h"

#include "integrators/plans.h"

namespace quiltmd {

ThermostatKind velocity_rescaling_thermostat() {
  return {[](const Parameters& parameters, const ThermostatInput& input) {
            return velocity_rescaling(parameters, input, VelocityNoise::kThermal);
          },
          kTemperature};
}

}  // namespace quiltmd
