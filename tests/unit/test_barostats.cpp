// SPDX-License-Identifier: Apache-2.0
// Actions of barostats: volumes of stochastic cell rescaling and of Monte Carlo proposals against those of
// the isothermal-isobaric ensemble.
#include <array>
#include <cmath>
#include <vector>

#include "check.h"
#include "integrators/cell_rescaling.h"
#include "integrators/monte_carlo.h"
#include "statistics.h"

using namespace quiltmd;
using test::mean_of, test::variance_of;

namespace {

// Particles whose momenta in fractions of the box stay: their kinetic energy along an axis is that at
// the start times (L0 / L)^2, and there is no virial. Lengths after so many actions.
constexpr double kThermalEnergy = 2.5, kPressure = 0.5, kLength = 6.5, kKinetic = 300;
constexpr double kMobility = 0.01;  // the volume relaxes in some 40 actions
constexpr int kActions = 1600000;
std::vector<Vec3d> rescaled(const int (&set_of)[3]) {
  Conditions now{};
  now.bath.thermal = kThermalEnergy;
  now.box = {kLength, 0, kLength, 0, 0, kLength};
  for (int d = 0; d < 3; ++d) {
    now.pressure_bath.pressure[d] = kPressure;
    now.pressure_bath.mobility[d] = kMobility;
  }
  Box before{};
  int64_t tensors[2 * Symmetric::kParts]{}, energy[1]{}, step = 0;
  const Faults faults{};
  RescaleCell op{{&now, &before, 0, 0},
                 tensors,
                 {set_of[0], set_of[1], set_of[2]},
                 CellNoise::kThermal,
                 5,
                 &step,
                 &faults,
                 energy};
  std::vector<Vec3d> lengths;
  for (; step < kActions; ++step) {
    const Vec3d at{now.box.ax, now.box.by, now.box.cz};
    for (int d = 0; d < 3; ++d)
      tensors[Symmetric::kParts + d] =
          to_fixed(2 * kKinetic * kLength * kLength / (at[d] * at[d]), kEnergyScale);
    rescale_cell(op);
    lengths.push_back({now.box.ax, now.box.by, now.box.cz});
  }
  return lengths;
}

struct Moments {
  double mean, variance;
};

// Of a density between two volumes, which need not be normalised.
template <class Density>
Moments moments_of(double least, double most, const Density& density) {
  constexpr int kPoints = 60000;
  double sum = 0, mean = 0, square = 0;
  for (int point = 0; point < kPoints; ++point) {
    const double v = least + (most - least) * point / kPoints, weight = density(v);
    sum += weight;
    mean += weight * v;
    square += weight * v * v;
  }
  mean /= sum;
  return {mean, square / sum - mean * mean};
}

// Mean and variance of the volume from the density exp(-(K(V) + P V)/kT) dV.
void volumes_are_those_of_the_ensemble() {
  const auto [mean, variance] = moments_of(100, 3000, [](double v) {
    const double kinetic = 3 * kKinetic * std::pow(kLength * kLength * kLength / v, 2 / 3.0);
    return std::exp(-(kinetic + kPressure * v - 831) / kThermalEnergy);
  });
  std::vector<double> volumes;
  for (const Vec3d at : rescaled({0, 0, 0})) volumes.push_back(at.x * at.y * at.z);
  CHECK_NEAR(mean_of(volumes), mean, 4 * std::sqrt(variance * 80 / kActions));
  CHECK_NEAR(variance_of(volumes), variance, 0.06 * variance);
}

// Sets of axes: the density is exp(-(sum of K(L) + P V)/kT), by the product of the lengths or areas of
// the sets. So the mean of a length times the derivative of the energy by it is kT.
void each_set_obeys_the_virial_theorem() {
  for (const auto& sets : {std::array{0, 1, 2}, std::array{0, 0, 2}}) {
    double along_z = 0, lateral = 0;
    for (const Vec3d at : rescaled({sets[0], sets[1], sets[2]})) {
      const auto twice_kinetic = [](double length) {
        return 2 * kKinetic * kLength * kLength / (length * length);
      };
      const double pv = kPressure * at.x * at.y * at.z;
      along_z += (pv - twice_kinetic(at.z)) / kActions;
      lateral += (2 * pv - twice_kinetic(at.x) - twice_kinetic(at.y)) / kActions;
    }
    CHECK_NEAR(along_z, kThermalEnergy, 0.4 * kThermalEnergy);
    CHECK_NEAR(lateral, 2 * kThermalEnergy, 0.4 * 2 * kThermalEnergy);
  }
}

void steps_that_are_redone_keep_the_box() {
  Conditions now{};
  now.bath.thermal = 2.5;
  now.box = {3, 0, 3, 0, 0, 3};
  for (double& mobility : now.pressure_bath.mobility) mobility = 1e-3;
  Box before{};
  const int64_t tensors[2 * Symmetric::kParts]{}, step = 8;
  int64_t energy[1]{};
  Faults faults{};
  faults.violation_step = 5;
  rescale_cell(
      {{&now, &before, 1, 1}, tensors, {0, 0, 0}, CellNoise::kThermal, 5, &step, &faults, energy});
  CHECK(now.box.ax == 3 && before.ax == 3 && energy[0] == 0);
}

// Two molecules of an ideal gas and an energy c/V: the density is V^2 exp(-(c/V + P V)/kT) dV.
void accepted_volumes_are_those_of_the_ensemble() {
  constexpr int kProposals = 1'000'000, kMolecules = 2;
  constexpr double kConstant = 5, kLow = 1;
  const auto energy_at = [](double v) { return kConstant / v + kLow * v; };
  const auto [mean, variance] = moments_of(0.01, 60, [&](double v) {
    return std::pow(v, kMolecules) * std::exp(-energy_at(v) / kThermalEnergy);
  });

  Conditions now{};
  now.bath.thermal = kThermalEnergy;
  now.box = {2, 0, 2, 0, 0, 2};
  for (int d = 0; d < 3; ++d) {
    now.pressure_bath.mobility[d] = 0.003;
    now.pressure_bath.pressure[d] = kLow;
  }
  Box before{};
  int64_t step = 0, energy[1]{};
  const int64_t change = 0;
  double accepted = 0, taken = 0;
  const Faults faults{};
  CellWork cell{};
  cell.conditions = &now;
  cell.before = &before;
  cell.constant_energy = cell.counted_energy = kConstant;
  cell.molecule_count = kMolecules;
  const AxisSets sets{{0, 0, 2}};
  std::vector<double> volumes;
  for (; step < kProposals; ++step) {
    propose_cell({cell, sets, 7, &step, &faults});
    const bool along_z = now.box.cz != before.cz;
    CHECK(along_z ? now.box.ax == before.ax : now.box.ax == now.box.by);
    decide_cell({cell, sets, &change, 7, &step, &faults, &accepted, energy});
    CHECK(accepted == 1 || now.box.ax == before.ax);
    taken += accepted;
    volumes.push_back(now.box.volume());
  }
  CHECK(taken > 0.8 * kProposals && taken < kProposals);
  CHECK_NEAR(mean_of(volumes), mean, 4 * std::sqrt(variance * 800 / kProposals));
  CHECK_NEAR(variance_of(volumes), variance, 0.25 * variance);
  CHECK_NEAR(from_fixed(energy[0], kEnergyScale), kConstant * (1 / now.box.volume() - 1 / 8.0),
             1e-2);
}

}  // namespace

int main() {
  return test::run_all({
      {"volumes are those of the ensemble", volumes_are_those_of_the_ensemble},
      {"each set obeys the virial theorem", each_set_obeys_the_virial_theorem},
      {"steps that are redone keep the box", steps_that_are_redone_keep_the_box},
      {"accepted volumes are those of the ensemble", accepted_volumes_are_those_of_the_ensemble},
  });
}
