// SPDX-License-Identifier: Apache-2.0
// Stochastic cell rescaling (Bernetti and Bussi, J. Chem. Phys. 153, 114107 (2020)) of sets of axes: all
// three (isotropic), x with y and z by itself (semi-isotropic), or each by itself. The logarithm of the
// length (or area, or volume) that belongs to a set of k axes follows
//
//   d ln l = -(k beta / 3 tau) (P0 - P) dt + sqrt(2 k kT beta / (3 V tau)) dW
//
// where P is the mean pressure along its axes. Virial and kinetic energy of the whole system are exact
// sums and the noise is a function of seed and step, so every rank finds the same box by itself.
#pragma once

#include <cmath>

#include "integrators/operations.h"
#include "math/fixed.h"
#include "math/philox.h"
#include "math/symmetric.h"

namespace quiltmd {

enum class CellNoise { kNone, kThermal };

// One thread: the box of the conditions after an action, and in `cell.before` the one before it.
// Steps that must be redone leave it as it is, as they do the layout (Faults::refused).
struct RescaleCell {
  static constexpr const char* kName = "rescale_cell";
  CellWork cell;
  const int64_t* tensors;  // virial, then kinetic, of the whole system; fixed point, kEnergyScale
  int set_of[3];           // by axis: the first axis of its set
  CellNoise noise;
  uint64_t seed;
  const int64_t* step;
  const Faults* faults;
  int64_t* energy;  // heat: of the part of the potential energy that depends on the volume alone

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, cell, extent(energy, 1));
    QMD_USES(kRead, extent(tensors, 2 * Symmetric::kParts), extent(step, 1), faults);
  }
};

// Excess of the pressure along an axis over the reference, kJ/mol/nm^3.
QMD_HD double excess_pressure(const RescaleCell& op, const Box& box, int axis) {
  const PressureBath& bath = op.cell.conditions->pressure_bath;
  const double volume = box.volume();
  const double lateral = axis < 2 ? bath.surface_tension / box.cz : 0;
  const double sum = from_fixed(op.tensors[axis], kEnergyScale) +
                     from_fixed(op.tensors[Symmetric::kParts + axis], kEnergyScale);
  return (sum + op.cell.constant_virial / volume) / volume - (bath.pressure[axis] - lateral);
}

// The logarithm of what the axes of a set, whose first is this one, are multiplied by.
QMD_HD double strain_of_set(const RescaleCell& op, const Box& box, int first, double normal) {
  double excess = 0;
  int axes = 0;
  for (int d = first; d < 3; ++d) {
    if (op.set_of[d] != first) continue;
    excess += excess_pressure(op, box, d);
    ++axes;
  }
  const double mobility = op.cell.conditions->pressure_bath.mobility[first];
  const double thermal = op.noise == CellNoise::kThermal ? op.cell.conditions->bath.thermal : 0;
  const double strain =
      mobility * excess / axes + std::sqrt(2 * mobility * thermal / (axes * box.volume())) * normal;
  return strain < kLargestStrain ? (strain > -kLargestStrain ? strain : -kLargestStrain)
                                 : kLargestStrain;
}

QMD_HD Box stretched(const Box& box, Vec3d by) {
  return {by.x * box.ax, by.x * box.bx, by.y * box.by, by.x * box.cx, by.y * box.cy, by.z * box.cz};
}

QMD_HD void rescale_cell(const RescaleCell& op) {
  const Box box = op.cell.conditions->box;
  *op.cell.before = box;
  if (must_be_redone(*op.faults, *op.step)) return;
  const Vec3d normal = gaussian3(op.seed, static_cast<uint64_t>(*op.step), 0, RandomStream::kCell);
  Vec3d by{1, 1, 1};
  for (int d = 0; d < 3; ++d) {
    const int first = op.set_of[d];
    by[d] = first == d ? std::exp(strain_of_set(op, box, d, normal[d])) : by[first];
  }
  const Box now = stretched(box, by);
  op.cell.conditions->box = now;
  op.energy[kHeat] +=
      to_fixed(op.cell.counted_energy * (1 / now.volume() - 1 / box.volume()), kEnergyScale);
}

}  // namespace quiltmd
