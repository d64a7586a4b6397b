// SPDX-License-Identifier: Apache-2.0
#include "integrators/monte_carlo.h"

#include "integrators/axes.h"
#include "integrators/plans.h"

namespace quiltmd {
namespace {

StepTask sum_centres(int large_molecules) {
  const int sums = 3 * large_molecules;
  return {"molecules",
          [sums](Device& device, const StepContext& c) {
            if (sums == 0) return;
            device.fill(c.sums, 0, static_cast<size_t>(sums) * sizeof(int64_t), Stream::kMain);
            device.launch(SumMolecules{c.groups, c.cell.molecules, c.sums});
          },
          sums};
}

StepTask propose(const AxisSets& sets, uint64_t seed) {
  return {"barostat", [=](Device& device, const StepContext& c) {
            device.launch(ProposeCell{c.cell, sets, seed, c.groups.step, c.groups.faults});
            device.launch(
                MoveMolecules{c.groups, c.cell.molecules, c.sums, c.cell.before, c.cell.saved});
            device.fill(c.sums, 0, sizeof(int64_t), Stream::kMain);
            device.launch(CountPotential{c.energy, c.energy_kinds, -1, c.sums});
          }};
}

StepTask sum_change() {
  return {"potential",
          [](Device& device, const StepContext& c) {
            device.launch(CountPotential{c.energy, c.energy_kinds, +1, c.sums});
          },
          1};
}

StepTask decide(const AxisSets& sets, uint64_t seed) {
  return {"barostat", [=](Device& device, const StepContext& c) {
            device.launch(DecideCell{c.cell, sets, c.sums, seed, c.groups.step, c.groups.faults,
                                     c.numbers, c.energy});
            device.launch(RestorePositions{c.groups, c.cell.saved, c.numbers});
          }};
}

Barostat proposals(const Parameters& parameters, const BarostatInput& input) {
  if (!(input.temperature > 0))
    throw Error(
        "monte_carlo needs a temperature to accept changes of the box: use langevin_middle, or add "
        "a thermostat");
  Barostat barostat = barostat_of_axes(parameters);
  AxisSets sets{};
  read_sets(parameters, sets.of);
  barostat.stage.act = {sum_centres(input.large_molecules), propose(sets, parameters.seed())};
  barostat.stage.decide = {sum_change(), decide(sets, parameters.seed())};
  return barostat;
}

}  // namespace

BarostatKind monte_carlo_barostat() { return {proposals, kPressure}; }

}  // namespace quiltmd
