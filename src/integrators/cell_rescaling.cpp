// SPDX-License-Identifier: Apache-2.0
#include "integrators/cell_rescaling.h"

#include <string>

#include "integrators/plans.h"

namespace quiltmd {
namespace {

// Numbers by axis, "pressure_x" and so on.
void read_axes(const Parameters& parameters, const std::string& name, double (&values)[3]) {
  const char* const axes[] = {"_x", "_y", "_z"};
  for (int d = 0; d < 3; ++d) values[d] = parameters.number(name + axes[d]);
}

PressureBath pressure_bath(const Parameters& parameters, double time) {
  const double time_constant = parameters.number("time_constant");
  if (!(time_constant > 0)) throw Error(parameters.kind + ": the time constant must be positive");
  PressureBath bath{};
  read_axes(parameters, "pressure", bath.pressure);
  read_axes(parameters, "compressibility", bath.mobility);
  for (double& mobility : bath.mobility) {
    if (!(mobility >= 0)) throw Error(parameters.kind + ": a compressibility is not negative");
    mobility *= time / (3 * time_constant);
  }
  bath.surface_tension = parameters.number("surface_tension");
  return bath;
}

// Sum virial and motion of the groups over all ranks, and give the box its new shape.
Stage rescaling_stage(const Parameters& parameters, CellNoise noise) {
  constexpr int kTensors = 2 * Symmetric::kParts;
  static_assert(kMotion == kVirial + Symmetric::kParts && kTensors <= kStepSums);
  RescaleCell rescale{};
  const char* const sets[] = {"set_x", "set_y", "set_z"};
  for (int d = 0; d < 3; ++d) {
    rescale.set_of[d] = static_cast<int>(parameters.integer(sets[d]));
    if (rescale.set_of[d] < 0 || rescale.set_of[d] > d)
      throw Error(parameters.kind + ": axes are coupled to themselves or to one before them");
  }
  rescale.noise = noise;
  rescale.seed = parameters.seed();
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

Barostat rescaling(const Parameters& parameters, const BarostatInput& input, CellNoise noise) {
  const auto every = static_cast<int>(parameters.integer("every"));
  if (every < 1) throw Error(parameters.kind + ": 'every' must be 1 or more steps");
  return {rescaling_stage(parameters, noise), every,
          pressure_bath(parameters, every * input.timestep)};
}

}  // namespace

Barostat cell_rescaling(const Parameters& parameters, const BarostatInput& input) {
  if (!(input.temperature > 0))
    throw Error(
        "cell_rescaling: the noise of the box needs a temperature: use langevin_middle, or a "
        "thermostat");
  return rescaling(parameters, input, CellNoise::kThermal);
}

Barostat berendsen_barostat(const Parameters& parameters, const BarostatInput& input) {
  return rescaling(parameters, input, CellNoise::kNone);
}

}  // namespace quiltmd
