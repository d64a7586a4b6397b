// SPDX-License-Identifier: Apache-2.0
// What the stages of a step do to one hydrogen group: written once, for the host and for GPUs. A
// kernel loads a group (RigidWater, or SmallGroup for everything else), applies a stage, and stores
// it. Stages read like the papers they come from; the group types know how its constraints are met.
//
// Double precision throughout: positions are unwrapped and trajectories long. Nothing here depends
// on where a group lies or who computes it, so results do not either.
#pragma once

#include "computes/constraints/settle.h"
#include "computes/constraints/shake.h"
#include "integrators/operations.h"
#include "math/fixed.h"
#include "math/philox.h"
#include "math/split.h"
#include "math/units.h"
#include "system/system.h"

namespace quiltmd {

// Which masses weigh the constraints: those of the atoms, or 1 for all (minimisation, where the
// steepest descent is meant in plain Cartesian space).
enum class Masses { kReal, kUnit };

// ---- Groups --------------------------------------------------------------------------------

// A rigid water: the fast path, free of branches.
struct RigidWater {
  static constexpr int kCapacity = 3;
  Vec3d position[3], velocity[3], force[3], noise[3];
  double mass[3], inverse_mass[3];
  double leg, base;
  Triangle triangle;
  TriangleTangent tangent;

  QMD_HD int size() const { return 3; }
  QMD_HD double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  // Call once the masses are there.
  QMD_HD void make_shape() { triangle = make_triangle(mass[0], mass[1], leg, base); }
  // Take the directions of the constraints from the present positions.
  QMD_HD void make_tangent(double /*rate*/) { tangent = quiltmd::make_tangent(triangle, position); }
  QMD_HD bool project(Vec3d* vectors) const {
    quiltmd::project(tangent, vectors);
    return true;
  }
  QMD_HD bool constrain(const Vec3d* from, double /*tolerance*/) {
    settle(triangle, from, position);
    return true;
  }
};

// Any group of up to kMaxGroupSize atoms.
struct SmallGroup {
  static constexpr int kCapacity = kMaxGroupSize;
  Vec3d position[kCapacity], velocity[kCapacity], force[kCapacity], noise[kCapacity];
  double mass[kCapacity], inverse_mass[kCapacity];
  int atoms;
  const GroupConstraint* constraints;
  int constraint_count;
  Vec3d at[kCapacity];
  double rate;

  QMD_HD int size() const { return atoms; }
  QMD_HD double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  QMD_HD void make_shape() {}
  QMD_HD void make_tangent(double largest_rate) {
    rate = largest_rate;
    for (int i = 0; i < atoms; ++i) at[i] = position[i];
  }
  QMD_HD ConstraintSet set() const { return {constraints, constraint_count, inverse_mass}; }
  QMD_HD bool project(Vec3d* vectors) const { return rattle(set(), at, vectors, rate); }
  QMD_HD bool constrain(const Vec3d* from, double tolerance) {
    return shake(set(), from, position, tolerance);
  }
};

// Whether a group is a rigid water that SETTLE can treat: O and two equal H, and lengths to match.
QMD_HD bool is_rigid_water(const Constants& c, int group) {
  const int first = c.group_start[group], begin = c.constraint_start[group];
  if (c.group_start[group + 1] - first != 3 || c.constraint_start[group + 1] - begin != 3)
    return false;
  const GroupConstraint* k = c.constraints + begin;
  return k[0].first == 0 && k[0].second == 1 && k[1].first == 0 && k[1].second == 2 &&
         k[0].length == k[1].length && c.mass[first + 1] == c.mass[first + 2];
}

// ---- Loading and storing -------------------------------------------------------------------

// Force on the atom of a slot, kJ/mol/nm.
QMD_HD Vec3d total_force(const Slots& s, int slot) {
  const Float4 far = s.long_range[slot];
  return {from_fixed(s.force[0][slot], kForceScale) + far.x,
          from_fixed(s.force[1][slot], kForceScale) + far.y,
          from_fixed(s.force[2][slot], kForceScale) + far.z};
}

// The atoms of a placed group; its constraints are set by the caller.
template <class Group>
QMD_HD void load_atoms(const GroupWork& work, PlacedGroup placed, Masses masses, Group& g) {
  const int first = work.constants.group_start[placed.group];
  for (int i = 0; i < g.size(); ++i) {
    const int slot = placed.slot + i;
    g.position[i] = work.slots.position[slot];
    g.velocity[i] = work.slots.velocity[slot];
    g.force[i] = total_force(work.slots, slot);
    g.mass[i] = masses == Masses::kReal ? work.constants.mass[first + i] : 1.0;
    g.inverse_mass[i] = masses == Masses::kReal ? work.constants.inverse_mass[first + i] : 1.0;
  }
}

QMD_HD void load(const GroupWork& work, PlacedGroup placed, Masses masses, RigidWater& g) {
  const GroupConstraint* k =
      work.constants.constraints + work.constants.constraint_start[placed.group];
  g.leg = k[0].length;
  g.base = k[2].length;
  load_atoms(work, placed, masses, g);
}

QMD_HD void load(const GroupWork& work, PlacedGroup placed, Masses masses, SmallGroup& g) {
  const Constants& c = work.constants;
  g.atoms = c.group_start[placed.group + 1] - c.group_start[placed.group];
  g.constraints = c.constraints + c.constraint_start[placed.group];
  g.constraint_count = c.constraint_start[placed.group + 1] - c.constraint_start[placed.group];
  load_atoms(work, placed, masses, g);
}

// What a slot holds of an atom's position besides the position itself.
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
QMD_HD void drift(Group& g, double time) {
  for (int i = 0; i < g.size(); ++i) g.position[i] += time * g.velocity[i];
}

template <class Group>
QMD_HD double kinetic_energy(const Group& g) {
  double twice = 0;
  for (int i = 0; i < g.size(); ++i) twice += g.mass[i] * dot(g.velocity[i], g.velocity[i]);
  return 0.5 * twice;
}

// Constrain positions, starting from directions at `from`; the correction, made in `time`, is part
// of the velocity.
template <class Group>
QMD_HD bool constrain_and_correct(Group& g, const Vec3d* from, double time, double tolerance) {
  Vec3d free[Group::kCapacity];
  for (int i = 0; i < g.size(); ++i) free[i] = g.position[i];
  const bool converged = g.constrain(from, tolerance);
  const double per_time = 1 / time;
  for (int i = 0; i < g.size(); ++i) g.velocity[i] += per_time * (g.position[i] - free[i]);
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
  Vec3d from[Group::kCapacity];
  for (int i = 0; i < g.size(); ++i) from[i] = g.position[i];
  g.make_shape();
  kick(g, 0.5 * op.timestep);
  drift(g, op.timestep);
  return {0, constrain_and_correct(g, from, op.timestep, op.work.constraint_tolerance)};
}

template <class Group>
QMD_HD Outcome verlet_finish(const VerletFinish& op, Group& g) {
  g.make_shape();
  g.make_tangent(op.work.constraint_tolerance / op.timestep);
  kick(g, 0.5 * op.timestep);
  return {0, g.project(g.velocity)};
}

template <class Group>
QMD_HD Outcome verlet_step(const VerletStep& op, Group& g) {
  const Outcome finish = verlet_finish(VerletFinish{op.work, op.timestep}, g);
  const Outcome start = verlet_start(VerletStart{op.work, op.timestep}, g);
  return {0, finish.converged && start.converged};
}

// `g.noise` holds standard normal numbers.
template <class Group>
QMD_HD Outcome langevin_middle(const LangevinMiddle& op, Group& g) {
  Vec3d from[Group::kCapacity];
  for (int i = 0; i < g.size(); ++i) from[i] = g.position[i];
  g.make_shape();
  g.make_tangent(op.work.constraint_tolerance / op.timestep);

  kick(g, op.timestep);
  bool converged = g.project(g.velocity);
  drift(g, 0.5 * op.timestep);

  const double before = kinetic_energy(g);
  for (int i = 0; i < g.size(); ++i)
    g.noise[i] = (op.noise_scale * g.root_inverse_mass(i)) * g.noise[i];
  converged &= g.project(g.noise);
  for (int i = 0; i < g.size(); ++i) g.velocity[i] = op.keep * g.velocity[i] + g.noise[i];
  const double heat = kinetic_energy(g) - before;

  drift(g, 0.5 * op.timestep);
  converged &= constrain_and_correct(g, from, op.timestep, op.work.constraint_tolerance);
  return {heat, converged};
}

// Velocities need no more accuracy than in a step of a femtosecond.
inline constexpr double kDrawTime = 1e-3;  // ps

template <class Group>
QMD_HD Outcome draw_velocities(const DrawVelocities& op, Group& g) {
  g.make_shape();
  g.make_tangent(op.work.constraint_tolerance / kDrawTime);
  const double thermal = std::sqrt(kBoltzmann * op.temperature);
  for (int i = 0; i < g.size(); ++i)
    g.velocity[i] = (thermal * g.root_inverse_mass(i)) * g.noise[i];
  return {0, g.project(g.velocity)};
}

// Masses::kUnit: force becomes what of it the constraints leave.
template <class Group>
QMD_HD Outcome project_force(double tolerance, Group& g) {
  g.make_shape();
  double largest = 0;
  for (int i = 0; i < g.size(); ++i) {
    const double f2 = dot(g.force[i], g.force[i]);
    largest = f2 > largest ? f2 : largest;
  }
  g.make_tangent(tolerance * std::sqrt(largest) / 0.1);  // relative to a bond of 0.1 nm
  return {0, g.project(g.force)};
}

// Masses::kUnit, positions at the point to start from.
template <class Group>
QMD_HD Outcome displace_along_force(const DisplaceAlongForce& op, Group& g) {
  Vec3d from[Group::kCapacity];
  for (int i = 0; i < g.size(); ++i) from[i] = g.position[i];
  bool converged = project_force(op.work.constraint_tolerance, g).converged;
  for (int i = 0; i < g.size(); ++i) g.position[i] += op.scale * g.force[i];
  converged &= g.constrain(from, op.work.constraint_tolerance);
  return {0, converged};
}

template <class Group>
QMD_HD Outcome remove_momentum(const RemoveMomentum& op, Group& g) {
  const double per_mass = 1 / (kForceScale * op.total_mass);
  const Vec3d drift_velocity{per_mass * static_cast<double>(op.momentum[0]),
                             per_mass * static_cast<double>(op.momentum[1]),
                             per_mass * static_cast<double>(op.momentum[2])};
  const double before = kinetic_energy(g);
  for (int i = 0; i < g.size(); ++i) g.velocity[i] -= drift_velocity;
  return {kinetic_energy(g) - before, true};
}

}  // namespace quiltmd
