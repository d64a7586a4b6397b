// SPDX-License-Identifier: Apache-2.0
// Stochastic velocity rescaling (Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007)): the
// kinetic energy is propagated exactly for a time, as the thermostat alone would have it, and all
// velocities are scaled to match. The draw is a function of seed, step and total kinetic energy, which
// is an exact sum, so every rank finds the same factor by itself.
#pragma once

#include <cmath>

#include "integrators/operations.h"
#include "math/fixed.h"
#include "math/philox.h"

namespace quiltmd {

enum class VelocityNoise { kNone, kThermal };

// One thread: the factor by which all velocities are multiplied. Without noise it is that of Berendsen et
// al., J. Chem. Phys. 81, 3684 (1984), over the time between actions.
struct DrawRescaling {
  static constexpr const char* kName = "draw_rescaling";
  const int64_t* kinetic;  // of the whole system; fixed point, kEnergyScale
  double* factor;          // receives it
  const Conditions* conditions;
  double degrees_of_freedom;  // more than one
  double keep;                // exp(-time / time constant)
  VelocityNoise noise;
  uint64_t seed;
  const int64_t* step;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(kinetic, 1), conditions, extent(step, 1));
    QMD_USES(kWrite, extent(factor, 1));
  }
};

// Numbers of the gamma sampler and that of the first degree of freedom, by index of a draw.
inline constexpr uint32_t kFirstNormal = 0, kTrialNormals = 1, kTrialUniforms = 0x80000000u,
                          kPowerUniform = 0xffffffffu;

QMD_HD double rescaling_uniform(uint64_t seed, uint64_t step, uint32_t index) {
  return uniform(seed, step, index, RandomStream::kRescaling);
}

// A number of the gamma distribution of a given shape, scale 1 (Marsaglia and Tsang, ACM Trans. Math.
// Softw. 26, 363 (2000)): trials until one is accepted, of which 19 in 20 are.
QMD_HD double gamma_number(double shape, uint64_t seed, uint64_t step) {
  double power = 1;
  if (shape < 1) {
    power = std::pow(rescaling_uniform(seed, step, kPowerUniform), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1 / 3.0, c = 1 / std::sqrt(9 * d);
  for (uint32_t trial = 0;; ++trial) {
    const double x = gaussian3(seed, step, kTrialNormals + trial, RandomStream::kRescaling).x;
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = rescaling_uniform(seed, step, kTrialUniforms + trial);
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return power * d * v;
  }
}

// Equation A7 of the paper with its sign, A8, as the square of a sum and what is left: the first degree
// of freedom keeps its direction, of the others only the sum of squares is drawn.
QMD_HD double rescaling_factor(const DrawRescaling& op) {
  const double kinetic = from_fixed(*op.kinetic, kEnergyScale);
  if (!(kinetic > 0)) return 1;  // at rest there is nothing to scale
  const auto step = static_cast<uint64_t>(*op.step);
  const double share = (1 - op.keep) * (0.5 * op.conditions->bath.thermal) / kinetic;
  if (op.noise == VelocityNoise::kNone) return std::sqrt(op.keep + share * op.degrees_of_freedom);
  const double normal = gaussian3(op.seed, step, kFirstNormal, RandomStream::kRescaling).x;
  const double first = std::sqrt(op.keep) + std::sqrt(share) * normal;
  const double others = 2 * gamma_number(0.5 * (op.degrees_of_freedom - 1), op.seed, step);
  const double factor = std::sqrt(first * first + share * others);
  return first < 0 ? -factor : factor;
}

}  // namespace quiltmd
