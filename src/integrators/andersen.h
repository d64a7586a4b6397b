// SPDX-License-Identifier: Apache-2.0
// Andersen's thermostat (J. Chem. Phys. 72, 2384 (1980)): now and then a hydrogen group collides with the
// heat bath, and has new velocities from the Maxwell-Boltzmann distribution, projected on its constraints.
// A group as a whole, since constraints share out what one of its atoms is given. In a time t each collides
// with the probability 1 - exp(-t / tau), whatever the others do: no sum over the system is needed.
#pragma once

#include "integrators/stage_physics.h"

namespace quiltmd {

// The bath of a group says with what probability it does not collide (HeatBath::keep). The change of the
// kinetic energy counts as heat.
struct Collide {
  static constexpr const char* kName = "collide";
  GroupWork work;
  uint64_t seed;
  int64_t* energy;
  BathTable baths;  // null: one bath, that of the conditions, has all groups

  void memory(MemoryUses& uses) const {
    QMD_USES(kNone, work);
    QMD_USES(kReadWrite, work.slots.velocity);
    QMD_USES(kRead, work.slots.position, baths);
    QMD_USES(kAdd, energy);
  }
};

// `g.noise` holds standard normal numbers. Lanes of a GPU may share a group, and project together, so all
// groups are given new velocities, which those that do not collide leave alone.
template <class Group>
QMD_HD Outcome collide(const Collide& op, PlacedGroup placed, Group& g) {
  g.make_shape();
  const GroupWork& work = op.work;
  const HeatBath bath = op.baths.of_group ? op.baths.of(placed.group) : work.conditions->bath;
  const auto atom = static_cast<uint32_t>(work.constants.group_start[placed.group]);
  const auto step = static_cast<uint64_t>(*work.step);
  const bool collides = uniform(op.seed, step, atom, RandomStream::kCollisions) >= bath.keep;
  const double thermal = std::sqrt(bath.thermal);
  for (int i = 0; i < g.size(); ++i) g.noise[i] = (thermal * g.root_inverse_mass(i)) * g.noise[i];
  const bool converged = g.project(g.noise, work.constraint_tolerance / kDrawTime);
  const double before = kinetic_energy(g);
  for (int i = 0; i < g.size(); ++i) {
    const Vec3d own = g.velocity[i], drawn = g.noise[i];
    g.velocity[i] = collides ? drawn : own;
  }
  return {kinetic_energy(g) - before, converged};
}

}  // namespace quiltmd
