// SPDX-License-Identifier: Apache-2.0
// A chain of Nose-Hoover thermostats (Martyna, Klein and Tuckerman, J. Chem. Phys. 97, 2635 (1992)), of
// positions eta and velocities u. With N degrees of freedom and a time constant tau their masses are
// N kT tau^2 for the first and kT tau^2 for the others, and
//
//   dv/dt = -u_1 v    d eta_k/dt = u_k    du_k/dt = G_k - u_k u_(k+1)
//   G_1 = (2 K / (N kT) - 1) / tau^2    G_2 = N u_1^2 - 1 / tau^2    G_k = u_(k-1)^2 - 1 / tau^2
//
// where the last has no u_(k+1). The chain is propagated by the splitting of Martyna, Tuckerman, Tobias and
// Klein, Mol. Phys. 87, 1117 (1996). The kinetic energy is an exact sum, so every rank finds the same chain
// and the same factor by itself. Groups of atoms with baths of their own have a chain each.
#pragma once

#include <cmath>

#include "integrators/operations.h"
#include "math/fixed.h"

namespace quiltmd {

// Their positions, then their velocities (1/ps): variables of the plan.
struct ThermostatChain {
  double* variables;
  int length;
  double degrees_of_freedom;
  double time_constant;  // ps

  QMD_HD double& position(int k) const { return variables[k]; }
  QMD_HD double& velocity(int k) const { return variables[length + k]; }
  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "variables", extent(variables, 2 * int64_t{length}));
  }
};

// One thread: the chain goes on for a time, and the factor by which all velocities are multiplied.
struct AdvanceChain {
  static constexpr const char* kName = "advance_chain";
  ThermostatChain chain;
  double time;             // ps
  const int64_t* kinetic;  // of the whole system; fixed point, kEnergyScale
  double* factor;          // receives it
  const Conditions* conditions;
  int64_t* heat;  // receives what the chain gave; null on all ranks but one

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, chain, extent(heat, 1));
    QMD_USES(kRead, extent(kinetic, 1), conditions);
    QMD_USES(kWrite, extent(factor, 1));
  }
};

// One thread for each bath: its chain and the factor of its atoms.
struct AdvanceChains {
  static constexpr const char* kName = "advance_chains";
  double* variables;  // of all chains, one after another
  int baths, length;
  double degrees_of_freedom[kMaxHeatBaths], time_constant[kMaxHeatBaths];
  double time;             // ps
  const int64_t* kinetic;  // by bath; fixed point, kEnergyScale
  double* factor;          // by bath, receives it
  const HeatBath* bath;
  int64_t* heat;  // receives what the chains gave; null on all ranks but one

  QMD_HD ThermostatChain chain(int of) const {
    return {variables + 2 * length * of, length, degrees_of_freedom[of], time_constant[of]};
  }
  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, extent(variables, int64_t{2} * length * baths));
    QMD_USES(kRead, extent(kinetic, baths), extent(bath, baths));
    QMD_USES(kWrite, extent(factor, baths));
    QMD_USES(kAdd, extent(heat, 1));
  }
};

// In units of kT.
QMD_HD double energy_of_chain(const ThermostatChain& chain) {
  const double square = chain.time_constant * chain.time_constant;
  double energy = 0;
  for (int k = 0; k < chain.length; ++k) {
    const double shared_by = k == 0 ? chain.degrees_of_freedom : 1;
    const double u = chain.velocity(k);
    energy += shared_by * (chain.position(k) + 0.5 * square * u * u);
  }
  return energy;
}

// du_k/dt but for the friction of the next thermostat. `kinetic` in units of N kT / 2.
QMD_HD double chain_force(const ThermostatChain& chain, int k, double kinetic) {
  const double rate2 = 1 / (chain.time_constant * chain.time_constant);
  if (k == 0) return (kinetic - 1) * rate2;
  const double before = chain.velocity(k - 1);
  return (k == 1 ? chain.degrees_of_freedom : 1) * before * before - rate2;
}

QMD_HD void kick_chain(const ThermostatChain& chain, int k, double time, double kinetic) {
  const double keep = k + 1 < chain.length ? std::exp(-0.5 * time * chain.velocity(k + 1)) : 1;
  double& u = chain.velocity(k);
  u = keep * (keep * u + time * chain_force(chain, k, kinetic));
}

// 1/ps: of the fastest change in the chain. The second thermostat is driven by N u_1^2: with many degrees of
// freedom away from their temperature it is much faster than the time constant, and from rest it gets there
// within (N G_1^2)^(-1/4).
QMD_HD double fastest_rate(const ThermostatChain& chain, double kinetic) {
  double rate = 0;
  for (int k = 0; k < chain.length; ++k) {
    const double of_force = std::sqrt(std::fabs(chain_force(chain, k, kinetic)));
    const double grows = k == 0 && chain.length > 1 ? std::pow(chain.degrees_of_freedom, 0.25) : 1;
    rate = std::fmax(rate, std::fmax(std::fabs(chain.velocity(k)), grows * of_force));
  }
  return rate;
}

// The length of the next substep, ps: 1/16 of the time constant at most, and half of the time in which
// something in the chain changes, which keeps the conserved energy to 1e-5 kT for each degree of freedom.
// `left` is divided evenly.
QMD_HD double substep(const ThermostatChain& chain, double kinetic, double left, double shortest) {
  const double longest = std::fmin(chain.time_constant / 16, 0.5 / fastest_rate(chain, kinetic));
  return left / std::ceil(left / std::fmax(longest, shortest));
}

// Sixth order: the composition of seven steps by Yoshida, Phys. Lett. A 150, 262 (1990), solution A.
inline constexpr int kChainSteps = 7;
QMD_HD double chain_weight(int step) {
  constexpr double kOuter = 0.784513610477560, kSecond = 0.235573213359357,
                   kThird = -1.17767998417887;
  const int from_end = step < kChainSteps - 1 - step ? step : kChainSteps - 1 - step;
  if (from_end == 0) return kOuter;
  if (from_end == 1) return kSecond;
  if (from_end == 2) return kThird;
  return 1 - 2 * (kOuter + kSecond + kThird);
}

// A step of the composition; `kinetic` and the factor of velocities follow.
QMD_HD void step_chain(const ThermostatChain& chain, double time, double& kinetic, double& factor) {
  for (int k = chain.length - 1; k >= 0; --k) kick_chain(chain, k, 0.5 * time, kinetic);
  const double scale = std::exp(-time * chain.velocity(0));
  factor *= scale;
  kinetic *= scale * scale;
  for (int k = 0; k < chain.length; ++k) chain.position(k) += time * chain.velocity(k);
  for (int k = 0; k < chain.length; ++k) kick_chain(chain, k, 0.5 * time, kinetic);
}

// In units of N kT / 2, of a kinetic energy in fixed point.
QMD_HD double relative_kinetic(const ThermostatChain& chain, double thermal, int64_t kinetic) {
  const double shared = 0.5 * chain.degrees_of_freedom * thermal;
  return from_fixed(kinetic, kEnergyScale) / shared;
}

// The chain goes on for a time, ps; returns the factor of velocities. `kinetic` in units of N kT / 2.
QMD_HD double advance(const ThermostatChain& chain, double time, double kinetic) {
  constexpr int kMostSubsteps = 4096;
  double factor = 1, left = time;
  while (left > 0) {
    const double now = substep(chain, kinetic, left, time / kMostSubsteps);
    for (int step = 0; step < kChainSteps; ++step)
      step_chain(chain, chain_weight(step) * now, kinetic, factor);
    left = now < left ? left - now : 0;
  }
  return factor;
}

QMD_HD void advance_chain(const AdvanceChain& op) {
  const double thermal = op.conditions->bath.thermal;
  const double kinetic = relative_kinetic(op.chain, thermal, *op.kinetic);
  const double before = energy_of_chain(op.chain);
  *op.factor = advance(op.chain, op.time, kinetic);
  if (op.heat) *op.heat -= to_fixed(thermal * (energy_of_chain(op.chain) - before), kEnergyScale);
}

// Returns the heat that the chain of a bath gave, in fixed point.
QMD_HD int64_t advance_chain(const AdvanceChains& op, int bath) {
  const ThermostatChain chain = op.chain(bath);
  const double thermal = op.bath[bath].thermal;
  const double kinetic = relative_kinetic(chain, thermal, op.kinetic[bath]);
  const double before = energy_of_chain(chain);
  op.factor[bath] = advance(chain, op.time, kinetic);
  return -to_fixed(thermal * (energy_of_chain(chain) - before), kEnergyScale);
}

}  // namespace quiltmd
