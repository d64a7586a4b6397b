// SPDX-License-Identifier: Apache-2.0
// Energies that do not depend on positions, of a system with alchemical atoms, by lambda.
#pragma once

#include "computes/nonbonded_settings.h"

namespace quiltmd {

// c[0] + c[1] x + c[2] x^2.
struct Quadratic {
  double c[3];

  // The quadratic function with these values at 0, 1/2 and 1.
  static Quadratic through(double at_0, double at_half, double at_1) {
    return {{at_0, 4 * at_half - 3 * at_0 - at_1, 2 * (at_0 + at_1) - 4 * at_half}};
  }
  double operator()(double x) const { return c[0] + x * (c[1] + x * c[2]); }
  double slope(double x) const { return c[1] + 2 * c[2] * x; }
};

// Self energies and neutralising background are quadratic in the charges. The dispersion beyond the cutoff is
// linear in lambda, as it is to first order of the soft core's energy there.
struct LambdaConstants {
  Quadratic self;        // kJ/mol
  Quadratic background;  // energy and virial, kJ/mol nm^3
  Constant first, last;  // dispersion, at lambda 0 and 1, kJ/mol nm^3

  Constant dispersion(const Lambdas& lambdas) const {
    const double s = 1 - lambdas.of[kLambdaVdw];
    return {last.energy + s * (first.energy - last.energy),
            last.virial + s * (first.virial - last.virial)};
  }
  double energy(const Lambdas& lambdas, double volume) const {
    const double x = lambdas.of[kLambdaCoulomb];
    return self(x) + (background(x) + dispersion(lambdas).energy) / volume;
  }
  Lambdas slopes(const Lambdas& lambdas, double volume) const {
    const double x = lambdas.of[kLambdaCoulomb];
    return {{self.slope(x) + background.slope(x) / volume, (last.energy - first.energy) / volume}};
  }
};

// Constants of a system with ghosts.
LambdaConstants lambda_constants(const System& ghosts, const NonbondedSettings& settings);

}  // namespace quiltmd
