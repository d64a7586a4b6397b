// SPDX-License-Identifier: Apache-2.0
// Physical constants in the internal units: nm, ps, amu, kJ/mol, elementary charge, kelvin.
#pragma once

namespace quiltmd {

// 1/(4 pi eps0) in kJ nm / (mol e^2), CODATA 2018.
inline constexpr double kCoulomb = 138.93545764438198;
// Boltzmann constant in kJ/(mol K), CODATA 2018.
inline constexpr double kBoltzmann = 8.31446261815324e-3;
inline constexpr double kPi = 3.14159265358979323846;

}  // namespace quiltmd
