// SPDX-License-Identifier: Apache-2.0
// Several hydrogen groups of one kind side by side, so that the stages that are most of the work run
// on vectors: rigid waters, and atoms alone. The physics stays the scalar code of stage_physics.h: a
// loop over groups that the compiler turns into vector code for each instruction set. Every k gives
// the bits that it gives alone.
#pragma once

#include <type_traits>

#include "integrators/stage_physics.h"

namespace quiltmd {

// An atom alone, free of branches.
struct SingleAtom {
  using Vectors = Vec3d[1];
  Vectors position, velocity, force, noise;
  double mass[1], inverse_mass[1];

  static constexpr int size() { return 1; }
  static constexpr int atoms() { return 1; }
  double root_inverse_mass(int i) const { return std::sqrt(inverse_mass[i]); }
  void make_shape() {}
  bool project(Vec3d* /*vectors*/, double /*rate*/) const { return true; }
  bool constrain(const Vec3d* /*moved*/, Vec3d* correction, double /*tolerance*/) const {
    correction[0] = {0, 0, 0};
    return true;
  }
};

inline void load(const GroupWork& work, PlacedGroup placed, SingleAtom& g) {
  load_atoms(work, placed, g);
}

template <class Group>
struct Batch {
  static constexpr int kWidth = 8;
  static constexpr int kAtoms = Group::atoms();
  static constexpr bool kWaters = std::is_same_v<Group, RigidWater>;
  template <class T>
  using Values = T[kWidth];

  // Indexed by atom and direction (3 i + d), then by group.
  alignas(64) Values<double> position[3 * kAtoms], velocity[3 * kAtoms], force[3 * kAtoms];
  alignas(64) Values<float> noise[3 * kAtoms];
  alignas(64) Values<double> mass[kAtoms], inverse_mass[kAtoms], heat;
  alignas(64) Values<double> leg, base;     // of waters
  alignas(64) Values<uint32_t> first_atom;  // internal index
  int count = 0;
  int bath = 0;        // of all of them
  Values<int> placed;  // index of the placed group

  void put(int k, const Group& g) {
    for (int i = 0; i < kAtoms; ++i) {
      for (int d = 0; d < 3; ++d) {
        position[3 * i + d][k] = g.position[i][d];
        velocity[3 * i + d][k] = g.velocity[i][d];
        force[3 * i + d][k] = g.force[i][d];
      }
      mass[i][k] = g.mass[i];
      inverse_mass[i][k] = g.inverse_mass[i];
    }
    if constexpr (kWaters) leg[k] = g.leg, base[k] = g.base;
  }
};

// Apply a stage to all groups of a batch (those beyond `count` must hold some group, too).
template <class Op, class Group>
void apply(const Op& op, Batch<Group>& batch);

}  // namespace quiltmd
