// SPDX-License-Identifier: Apache-2.0
// What the stages of a step do to one hydrogen group: written once, for the host and for GPUs. A
// kernel loads a group (RigidWater, StarGroup, SmallGroup or LargeGroup), applies a stage, and stores it. Stages read like the papers they come from; group types know how constraints are met.
//
// Double precision throughout: positions are unwrapped and trajectories long. Nothing here depends
// on where a group lies or who computes it, so results do not either.
#pragma once

#include "computes/constraints/settle.h"
#include "computes/constraints/shake.h"
#include "computes/constraints/star.h"
#include "integrators/centre_of_mass.h"
#include "integrators/operations.h"
#include "math/fixed.h"
#include "math/philox.h"
#include "math/split.h"
#include "math/symmetric.h"
#include "math/units.h"
#include "system/system.h"

namespace quiltmd {

// ---- Groups --------------------------------------------------------------------------------

// Each group type knows
//   size(): places of atoms; atoms(): how many of them are taken (the others have no mass, stay at
//     rest at the origin and are never stored)
//   make_shape(): to be called once masses, lengths and positions are there
//   project(vectors, rate): leaves of vectors at `position` what the constraints allow; where that
//     takes iterations, until no length changes faster than `rate` (relative, 1/ps)
//   constrain(moved, correction, tolerance): what to add to displacements from `position`

// A rigid water: the fast path, free of branches.
struct RigidWater {
  using Vectors = Vec3d[3];
  Vectors position, velocity, force, noise;
  double mass[3], inverse_mass[3];
  double leg, base;
  Triangle triangle;

  QMD_HD static constexpr int size() { return 3; }
  QMD_HD static constexpr int atoms() { return 3; }
  QMD_HD double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  QMD_HD void make_shape() { triangle = make_triangle(mass[0], mass[1], leg, base); }
  QMD_HD bool project(Vec3d* vectors, double /*rate*/) const {
    quiltmd::project(triangle, position, vectors);
    return true;
  }
  QMD_HD bool constrain(const Vec3d* moved, Vec3d* correction, double /*tolerance*/) const {
    settle(triangle, position, moved, correction);
    return true;
  }
};

// An atom alone, or a heavy atom and up to three hydrogens constrained to it.
struct StarGroup {
  using Vectors = Vec3d[kStarAtoms];
  Vectors position, velocity, force, noise;
  double mass[kStarAtoms], inverse_mass[kStarAtoms], length[kStarBonds];
  int taken;

  QMD_HD static constexpr int size() { return kStarAtoms; }
  QMD_HD int atoms() const { return taken; }
  QMD_HD double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  QMD_HD void make_shape() {}
  QMD_HD Star star() const { return {inverse_mass, length, taken - 1}; }
  QMD_HD bool project(Vec3d* vectors, double /*rate*/) const {
    return quiltmd::project(star(), position, vectors);
  }
  QMD_HD bool constrain(const Vec3d* moved, Vec3d* correction, double tolerance) const {
    return quiltmd::constrain(star(), position, moved, correction, tolerance);
  }
};

// Any group of up to kSmallGroupSize atoms. `Numbers` and `VectorArray` are arrays by atom; where one
// thread has the group they are plain ones.
template <class Numbers, class VectorArray>
struct AnyGroup {
  using Vectors = VectorArray;
  Vectors position, velocity, force, noise;
  Numbers mass, inverse_mass;
  int taken;
  const GroupConstraint* constraints;
  int constraint_count;

  QMD_HD int size() const { return taken; }
  QMD_HD int atoms() const { return taken; }
  QMD_HD double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  QMD_HD void make_shape() {}
  QMD_HD void find(const GroupTable& c, int group) {
    const GroupShape& shape = c.shape(group);
    taken = shape.atoms;
    constraints = c.constraints + shape.first_constraint;
    constraint_count = shape.constraints;
  }
  QMD_HD ConstraintsOn<const Numbers&> set() const {
    return {constraints, constraint_count, inverse_mass};
  }
  QMD_HD bool project(Vectors& vectors, double rate) const {
    return rattle(set(), position, vectors, rate);
  }
  QMD_HD bool constrain(const Vectors& moved, Vectors& correction, double tolerance) const {
    Vectors& to = correction;
    for (int i = 0; i < taken; ++i) to[i] = position[i] + moved[i];
    const bool converged = shake(set(), position, to, tolerance);
    for (int i = 0; i < taken; ++i) correction[i] = to[i] - (position[i] + moved[i]);
    return converged;
  }
  // Moves atoms until the constraints hold, however far off they are: along the bonds as these change, by which
  // each length follows Newton's iteration for a square root.
  bool fit(double tolerance) { return shake(set(), position, position, tolerance); }
};
using SmallGroup = AnyGroup<double[kSmallGroupSize], Vec3d[kSmallGroupSize]>;

// ---- Loading and storing -------------------------------------------------------------------

// Force on the atom of a slot, kJ/mol/nm, as GroupWork::long_range_weight has it.
QMD_HD Vec3d total_force(const Slots& s, float long_range_weight, int slot) {
  const Vec3d near{from_fixed(s.force[0][slot], kForceScale),
                   from_fixed(s.force[1][slot], kForceScale),
                   from_fixed(s.force[2][slot], kForceScale)};
  if (long_range_weight == 0) return near;
  const Float4 far = s.long_range[slot];
  return {near.x + long_range_weight * far.x, near.y + long_range_weight * far.y,
          near.z + long_range_weight * far.z};
}

// The atoms of a placed group; its constraints are set by the caller.
template <class Group>
QMD_HD void load_atoms(const GroupWork& work, PlacedGroup placed, Group& g) {
  const GroupShape& shape = work.constants.shape(placed.group);
  for (int i = 0; i < g.atoms(); ++i) {
    const int slot = placed.slot + i;
    g.position[i] = work.slots.position[slot];
    g.velocity[i] = work.slots.velocity[slot];
    g.force[i] = total_force(work.slots, work.long_range_weight, slot);
    g.mass[i] = work.constants.mass[shape.first_mass + i];
    g.inverse_mass[i] = work.constants.inverse_mass[shape.first_mass + i];
  }
}

QMD_HD void load(const GroupWork& work, PlacedGroup placed, RigidWater& g) {
  const GroupShape& shape = work.constants.shape(placed.group);
  g.leg = shape.length[0];
  g.base = shape.length[2];
  load_atoms(work, placed, g);
}

QMD_HD void load(const GroupWork& work, PlacedGroup placed, StarGroup& g) {
  const GroupShape& shape = work.constants.shape(placed.group);
  g = {};
  g.taken = shape.atoms;
  for (int k = 0; k < shape.constraints; ++k) g.length[k] = shape.length[k];
  load_atoms(work, placed, g);
}

QMD_HD void load(const GroupWork& work, PlacedGroup placed, SmallGroup& g) {
  g.find(work.constants, placed.group);
  load_atoms(work, placed, g);
}

// Data of an atom's position in a slot besides the position itself.
struct PlacedPosition {
  Float4 local,
      low;        // the coordinates from the patch's centre in single precision; what that leaves
  double moved2;  // squared displacement since the lists were built
};
QMD_HD PlacedPosition placed_position(Vec3d position, Vec3d origin, Vec3d reference, float charge) {
  const Vec3d moved = position - reference;
  PlacedPosition placed;
  split(position - origin, charge, placed.local, placed.low);
  placed.moved2 = dot(moved, moved);
  return placed;
}

// Write a position and what the force kernels read of it; returns the squared displacement.
QMD_HD double store_position(const Slots& s, int slot, Vec3d origin, Vec3d position) {
  const PlacedPosition placed =
      placed_position(position, origin, s.reference[slot], s.local[slot].w);
  s.position[slot] = position;
  s.local[slot] = placed.local;
  s.low[slot] = placed.low;
  return placed.moved2;
}

// ---- Pieces of stages ----------------------------------------------------------------------

template <class Group>
QMD_HD void kick(Group& g, double time) {
  for (int i = 0; i < g.size(); ++i) g.velocity[i] += (time * g.inverse_mass[i]) * g.force[i];
}

template <class Group>
QMD_HD double kinetic_energy(const Group& g) {
  double twice = 0;
  for (int i = 0; i < g.size(); ++i) twice += g.mass[i] * dot(g.velocity[i], g.velocity[i]);
  return 0.5 * twice;
}

// Into sums[0 ... 2], scale kForceScale.
template <class Group>
QMD_HD void add_momentum(const Group& g, int64_t* sums) {
  for (int i = 0; i < g.size(); ++i) {
    sums[0] += to_fixed(g.mass[i] * g.velocity[i].x, kForceScale);
    sums[1] += to_fixed(g.mass[i] * g.velocity[i].y, kForceScale);
    sums[2] += to_fixed(g.mass[i] * g.velocity[i].z, kForceScale);
  }
}

// Sums of a group for energy[kKinetic], [kVirial ...] and [kKineticTensor ...], which are contiguous.
inline constexpr int kKineticSums = 1 + 2 * Symmetric::kParts;
static_assert(kVirial == kKinetic + 1 && kKineticTensor == kVirial + Symmetric::kParts);

// A strain of the box moves a group by its centre of mass, so (r - centre) (x) force of its atoms is
// not part of the virial.
template <class Group>
QMD_HD void add_kinetic(const Group& g, int64_t* sums) {
  double mass = 0;
  Vec3d momentum{0, 0, 0}, lever{0, 0, 0};
  for (int i = 0; i < g.size(); ++i) {
    sums[0] += to_fixed(0.5 * g.mass[i] * dot(g.velocity[i], g.velocity[i]), kEnergyScale);
    mass += g.mass[i];
    momentum += g.mass[i] * g.velocity[i];
    lever += g.mass[i] * (g.position[i] - g.position[0]);
  }
  const double per_mass = 1 / mass;
  const Vec3d centre = g.position[0] + per_mass * lever;
  Symmetric virial{}, kinetic{};
  for (int i = 0; i < g.size(); ++i) virial.add_product(centre - g.position[i], g.force[i]);
  kinetic.add_product(per_mass * momentum, momentum);
  for (int k = 0; k < Symmetric::kParts; ++k) {
    sums[1 + k] += to_fixed(virial[k], kEnergyScale);
    sums[1 + Symmetric::kParts + k] += to_fixed(kinetic[k], kEnergyScale);
  }
}

// Move atoms by `moved` and constrain; the correction, made in `time`, is part of the velocity.
template <class Group>
QMD_HD bool move(Group& g, const typename Group::Vectors& moved, double time, double tolerance) {
  typename Group::Vectors correction;
  const bool converged = g.constrain(moved, correction, tolerance);
  const double per_time = 1 / time;
  for (int i = 0; i < g.size(); ++i) {
    g.position[i] = (g.position[i] + moved[i]) + correction[i];
    g.velocity[i] += per_time * correction[i];
  }
  return converged;
}

// ---- Stages --------------------------------------------------------------------------------
// Each changes a group and says what came of it.

struct Outcome {
  double heat = 0;  // energy that a thermostat gave, kJ/mol
  bool converged = true;
};

template <class Group>
QMD_HD Outcome verlet_start(const VerletStart& op, Group& g) {
  g.make_shape();
  kick(g, 0.5 * op.timestep);
  typename Group::Vectors moved;
  for (int i = 0; i < g.size(); ++i) moved[i] = op.timestep * g.velocity[i];
  return {0, move(g, moved, op.timestep, op.work.constraint_tolerance)};
}

template <class Group>
QMD_HD Outcome verlet_finish(const VerletFinish& op, Group& g) {
  g.make_shape();
  kick(g, 0.5 * op.timestep);
  return {0, g.project(g.velocity, op.work.constraint_tolerance / op.timestep)};
}

template <class Group>
QMD_HD Outcome verlet_step(const VerletStep& op, Group& g) {
  const Outcome finish = verlet_finish(VerletFinish{op.work, op.timestep}, g);
  const Outcome start = verlet_start(VerletStart{op.work, op.timestep}, g);
  return {0, finish.converged && start.converged};
}

// The heat is a product with velocities that are not projected, so what a projection leaves undone
// must be less than elsewhere.
inline constexpr double kHeatTolerance = 1e-3;

// `g.noise` holds standard normal numbers. The thermostat's change of the velocities comes in two
// equal parts u, before and after the drift, as docs/theory/integrators.md derives. `Op`: of one bath or
// of several, of which `bath` is the group's.
template <class Op, class Group>
QMD_HD Outcome langevin_middle(const Op& op, const HeatBath& bath, Group& g) {
  g.make_shape();
  kick(g, op.timestep);
  const double lose = 0.5 * (bath.keep - 1), scale = 0.5 * bath.noise_scale;
  for (int i = 0; i < g.size(); ++i) {
    g.noise[i] = (scale * g.root_inverse_mass(i)) * g.noise[i] + lose * g.velocity[i];
    g.velocity[i] += g.noise[i];
  }
  const double tolerance = op.work.constraint_tolerance;
  bool converged = g.project(g.noise, kHeatTolerance * tolerance / op.timestep);
  double heat = 0;
  for (int i = 0; i < g.size(); ++i) heat += g.mass[i] * dot(g.noise[i], g.velocity[i]);

  typename Group::Vectors moved;
  for (int i = 0; i < g.size(); ++i) {
    moved[i] = op.timestep * g.velocity[i];
    g.velocity[i] += g.noise[i];
  }
  converged &= move(g, moved, op.timestep, tolerance);
  return {2 * heat, converged};
}

// Velocities need no more accuracy than in a step of a femtosecond.
inline constexpr double kDrawTime = 1e-3;  // ps

template <class Group>
QMD_HD Outcome draw_velocities(const DrawVelocities& op, Group& g) {
  g.make_shape();
  const double thermal = std::sqrt(kBoltzmann * op.temperature);
  for (int i = 0; i < g.size(); ++i)
    g.velocity[i] = (thermal * g.root_inverse_mass(i)) * g.noise[i];
  return {0, g.project(g.velocity, op.work.constraint_tolerance / kDrawTime)};
}

// Minimisation, with masses of 1: removes the force components along the constraints.
template <class Group>
QMD_HD Outcome project_force(double tolerance, Group& g) {
  g.make_shape();
  double largest = 0;
  for (int i = 0; i < g.size(); ++i) {
    const double f2 = dot(g.force[i], g.force[i]);
    largest = f2 > largest ? f2 : largest;
  }
  // Relative to a bond of 0.1 nm.
  return {0, g.project(g.force, tolerance * std::sqrt(largest) / 0.1)};
}

// A group without mass goes with its first atom.
QMD_HD void scale_group(const ScaleGroups& op, PlacedGroup placed) {
  const GroupTable& c = op.work.constants;
  const int atoms = c.group_start[placed.group + 1] - c.group_start[placed.group];
  const double* const masses = c.masses(placed.group);
  Vec3d* const position = op.work.slots.position + placed.slot;
  double mass = 0;
  Vec3d lever{0, 0, 0};
  for (int i = 0; i < atoms; ++i) {
    mass += masses[i];
    lever += masses[i] * (position[i] - position[0]);
  }
  const Vec3d centre = mass > 0 ? position[0] + (1 / mass) * lever : position[0];
  const Vec3d moved = op.work.conditions->box.to_cartesian(op.from->to_fraction(centre)) - centre;
  for (int i = 0; i < atoms; ++i) position[i] += moved;
}

// Returns the change of the kinetic energy.
QMD_HD double rescale_group(const RescaleGroups& op, PlacedGroup placed) {
  scale_group(ScaleGroups{op.work, op.from}, placed);
  const int atoms = op.work.constants.shape(placed.group).atoms;
  const double* const masses = op.work.constants.masses(placed.group);
  Vec3d* const velocity = op.work.slots.velocity + placed.slot;
  double mass = 0;
  Vec3d momentum{0, 0, 0};
  for (int i = 0; i < atoms; ++i) {
    mass += masses[i];
    momentum += masses[i] * velocity[i];
  }
  if (!(mass > 0)) return 0;
  const Box &from = *op.from, &to = op.work.conditions->box;
  const Vec3d before = (1 / mass) * momentum;
  const Vec3d after{before.x * (from.ax / to.ax), before.y * (from.by / to.by),
                    before.z * (from.cz / to.cz)};
  for (int i = 0; i < atoms; ++i) velocity[i] += after - before;
  return 0.5 * mass * (dot(after, after) - dot(before, before));
}

QMD_HD void set_group(const SetState& op, int index) {
  const PlacedGroup placed = op.work.placed[index];
  const GroupTable& c = op.work.constants;
  const int end = placed.slot + c.group_start[placed.group + 1] - c.group_start[placed.group];
  for (int slot = placed.slot; slot < end; ++slot) {
    store_position(op.work.slots, slot, op.work.origin[index], op.position[slot]);
    op.work.slots.velocity[slot] = op.velocity[slot];
  }
}

QMD_HD void count_potential(const CountPotential& op) {
  int64_t sum = 0;
  for (int k = kPotentialEnergies; k < op.kinds; ++k) sum += op.energy[k];
  *op.to += op.sign * sum;
}

template <class Group>
QMD_HD Outcome scale_velocities(double factor, Group& g) {
  const double before = kinetic_energy(g);
  for (int i = 0; i < g.size(); ++i) g.velocity[i] = factor * g.velocity[i];
  return {kinetic_energy(g) - before, true};
}

// The same of a group where it lies, for baths of groups: the bits of a group that has been loaded.
QMD_HD double kinetic_energy(const GroupWork& work, PlacedGroup placed) {
  const int atoms = work.constants.shape(placed.group).atoms;
  const double* const masses = work.constants.masses(placed.group);
  const Vec3d* const velocity = work.slots.velocity + placed.slot;
  double twice = 0;
  for (int i = 0; i < atoms; ++i) twice += masses[i] * dot(velocity[i], velocity[i]);
  return 0.5 * twice;
}

// Returns the change of the kinetic energy.
QMD_HD double scale_velocities(const ScaleVelocitiesGroups& op, PlacedGroup placed) {
  const int atoms = op.work.constants.shape(placed.group).atoms;
  Vec3d* const velocity = op.work.slots.velocity + placed.slot;
  const double factor = op.factor[op.table.of_group[placed.group]];
  const double before = kinetic_energy(op.work, placed);
  for (int i = 0; i < atoms; ++i) velocity[i] = factor * velocity[i];
  return kinetic_energy(op.work, placed) - before;
}

template <class Group>
QMD_HD Outcome remove_momentum(const RemoveMomentum& op, Group& g) {
  const double per_mass = 1 / (kForceScale * op.total_mass);
  const Vec3d drift_velocity =
      at_rest(op.resting, {per_mass * static_cast<double>(op.momentum[0]),
                           per_mass * static_cast<double>(op.momentum[1]),
                           per_mass * static_cast<double>(op.momentum[2])});
  const double before = kinetic_energy(g);
  for (int i = 0; i < g.size(); ++i) g.velocity[i] -= drift_velocity;
  return {kinetic_energy(g) - before, true};
}

}  // namespace quiltmd
