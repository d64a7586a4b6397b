// SPDX-License-Identifier: Apache-2.0
// Several rigid waters side by side, so that the stages that are most of the work run on vectors.
// The physics stays the scalar code of stage_physics.h: a loop over waters that the compiler turns
// into vector code for each instruction set. Every k gives the bits that it gives alone.
#pragma once

#include "integrators/stage_physics.h"

namespace quiltmd {

struct WaterBatch {
  static constexpr int kWidth = 8;
  template <class T>
  using Values = T[kWidth];

  // Indexed by atom and direction (3 i + d), then by water.
  alignas(64) Values<double> position[9], velocity[9], force[9];
  alignas(64) Values<float> noise[9];
  alignas(64) Values<double> apex_mass, base_mass, leg, base, heat;
  alignas(64) Values<uint32_t> first_atom;  // internal index
  int count = 0;
  int bath = 0;        // of all of them
  Values<int> placed;  // index of the placed group

  void put(int k, const RigidWater& g) {
    for (int i = 0; i < 3; ++i) {
      for (int d = 0; d < 3; ++d) {
        position[3 * i + d][k] = g.position[i][d];
        velocity[3 * i + d][k] = g.velocity[i][d];
        force[3 * i + d][k] = g.force[i][d];
      }
    }
    apex_mass[k] = g.mass[0];
    base_mass[k] = g.mass[1];
    leg[k] = g.leg;
    base[k] = g.base;
  }
};

// Apply a stage to all waters (those beyond `count` must hold some water, too).
void apply(const VerletStart& op, WaterBatch& waters);
void apply(const VerletFinish& op, WaterBatch& waters);
void apply(const VerletStep& op, WaterBatch& waters);
void apply(const LangevinMiddle& op, WaterBatch& waters);
void apply(const LangevinMiddleGroups& op, WaterBatch& waters);

}  // namespace quiltmd
