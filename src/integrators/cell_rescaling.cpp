// SPDX-License-Identifier: Apache-2.0
#include "integrators/cell_rescaling.h"

#include "integrators/axes.h"
#include "integrators/plans.h"

namespace quiltmd {
namespace {

// Sum virial and kinetic tensor of the groups over all ranks, and give the box its new shape.
Stage rescaling_stage(const Parameters& parameters, CellNoise noise) {
  constexpr int kTensors = 2 * Symmetric::kParts;
  static_assert(kKineticTensor == kVirial + Symmetric::kParts && kTensors <= kStepSums);
  RescaleCell rescale{};
  read_sets(parameters, rescale.set_of);
  rescale.noise = noise;
  if (noise == CellNoise::kThermal) rescale.seed = parameters.seed();
  const StepTask sum{"pressure",
                     [](Device& device, const StepContext& c) {
                       device.copy(c.sums, c.energy + kVirial, kTensors * sizeof(int64_t),
                                   Stream::kMain);
                     },
                     kTensors};
  const StepTask act{"barostat", [=](Device& device, const StepContext& c) {
                       RescaleCell op = rescale;
                       op.cell = c.cell;
                       op.tensors = c.sums;
                       op.step = c.groups.step;
                       op.faults = c.groups.faults;
                       op.energy = c.energy;
                       device.launch(op);
                       if (noise == CellNoise::kThermal)
                         device.launch(RescaleGroups{c.groups, c.cell.before, c.energy});
                       else
                         device.launch(ScaleGroups{c.groups, c.cell.before});
                     }};
  return {sum, act};
}

}  // namespace

Barostat cell_rescaling(const Parameters& parameters, const BarostatInput& input, CellNoise noise) {
  const double time_constant = parameters.number("time_constant");
  if (!(time_constant > 0)) throw Error(parameters.kind + ": the time constant must be positive");
  Barostat barostat = barostat_of_axes(parameters);
  for (double& mobility : barostat.bath.mobility)
    mobility *= barostat.stage.every * input.timestep / (3 * time_constant);
  barostat.stage.act = rescaling_stage(parameters, noise);
  return barostat;
}

}  // namespace quiltmd
