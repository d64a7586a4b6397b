// SPDX-License-Identifier: Apache-2.0
// Stochastic velocity rescaling (Bussi, Donadio and Parrinello, J. Chem. Phys. 126, 014101 (2007)): the
// kinetic energy is propagated exactly for a time, as the thermostat alone would have it, and all
// velocities are scaled to match. The draw is a function of seed, step and total kinetic energy, which
// is an exact sum, so every rank finds the same factor by itself. Groups of atoms with baths of their own
// have a factor each.
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

// One thread for each bath: the factor of its atoms.
struct DrawRescalingGroups {
  static constexpr const char* kName = "draw_rescaling_groups";
  const int64_t* kinetic;  // by bath; fixed point, kEnergyScale
  double* factor;          // by bath, receives it
  const HeatBath* bath;    // `keep`: exp(-time / time constant)
  int baths;
  double degrees_of_freedom[kMaxHeatBaths];  // more than one each
  VelocityNoise noise;
  uint64_t seed;
  const int64_t* step;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(kinetic, baths), extent(bath, baths), extent(step, 1));
    QMD_USES(kWrite, extent(factor, baths));
  }
};

// Random numbers of one draw, by index: those of the gamma sampler and that of the first degree of freedom.
// Baths are as far from each other as no sampler goes.
struct RescalingNumbers {
  static constexpr uint32_t kFirstNormal = 0, kTrialNormals = 1, kTrialUniforms = 0x80000000u,
                            kPowerUniform = 0xffffffffu, kFromBathToBath = 1u << 24;
  uint64_t seed, step;
  uint32_t bath = 0;

  QMD_HD double normal(uint32_t index) const {
    return gaussian3(seed, step, index + bath * kFromBathToBath, RandomStream::kRescaling).x;
  }
  QMD_HD double trial_uniform(uint32_t trial) const {
    return uniform(seed, step, kTrialUniforms + trial + bath * kFromBathToBath,
                   RandomStream::kRescaling);
  }
  QMD_HD double power_uniform() const {
    return uniform(seed, step, kPowerUniform - bath, RandomStream::kRescaling);
  }
};

// A number of the gamma distribution of a given shape, scale 1 (Marsaglia and Tsang, ACM Trans. Math.
// Softw. 26, 363 (2000)): trials until one is accepted, of which 19 in 20 are.
QMD_HD double gamma_number(double shape, const RescalingNumbers& numbers) {
  double power = 1;
  if (shape < 1) {
    power = std::pow(numbers.power_uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1 / 3.0, c = 1 / std::sqrt(9 * d);
  for (uint32_t trial = 0;; ++trial) {
    const double x = numbers.normal(RescalingNumbers::kTrialNormals + trial);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = numbers.trial_uniform(trial);
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return power * d * v;
  }
}

// Arguments of the factor of some atoms, besides random numbers.
struct Rescaling {
  double degrees_of_freedom, keep;
  double thermal;  // kT of their bath
  VelocityNoise noise;
};

// Equation A7 of the paper with its sign, A8, as the square of a sum and what is left: the first degree
// of freedom keeps its direction, of the others only the sum of squares is drawn.
QMD_HD double rescaling_factor(const Rescaling& of, int64_t fixed,
                               const RescalingNumbers& numbers) {
  const double kinetic = from_fixed(fixed, kEnergyScale);
  if (!(kinetic > 0)) return 1;  // at rest there is nothing to scale
  const double share = (1 - of.keep) * (0.5 * of.thermal) / kinetic;
  if (of.noise == VelocityNoise::kNone) return std::sqrt(of.keep + share * of.degrees_of_freedom);
  const double normal = numbers.normal(RescalingNumbers::kFirstNormal);
  const double first = std::sqrt(of.keep) + std::sqrt(share) * normal;
  const double others = 2 * gamma_number(0.5 * (of.degrees_of_freedom - 1), numbers);
  const double factor = std::sqrt(first * first + share * others);
  return first < 0 ? -factor : factor;
}

QMD_HD double rescaling_factor(const DrawRescaling& op) {
  const Rescaling of{op.degrees_of_freedom, op.keep, op.conditions->bath.thermal, op.noise};
  const auto step = static_cast<uint64_t>(*op.step);
  return rescaling_factor(of, *op.kinetic, {op.seed, step});
}

QMD_HD double rescaling_factor(const DrawRescalingGroups& op, int bath) {
  const HeatBath own = op.bath[bath];
  const Rescaling of{op.degrees_of_freedom[bath], own.keep, own.thermal, op.noise};
  const auto step = static_cast<uint64_t>(*op.step);
  return rescaling_factor(of, op.kinetic[bath], {op.seed, step, static_cast<uint32_t>(bath)});
}

}  // namespace quiltmd
