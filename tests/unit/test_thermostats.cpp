// SPDX-License-Identifier: Apache-2.0
// Actions of thermostats: the draw of stochastic velocity rescaling against the distributions that Bussi,
// Donadio and Parrinello (2007) derive; chains of Nose-Hoover thermostats go back as they came, and
// conserve energy.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "check.h"
#include "integrators/nose_hoover.h"
#include "integrators/velocity_rescaling.h"
#include "statistics.h"

using namespace quiltmd;
using test::mean_of, test::variance_of;

namespace {

// ---- Nose-Hoover chains ------------------------------------------------------------------------

// Up to rounding, the chain that has gone on for a time with velocities turned comes back.
void a_chain_is_reversible() {
  const int64_t kinetic = to_fixed(500, kEnergyScale);
  const Conditions now{{2.5, 1, 0}, {}, {}, 1};
  const std::array<double, 6> start{0.1, -0.2, 0.3, 2, -1.5, 0.7};
  std::array<double, 6> variables = start;
  double there = 0, back = 0;
  int64_t heat = 0;
  AdvanceChain op{{variables.data(), 3, 297, 0.3}, 0.012, &kinetic, &there, &now, &heat};
  advance_chain(op);
  CHECK(std::fabs(there - 1) > 1e-3 && heat != 0);
  for (size_t k = 3; k < 6; ++k) variables[k] = -variables[k];
  const int64_t scaled = to_fixed(500 * there * there, kEnergyScale);
  op.kinetic = &scaled;
  op.factor = &back;
  advance_chain(op);
  CHECK_NEAR(there * back, 1, 1e-9);
  CHECK(std::llabs(heat) < 10);
  for (size_t k = 0; k < 6; ++k) CHECK_NEAR(variables[k], k < 3 ? start[k] : -start[k], 1e-7);
}

// The second thermostat is a hundred times faster here than the time constant.
void a_chain_far_from_its_temperature_conserves_energy() {
  constexpr double kFreedom = 200000, kThermal = 2.5;
  const Conditions now{{kThermal, 1, 0}, {}, {}, 1};
  std::array<double, 6> variables{};
  double factor = 1, energy = 0.25 * kFreedom * kThermal, largest = 0;
  const double start = energy;
  int64_t heat = 0;
  for (int action = 0; action < 300; ++action) {
    const int64_t kinetic = to_fixed(energy, kEnergyScale);
    advance_chain({{variables.data(), 3, kFreedom, 0.5}, 0.02, &kinetic, &factor, &now, &heat});
    energy *= factor * factor;
    const double lost = energy - from_fixed(heat, kEnergyScale) - start;
    largest = std::fmax(largest, std::fabs(lost) / (kFreedom * kThermal));
  }
  CHECK(energy > 1.05 * start && std::isfinite(energy));
  CHECK(largest < 1e-5);
}

// Each chain goes on as if it were alone, from its own kinetic energy.
void chains_of_groups_are_those_of_one() {
  const int64_t kinetic[] = {to_fixed(500, kEnergyScale), to_fixed(900, kEnergyScale)};
  const HeatBath bath[] = {{2.5, 1, 0}, {3.5, 1, 0}};
  const std::array<double, 8> start{0.1, -0.2, 2, -1.5, 0.3, 0.4, -0.5, 0.6};
  std::array<double, 8> together = start, alone = start;
  double factors[2] = {0, 0};
  const AdvanceChains op{together.data(), 2,       2,       {297, 90}, {0.3, 0.1},
                         0.012,           kinetic, factors, &bath[0],  nullptr};
  for (int b = 0; b < 2; ++b) {
    const int64_t gave = advance_chain(op, b);
    const Conditions now{bath[b], {}, {}, 1};
    double factor = 0;
    int64_t heat = 0;
    advance_chain(
        AdvanceChain{{alone.data() + 4 * b, 2, op.degrees_of_freedom[b], op.time_constant[b]},
                     0.012,
                     &kinetic[b],
                     &factor,
                     &now,
                     &heat});
    CHECK(factor == factors[b] && heat == gave && heat != 0);
  }
  CHECK(together == alone && together != start);
}

// ---- Velocity rescaling ------------------------------------------------------------------------

// Kinetic energies after one action each, from `kinetic` (kJ/mol), at steps 0, 1, ...
std::vector<double> propagated(double kinetic, double freedom, double thermal, double keep,
                               int64_t count) {
  std::vector<double> after;
  const int64_t fixed = to_fixed(kinetic, kEnergyScale);
  for (int64_t step = 0; step < count; ++step) {
    const Conditions now{{2 * thermal, 1, 0}, {}, {}, 1};
    const double factor =
        rescaling_factor({&fixed, nullptr, &now, freedom, keep, VelocityNoise::kThermal, 7, &step});
    after.push_back(factor * factor * kinetic);
  }
  return after;
}

// Mean, variance and third moment of the gamma distribution, 5 standard errors.
void gamma_numbers() {
  constexpr int kDraws = 200000;
  for (const double shape : {0.5, 1.0, 3.5, 1000.0}) {
    std::vector<double> x;
    double third = 0;
    for (uint64_t step = 0; step < kDraws; ++step) {
      x.push_back(gamma_number(shape, RescalingNumbers{11, step}));
      third += std::pow(x.back() - shape, 3) / kDraws;
    }
    const double error = std::sqrt(1.0 / kDraws);
    CHECK_NEAR(mean_of(x), shape, 5 * error * std::sqrt(shape));
    CHECK_NEAR(variance_of(x), shape, 5 * error * std::sqrt(2 * shape * shape + 6 * shape));
    CHECK_NEAR(third, 2 * shape, 5 * error * std::sqrt(15 * std::pow(shape, 3) + 1000 * shape));
  }
}

// One action: (1 - c) kT/2 times a noncentral chi-squared number, whose mean and variance are known.
void an_action_has_the_right_transition() {
  constexpr double kThermal = 1.25, kFreedom = 30, kKinetic = 90;
  for (const double c : {0.1, 0.9, 0.995}) {
    const auto after = propagated(kKinetic, kFreedom, kThermal, c, 100000);
    const double mean = c * kKinetic + (1 - c) * kFreedom * kThermal;
    const double variance = 2 * (1 - c) * (1 - c) * kFreedom * kThermal * kThermal +
                            4 * c * (1 - c) * kKinetic * kThermal;
    CHECK_NEAR(mean_of(after), mean, 5 * std::sqrt(variance / 1e5));
    CHECK_NEAR(variance_of(after), variance, 0.04 * variance);
  }
}

// Each bath has the transition of its own temperature, degrees of freedom and time constant, with random
// numbers of its own; the first has those of one bath for all.
void baths_of_groups_draw_by_themselves() {
  constexpr int64_t kDraws = 40000;
  const int64_t kinetic[] = {to_fixed(90, kEnergyScale), to_fixed(40, kEnergyScale),
                             to_fixed(90, kEnergyScale)};
  const HeatBath bath[] = {{2.5, 0.5, 0}, {4, 0.9, 0}, {2.5, 0.5, 0}};
  int64_t step = 0;
  DrawRescalingGroups op{kinetic, nullptr, bath, 3, {30, 7, 30}, VelocityNoise::kThermal, 7, &step};
  std::array<std::vector<double>, 3> after;
  double common = 0;
  for (; step < kDraws; ++step) {
    for (size_t b = 0; b < 3; ++b) {
      const double factor = rescaling_factor(op, static_cast<int>(b));
      after[b].push_back(factor * factor * from_fixed(kinetic[b], kEnergyScale));
    }
    const Conditions now{bath[0], {}, {}, 1};
    CHECK(rescaling_factor(DrawRescaling{&kinetic[0], nullptr, &now, 30, 0.5,
                                         VelocityNoise::kThermal, 7, &step}) ==
          rescaling_factor(op, 0));
  }
  for (size_t b = 0; b < 3; ++b) {
    const double c = bath[b].keep, half = 0.5 * bath[b].thermal;
    const double from = from_fixed(kinetic[b], kEnergyScale), n = op.degrees_of_freedom[b];
    const double variance = 2 * (1 - c) * (1 - c) * n * half * half + 4 * c * (1 - c) * from * half;
    CHECK_NEAR(mean_of(after[b]), c * from + (1 - c) * n * half, 5 * std::sqrt(variance / kDraws));
    CHECK_NEAR(variance_of(after[b]), variance, 0.06 * variance);
  }
  const double first = mean_of(after[0]), third = mean_of(after[2]);
  for (size_t k = 0; k < kDraws; ++k) common += (after[0][k] - first) * (after[2][k] - third);
  CHECK_NEAR(common / kDraws / variance_of(after[0]), 0, 5 / std::sqrt(1.0 * kDraws));
}

// Without memory each draw is canonical: Kolmogorov-Smirnov against the gamma distribution of shape 3.
void the_distribution_is_canonical() {
  constexpr double kThermal = 1.25;
  auto drawn = propagated(17, 6, kThermal, 0, 20000);
  std::sort(drawn.begin(), drawn.end());
  double farthest = 0;
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double x = drawn[i] / (2 * kThermal), n = static_cast<double>(drawn.size());
    const double exact = 1 - std::exp(-x) * (1 + x + x * x / 2);
    farthest = std::max(farthest, std::fabs(exact - (static_cast<double>(i) + 0.5) / n));
  }
  CHECK(farthest < 1.95 / std::sqrt(20000.0));  // one in a thousand is beyond
}

// With very many degrees of freedom the kinetic energy relaxes exponentially, as in equation 8 of the
// paper without its noise.
void large_systems_relax_exponentially() {
  constexpr double kThermal = 0.1, kFreedom = 1e7;
  const double target = kFreedom * kThermal, keep = 0.75;
  double kinetic = 2 * target;
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t fixed = to_fixed(kinetic, kEnergyScale);
    const Conditions now{{2 * kThermal, 1, 0}, {}, {}, 1};
    const double relaxed = keep * kinetic / target + (1 - keep);
    DrawRescaling op{&fixed, nullptr, &now, kFreedom, keep, VelocityNoise::kThermal, 7, &step};
    const double factor = rescaling_factor(op);
    CHECK_NEAR(factor * factor * kinetic / target, relaxed, 2e-3);
    op.noise = VelocityNoise::kNone;
    const double without = rescaling_factor(op);
    CHECK_NEAR(without * without * kinetic / target, relaxed, 1e-9);
    kinetic *= factor * factor;
  }
}

void atoms_at_rest_stay_at_rest() {
  const int64_t nothing = 0, step = 5;
  const Conditions now{{2.5, 1, 0}, {}, {}, 1};
  CHECK(rescaling_factor({&nothing, nullptr, &now, 30, 0.5, VelocityNoise::kThermal, 7, &step}) ==
        1);
}

}  // namespace

int main() {
  return test::run_all({
      {"a chain is reversible", a_chain_is_reversible},
      {"a chain far from its temperature conserves energy",
       a_chain_far_from_its_temperature_conserves_energy},
      {"chains of groups are those of one", chains_of_groups_are_those_of_one},
      {"baths of groups draw by themselves", baths_of_groups_draw_by_themselves},
      {"gamma numbers", gamma_numbers},
      {"an action has the right transition", an_action_has_the_right_transition},
      {"the distribution is canonical", the_distribution_is_canonical},
      {"large systems relax exponentially", large_systems_relax_exponentially},
      {"atoms at rest stay at rest", atoms_at_rest_stay_at_rest},
  });
}
