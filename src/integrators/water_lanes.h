// SPDX-License-Identifier: Apache-2.0
// Several rigid waters side by side, so that the stages that are most of the work run on vectors.
// The physics stays the scalar code of stage_physics.h: a loop over lanes that the compiler turns
// into vector code for each instruction set. Every lane gives the bits that it gives alone.
#pragma once

#include "integrators/stage_physics.h"

namespace quiltmd {

struct WaterLanes {
  static constexpr int kWidth = 8;
  template <class T>
  using Lanes = T[kWidth];

  // By atom and direction (3 i + d), then lane.
  alignas(64) Lanes<double> position[9], velocity[9], force[9];
  alignas(64) Lanes<float> noise[9];
  alignas(64) Lanes<double> apex_mass, base_mass, leg, base, heat;
  alignas(64) Lanes<uint32_t> first_atom;  // internal index
  int count = 0;
  Lanes<int> placed;  // index of the placed group

  void put(int lane, const RigidWater& g) {
    for (int i = 0; i < 3; ++i) {
      for (int d = 0; d < 3; ++d) {
        position[3 * i + d][lane] = g.position[i][d];
        velocity[3 * i + d][lane] = g.velocity[i][d];
        force[3 * i + d][lane] = g.force[i][d];
      }
    }
    apex_mass[lane] = g.mass[0];
    base_mass[lane] = g.mass[1];
    leg[lane] = g.leg;
    base[lane] = g.base;
  }
};

// Apply a stage to all lanes (those beyond `count` must hold some water, too).
void apply(const VerletStart& op, WaterLanes& lanes);
void apply(const VerletFinish& op, WaterLanes& lanes);
void apply(const VerletStep& op, WaterLanes& lanes);
void apply(const LangevinMiddle& op, WaterLanes& lanes);

}  // namespace quiltmd
