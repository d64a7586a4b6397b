// SPDX-License-Identifier: Apache-2.0
// The points that a term is evaluated on, seen from its base patch, and its value: the same on hosts
// and GPUs.
#pragma once

#include "computes/bonded/operations.h"

namespace quiltmd {

// Position of one atom.
QMD_HD Vec3d term_position(const TermForces& op, uint32_t entry) {
  const uint32_t slot = entry & kSlotMask;
  const Float4 high = op.slots.local[slot], low = op.slots.low[slot];
  const Vec3d within{static_cast<double>(high.x) + low.x, static_cast<double>(high.y) + low.y,
                     static_cast<double>(high.z) + low.z};
  return within + op.exact_shifts[entry >> kSlotBits];
}

// Reference point of a term with one atom, which is at `atom`: the image nearest to the atom.
QMD_HD Vec3d anchor_position(const TermForces& op, uint32_t entry, Vec3d atom,
                             const double* parameters) {
  const Box box = op.conditions->box;
  const Int3 cell = op.patches[op.slots.patch[(entry & kSlotMask) / kClusterSize]].cell;
  const Vec3d centre = box.to_cartesian(
      {(cell.x + 0.5) / op.cells.x, (cell.y + 0.5) / op.cells.y, (cell.z + 0.5) / op.cells.z});
  return atom + box.nearest_image(Anchor(parameters).place(box) - centre - atom);
}

// From one point of a term to the next, by the nearest image: those of a term may lie farther apart than
// half the box, though each is near the next. Two points that something joins, or of which one is a place,
// are placed by it.
template <class Form>
QMD_HD Vec3d between_points(const TermForces& op, Vec3d from, Vec3d to) {
  const Vec3d d = to - from;
  if constexpr (kPointsOf<Form> == 2 && (kAnchored<Form> || !kRestrains<Form>)) return d;
  const Box& box = op.conditions->box;
  const bool is_nearest =
      2 * std::fabs(d.x) < box.ax && 2 * std::fabs(d.y) < box.by && 2 * std::fabs(d.z) < box.cz;
  return is_nearest ? d : box.nearest_image(d);
}

// Energies and forces of a term, under the conditions of the run.
template <class Form>
QMD_HD auto term_value(const TermForces& op, const Vec3d* b, const double* parameters,
                       const double* shared) {
  auto value = evaluate_form<Form>(b, parameters, shared);
  if constexpr (kRestrains<Form>) value.scale(op.conditions->restraint_strength);
  if constexpr (kEnergyByImage<Form>)
    for (double& energy : value.energy) energy *= op.energy_by_image;
  return value;
}

}  // namespace quiltmd
