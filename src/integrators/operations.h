// SPDX-License-Identifier: Apache-2.0
// Operations that move atoms: one per stage of a step, over the hydrogen groups of a rank. Each
// reads forces, updates velocities and positions with constraints satisfied, and writes what the
// force kernels read next. After VerletStart, VerletStep, LangevinMiddle and LangevinMiddleGroups other
// operations come before the next stage: on a GPU its beginning would overlap with their end.
#pragma once

#include "computes/constraints/group_constraint.h"
#include "decomposition/conditions.h"
#include "decomposition/energies.h"
#include "decomposition/faults.h"
#include "decomposition/slots.h"
#include "integrators/group_shapes.h"
#include "integrators/heat_baths.h"

namespace quiltmd {

// Masses and constraints of hydrogen groups, which never change: each group has a shape, and each shape
// its rows of the arrays.
struct GroupTable {
  const double* mass;
  const double* inverse_mass;
  const int32_t* group_start;  // (groups + 1) first atom of each group
  const int32_t* mass_end;     // (groups) where its atoms with masses end; virtual sites follow
  const GroupConstraint* constraints;
  const uint32_t* group_shape;  // ShapeCode of each group
  const GroupShape* shapes;

  QMD_HD ShapeCode code(int group) const { return {group_shape[group]}; }
  QMD_HD const GroupShape& shape(int group) const { return shapes[code(group).shape()]; }
  QMD_HD const double* masses(int group) const { return mass + shape(group).first_mass; }

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "mass, inverse_mass, group_start, mass_end, constraints, group_shape, shapes",
              mass, inverse_mass, group_start, mass_end, constraints, group_shape, shapes);
  }
};

// Large hydrogen groups of the system: how many, the most constraints of one, and the most elements of its factor
// (computes/constraints/coupled.h).
struct LargeGroups {
  int groups = 0, constraints = 0, elements = 0;
};

// Common parameters of all stages.
struct GroupWork {
  Slots slots;
  const PlacedGroup* placed;
  const int32_t* count;
  int capacity;
  float long_range_weight = 1;  // times that the long-range force counts; 0: it is not read
  int other_groups;             // of the system: neither waters nor stars
  LargeGroups large;
  const Vec3d* origin;  // by placed group
  GroupTable constants;
  double constraint_tolerance;  // relative
  const int64_t* step;          // number of the step being made; device memory
  double buffer_limit2;         // square of the displacement beyond which pair lists may miss pairs
  double blowup2;  // square of the largest sane displacement from the reference position
  Faults* faults;
  const Conditions* conditions;

  // Besides what each stage says of positions and velocities.
  void memory(MemoryUses& uses, Access) const {
    QMD_USES(kRead, slots.force, slots.atom, placed, count, origin, constants, extent(step, 1),
             conditions);
    if (long_range_weight != 0) QMD_USES(kRead, slots.long_range);
    Faults::reports(uses, faults);
    QMD_USES(kNone, slots);
  }
};

// Molecules that have several hydrogen groups, numbered from 0.
struct MoleculeTable {
  const int32_t* of_group;  // by group: the molecule; -1: the group is one by itself
  const int32_t* atoms;     // by molecule: how many

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "of_group, atoms", of_group, atoms);
  }
};

// Common parameters of barostats.
struct CellWork {
  Conditions* conditions;
  Box* before;  // receives the box as it was
  // Times the volume: what of the potential energy depends on it alone; of that, each element of the
  // diagonal of the virial.
  double constant_energy, constant_virial;
  double counted_energy;  // of this energy: 0 for all ranks but one, which counts it
  int molecule_count;     // including those of one group
  MoleculeTable molecules;
  Vec3d* saved;  // by slot: room until the rebuild

  void memory(MemoryUses& uses, Access access) const {
    uses.note(access, "conditions, before", conditions, extent(before, 1));
    QMD_USES(kNone, molecules, saved);
  }
};

// State of the force accumulators after a stage that has used the forces.
enum class ForcesAfter { kKept, kCleared };

// Velocity Verlet, first half: v += dt/2 f/m; x += dt v; constrain positions (and correct v).
struct VerletStart {
  static constexpr const char* kName = "verlet_start";
  GroupWork work;
  double timestep;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.position, work.slots.velocity, work.slots.local);
    QMD_USES(kWrite, work.slots.low);
    QMD_USES(kRead, work.slots.reference);
  }
};

// Velocity Verlet, second half: v += dt/2 f/m; constrain velocities.
struct VerletFinish {
  static constexpr const char* kName = "verlet_finish";
  GroupWork work;
  double timestep;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.velocity);
    QMD_USES(kRead, work.slots.position);
  }
};

// The second half of one step and the first half of the next in one pass; the same bits as
// VerletFinish followed by VerletStart.
struct VerletStep {
  static constexpr const char* kName = "verlet_step";
  GroupWork work;
  double timestep;
  ForcesAfter forces_after;
  int64_t* counter;  // null, or {step, 0}: the step is counted once all groups have read it

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.position, work.slots.velocity, work.slots.local);
    QMD_USES(kWrite, work.slots.low);
    QMD_USES(kRead, work.slots.reference);
    if (forces_after == ForcesAfter::kCleared) QMD_USES(kWrite, work.slots.force);
    QMD_USES(kReadWrite, extent(counter, 2));
  }
};

// Langevin-middle (Zhang et al., J. Phys. Chem. A 123, 6056 (2019)): v += dt f/m and v constrained;
// x += dt/2 v; v = a v + b noise, the noise projected on the constraints; x += dt/2 v; constrain
// positions (and correct v). The heat that the thermostat gave is added to energy[kHeat].
struct LangevinMiddle {
  static constexpr const char* kName = "langevin_middle";
  GroupWork work;
  double timestep;
  uint64_t seed;
  int64_t* energy;
  ForcesAfter forces_after;
  int64_t* counter;  // null, or {step, 0}: the step is counted once all groups have read it

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.position, work.slots.velocity, work.slots.local);
    QMD_USES(kWrite, work.slots.low);
    QMD_USES(kRead, work.slots.reference);
    if (forces_after == ForcesAfter::kCleared) QMD_USES(kWrite, work.slots.force);
    QMD_USES(kReadWrite, extent(counter, 2));
    QMD_USES(kAdd, energy);
  }
};

// The same where groups of atoms have heat baths of their own. Of atoms in a bath like that of the
// conditions it gives the bits of LangevinMiddle.
struct LangevinMiddleGroups {
  static constexpr const char* kName = "langevin_middle_groups";
  GroupWork work;
  double timestep;
  uint64_t seed;
  int64_t* energy;
  ForcesAfter forces_after;
  int64_t* counter;  // as above
  BathTable baths;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.position, work.slots.velocity, work.slots.local);
    QMD_USES(kWrite, work.slots.low);
    QMD_USES(kRead, work.slots.reference, baths);
    if (forces_after == ForcesAfter::kCleared) QMD_USES(kWrite, work.slots.force);
    QMD_USES(kReadWrite, extent(counter, 2));
    QMD_USES(kAdd, energy);
  }
};

// After the step: *step += 1. One thread.
struct CountStep {
  static constexpr const char* kName = "count_step";
  int64_t* step;

  void memory(MemoryUses& uses) const { QMD_USES(kReadWrite, extent(step, 1)); }
};

// Clear the force accumulators of all slots (owned and proxies).
struct ClearForces {
  static constexpr const char* kName = "clear_forces";
  Slots slots;
  const int32_t* slot_count;
  int slot_capacity;

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, slot_count);
    QMD_USES(kWrite, slots.force);
    QMD_USES(kNone, slots);
  }
};

// Over the owned groups, in fixed point: kinetic energy, atom by atom, and kKineticTensor; and what makes the
// virial that force kernels found for single atoms that of groups, into energy[kVirial ...].
struct KineticEnergy {
  static constexpr const char* kName = "kinetic_energy";
  GroupWork work;
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, work.slots.position, work.slots.velocity);
    QMD_USES(kAdd, energy);
  }
};

// Kinetic energy of the owned atoms (fixed point, kEnergyScale), added to *sum.
struct SumKineticEnergy {
  static constexpr const char* kName = "sum_kinetic_energy";
  GroupWork work;
  int64_t* sum;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, work.slots.position, work.slots.velocity);
    QMD_USES(kAdd, extent(sum, 1));
  }
};

// v *= factor; the change of kinetic energy counts as heat.
struct ScaleVelocities {
  static constexpr const char* kName = "scale_velocities";
  GroupWork work;
  const double* factor;
  int64_t* energy;  // heat; null: not counted

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.velocity);
    QMD_USES(kRead, work.slots.position, extent(factor, 1));
    QMD_USES(kAdd, energy);
  }
};

// The same of atoms in each heat bath of groups.
struct SumKineticEnergyGroups {
  static constexpr const char* kName = "sum_kinetic_energy_groups";
  GroupWork work;
  int64_t* sums;  // by bath
  BathTable table;
  int baths;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, work.slots.velocity, table);
    QMD_USES(kAdd, extent(sums, baths));
  }
};

struct ScaleVelocitiesGroups {
  static constexpr const char* kName = "scale_velocities_groups";
  GroupWork work;
  const double* factor;  // by bath
  int64_t* energy;       // heat; null: not counted
  BathTable table;
  int baths;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.velocity);
    QMD_USES(kRead, extent(factor, baths), table);
    QMD_USES(kAdd, energy);
  }
};

// Momentum of the owned atoms (fixed point, kForceScale) into momentum[3].
struct SumMomentum {
  static constexpr const char* kName = "sum_momentum";
  GroupWork work;
  int64_t* momentum;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, work.slots.position, work.slots.velocity);
    QMD_USES(kAdd, momentum);
  }
};

// v -= momentum / total mass along the axes at rest; the change of kinetic energy counts as heat.
struct RemoveMomentum {
  static constexpr const char* kName = "remove_momentum";
  GroupWork work;
  const int64_t* momentum;
  double total_mass;
  int resting;      // of CentreOfMass
  int64_t* energy;  // heat; null: not counted

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.velocity);
    QMD_USES(kRead, work.slots.position, momentum);
    QMD_USES(kAdd, energy);
  }
};

// Maxwell-Boltzmann velocities projected on the constraints (stream kVelocities).
struct DrawVelocities {
  static constexpr const char* kName = "draw_velocities";
  GroupWork work;
  double temperature;
  uint64_t seed;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.velocity);
    QMD_USES(kRead, work.slots.position);
  }
};

// The box has become that of the conditions: hydrogen groups go with it. Their centres of mass keep
// their place in fractions of the box; shape, orientation and velocities stay. Positions alone are
// written: a rebuild is to follow.
//
// Both boxes are read from device memory, so that an operation before this one may find the new one.
struct ScaleGroups {
  static constexpr const char* kName = "scale_groups";
  GroupWork work;
  const Box* from;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, extent(from, 1));
    QMD_USES(kReadWrite, work.slots.position);
  }
};

// The same, and the velocities of the centres of mass change as the inverse of the box, so that momenta
// in its fractions stay. The change of the kinetic energy counts as heat.
struct RescaleGroups {
  static constexpr const char* kName = "rescale_groups";
  GroupWork work;
  const Box* from;
  int64_t* energy;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kRead, extent(from, 1));
    QMD_USES(kReadWrite, work.slots.position, work.slots.velocity);
    QMD_USES(kAdd, energy);
  }
};

// Adds the present potential energy to a sum, with this sign: the effect of an operation is the energy after
// it minus the energy before it. One thread.
struct CountPotential {
  static constexpr const char* kName = "count_potential";
  const int64_t* energy;
  int kinds;  // of energies
  int sign;
  int64_t* to;  // perhaps the heat

  void memory(MemoryUses& uses) const {
    QMD_USES(kRead, extent(energy, kinds));
    QMD_USES(kReadWrite, extent(to, 1));
  }
};

// Set the state by slot: positions and velocities of owned slots, and what kernels read of them.
struct SetState {
  static constexpr const char* kName = "set_state";
  GroupWork work;
  const Vec3d* position;
  const Vec3d* velocity;

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.position, work.slots.velocity, work.slots.local);
    QMD_USES(kWrite, work.slots.low);
    QMD_USES(kRead, work.slots.reference);
    QMD_USES(kRead, position, velocity);
  }
};

}  // namespace quiltmd
