// SPDX-License-Identifier: Apache-2.0
// Monte Carlo barostat (Chow and Ferguson, Comput. Phys. Commun. 91, 283 (1995); Aqvist et al., Chem. Phys.
// Lett. 384, 288 (2004)). A proposal scales the axes of one set, and molecules go with their centres. It is
// accepted with the probability
//
//   min(1, exp(-(dU + P0 dV - gamma dA)/kT) (V'/V)^(N + 1/2))
//
// with N the number of molecules. Proposals are uniform in the root of the volume, of a width that
// depends on no volume, so they are as likely one way as the other; the 1/2 makes boxes uniform in the length, area or
// volume that is scaled, as those of stochastic cell rescaling are. Energies are exact sums and random
// numbers a function of seed and step, so every rank decides by itself, and all decide alike.
#pragma once

#include <cmath>

#include "integrators/cell_rescaling.h"
#include "integrators/stage_physics.h"

namespace quiltmd {

// Proposals are as wide as this part of the standard deviation of the volume. Water answers at once some four
// times as stiffly as in equilibrium, so about half of them are accepted.
inline constexpr double kProposalWidth = 1.5;

// Which random numbers of a step are for what.
enum class CellDraw : uint32_t { kSet, kProposal, kDecision };
QMD_HD double draw(uint64_t seed, int64_t step, CellDraw what) {
  return uniform(seed, static_cast<uint64_t>(step), static_cast<uint32_t>(what),
                 RandomStream::kCell);
}

// Which axes are scaled together: by axis, the first of its set.
struct AxisSets {
  int of[3];

  QMD_HD int count() const { return 1 + (of[1] == 1) + (of[2] == 2); }
  // The first axis of the set with this number.
  QMD_HD int first(int number) const {
    int d = 0;
    for (;; ++d)
      if (of[d] == d && number-- == 0) return d;
  }
  QMD_HD int axes(int first) const {
    return (of[0] == first) + (of[1] == first) + (of[2] == first);
  }
};

// The set whose turn it is.
QMD_HD int chosen_set(const AxisSets& sets, uint64_t seed, int64_t step) {
  const int number = static_cast<int>(draw(seed, step, CellDraw::kSet) * sets.count());
  return sets.first(number < sets.count() ? number : 0);
}

// Fixed point of sums of positions, nm: for molecules of a million atoms some ten thousand nm away.
inline constexpr double kCentreScale = 268435456.0;

// Over the owned groups: positions of the atoms of molecules that have several groups, added to sums[3 m + axis].
struct SumMolecules {
  static constexpr const char* kName = "sum_molecules";
  GroupWork work;
  MoleculeTable molecules;
  int64_t* sums;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, work.slots.position, molecules);
    QMD_USES(kAdd, sums);
  }
};

// One thread: a box is proposed in the conditions, and the one so far kept in `cell.before`. Where steps
// must be redone it stays as it is.
struct ProposeCell {
  static constexpr const char* kName = "propose_cell";
  CellWork cell;
  AxisSets sets;
  uint64_t seed;
  const int64_t* step;
  const Faults* faults;

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, cell);
    QMD_USES(kRead, extent(step, 1), faults);
  }
};

// Molecules go to the proposed box by their centres, over the layout and the lists that there are: groups keep their
// patches, whose centres move with the box. Where atoms were is kept in `saved`, by slot.
struct MoveMolecules {
  static constexpr const char* kName = "move_molecules";
  GroupWork work;
  MoleculeTable molecules;
  const int64_t* sums;  // SumMolecules, over all ranks
  const Box* from;
  Vec3d* saved;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, molecules, sums, extent(from, 1), work.slots.reference);
    QMD_USES(kReadWrite, work.slots.position, work.slots.local);
    QMD_USES(kWrite, work.slots.low, saved);
  }
};

// One thread: whether the proposed box is taken, which is 1 or 0; if not, the box is as before.
struct DecideCell {
  static constexpr const char* kName = "decide_cell";
  CellWork cell;
  AxisSets sets;
  const int64_t* change;  // of the potential energy, over all ranks; fixed point, kEnergyScale
  uint64_t seed;
  const int64_t* step;
  const Faults* faults;
  double* accepted;
  int64_t* energy;  // heat: of the part of the potential energy that depends on the volume alone

  void memory(MemoryUses& uses) const {
    QMD_USES(kReadWrite, cell, extent(energy, 1));
    QMD_USES(kRead, extent(change, 1), extent(step, 1), faults);
    QMD_USES(kWrite, extent(accepted, 1));
  }
};

// If the proposal is rejected, restores the positions of atoms. A rebuild follows.
struct RestorePositions {
  static constexpr const char* kName = "restore_positions";
  GroupWork work;
  const Vec3d* saved;
  const double* accepted;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, saved, extent(accepted, 1));
    QMD_USES(kReadWrite, work.slots.position);
  }
};

QMD_HD void propose_cell(const ProposeCell& op) {
  Conditions& conditions = *op.cell.conditions;
  const Box box = conditions.box;
  *op.cell.before = box;
  if (must_be_redone(*op.faults, *op.step)) return;
  const int first = chosen_set(op.sets, op.seed, *op.step);
  const double compressibility = conditions.pressure_bath.mobility[first];
  const double spread =
      0.5 * kProposalWidth * std::sqrt(conditions.bath.thermal * compressibility / box.volume());
  const double root = 1 + spread * (2 * draw(op.seed, *op.step, CellDraw::kProposal) - 1);
  const double strain = root > 0 ? 2 * std::log(root) / op.sets.axes(first) : 1;
  // Too large changes are not proposed, in either direction.
  if (!(std::fabs(strain) < 0.98 * kLargestStrain)) return;
  const double by = std::exp(strain);
  Vec3d axes{1, 1, 1};
  for (int d = 0; d < 3; ++d)
    if (op.sets.of[d] == first) axes[d] = by;
  conditions.box = stretched(box, axes);
}

QMD_HD void decide_cell(const DecideCell& op) {
  Conditions& conditions = *op.cell.conditions;
  const PressureBath& bath = conditions.pressure_bath;
  const Box before = *op.cell.before, box = conditions.box;
  const double volume = before.volume(), proposed = box.volume();
  const double by_density = 1 / proposed - 1 / volume;
  const int first = chosen_set(op.sets, op.seed, *op.step);
  const double work = from_fixed(*op.change, kEnergyScale) + op.cell.constant_energy * by_density +
                      bath.pressure[first] * (proposed - volume) -
                      bath.surface_tension * (box.ax * box.by - before.ax * before.by);
  const double exponent =
      (op.cell.molecule_count + 0.5) * std::log(proposed / volume) - work / conditions.bath.thermal;
  const bool accepted = !must_be_redone(*op.faults, *op.step) &&
                        std::log(draw(op.seed, *op.step, CellDraw::kDecision)) < exponent;
  *op.accepted = accepted ? 1 : 0;
  if (accepted)
    op.energy[kHeat] += to_fixed(op.cell.counted_energy * by_density, kEnergyScale);
  else
    conditions.box = before;
}

QMD_HD void sum_molecule(const SumMolecules& op, PlacedGroup placed, int64_t* sums) {
  const GroupTable& c = op.work.constants;
  const int atoms = c.group_start[placed.group + 1] - c.group_start[placed.group];
  for (int i = 0; i < atoms; ++i)
    for (int d = 0; d < 3; ++d)
      sums[d] += to_fixed(op.work.slots.position[placed.slot + i][d], kCentreScale);
}

// The mean of the positions of its atoms.
QMD_HD Vec3d molecule_centre(const MoveMolecules& op, PlacedGroup placed) {
  const int molecule = op.molecules.of_group[placed.group];
  if (molecule < 0) {
    const GroupTable& c = op.work.constants;
    const int atoms = c.group_start[placed.group + 1] - c.group_start[placed.group];
    const Vec3d* const position = op.work.slots.position + placed.slot;
    Vec3d sum{0, 0, 0};
    for (int i = 0; i < atoms; ++i) sum += position[i] - position[0];
    return position[0] + (1.0 / atoms) * sum;
  }
  const int64_t* const sum = op.sums + 3 * molecule;
  const double each = 1.0 / op.molecules.atoms[molecule];
  return {each * from_fixed(sum[0], kCentreScale), each * from_fixed(sum[1], kCentreScale),
          each * from_fixed(sum[2], kCentreScale)};
}

QMD_HD void move_molecule(const MoveMolecules& op, int index) {
  const PlacedGroup placed = op.work.placed[index];
  const GroupTable& c = op.work.constants;
  const Slots& s = op.work.slots;
  const Box &from = *op.from, &to = op.work.conditions->box;
  const Vec3d centre = molecule_centre(op, placed);
  const Vec3d moved = to.to_cartesian(from.to_fraction(centre)) - centre;
  const Vec3d origin = to.to_cartesian(from.to_fraction(op.work.origin[index]));
  const int atoms = c.group_start[placed.group + 1] - c.group_start[placed.group];
  for (int slot = placed.slot; slot < placed.slot + atoms; ++slot) {
    op.saved[slot] = s.position[slot];
    store_position(s, slot, origin, s.position[slot] + moved);
  }
}

QMD_HD void restore_group(const RestorePositions& op, PlacedGroup placed) {
  const GroupTable& c = op.work.constants;
  const int atoms = c.group_start[placed.group + 1] - c.group_start[placed.group];
  for (int slot = placed.slot; slot < placed.slot + atoms; ++slot)
    op.work.slots.position[slot] = op.saved[slot];
}

}  // namespace quiltmd
