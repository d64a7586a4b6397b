// SPDX-License-Identifier: Apache-2.0
// Stochastic cell rescaling (Bernetti and Bussi, J. Chem. Phys. 153, 114107 (2020)).
#include "integrators/cell_rescaling.h"

#include "integrators/plans.h"

namespace quiltmd {
namespace {

Barostat with_noise(const Parameters& parameters, const BarostatInput& input) {
  if (!(input.temperature > 0))
    throw Error(
        "cell_rescaling needs a temperature for the fluctuations of the box: use langevin_middle, "
        "or add a thermostat");
  return cell_rescaling(parameters, input, CellNoise::kThermal);
}

}  // namespace

BarostatKind cell_rescaling_barostat() { return {with_noise, kPressure}; }

}  // namespace quiltmd
