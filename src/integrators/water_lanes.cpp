// SPDX-License-Identifier: Apache-2.0
// Stages on lanes of waters, compiled once per instruction set; the best one is chosen when first
// called. The loops hold no branches and `flatten` puts everything into them, which is what lets
// the compiler vectorise them whole. Operations come by value, lest they alias the lanes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integrators/water_lanes.cpp"
#include "integrators/water_lanes.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#define QMD_FLAT __attribute__((flatten))

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

inline Vec3d lane_vector(const WaterLanes::Lanes<double>* values, int atom, int lane) {
  return {values[3 * atom][lane], values[3 * atom + 1][lane], values[3 * atom + 2][lane]};
}

inline void set_lane(WaterLanes::Lanes<double>* values, int atom, int lane, Vec3d v) {
  values[3 * atom][lane] = v.x;
  values[3 * atom + 1][lane] = v.y;
  values[3 * atom + 2][lane] = v.z;
}

inline RigidWater get(const WaterLanes& lanes, int lane) {
  RigidWater g;
  for (int i = 0; i < 3; ++i) {
    g.position[i] = lane_vector(lanes.position, i, lane);
    g.velocity[i] = lane_vector(lanes.velocity, i, lane);
    g.force[i] = lane_vector(lanes.force, i, lane);
    g.noise[i] = {lanes.noise[3 * i][lane], lanes.noise[3 * i + 1][lane],
                  lanes.noise[3 * i + 2][lane]};
    g.mass[i] = i == 0 ? lanes.apex_mass[lane] : lanes.base_mass[lane];
    g.inverse_mass[i] = 1 / g.mass[i];
  }
  g.leg = lanes.leg[lane];
  g.base = lanes.base[lane];
  return g;
}

inline void set(WaterLanes& lanes, int lane, const RigidWater& g, const Outcome& outcome) {
  for (int i = 0; i < 3; ++i) {
    set_lane(lanes.position, i, lane, g.position[i]);
    set_lane(lanes.velocity, i, lane, g.velocity[i]);
  }
  lanes.heat[lane] = outcome.heat;
}

QMD_FLAT void draw_noise(uint64_t seed, uint64_t step, WaterLanes& lanes) {
  for (int i = 0; i < 3; ++i) {
    for (int lane = 0; lane < WaterLanes::kWidth; ++lane) {
      const Vec3f g = gaussian3f(seed, step, lanes.first_atom[lane] + static_cast<uint32_t>(i),
                                 RandomStream::kThermostat);
      lanes.noise[3 * i][lane] = g.x;
      lanes.noise[3 * i + 1][lane] = g.y;
      lanes.noise[3 * i + 2][lane] = g.z;
    }
  }
}

QMD_FLAT void start(VerletStart op, WaterLanes& lanes) {
  for (int lane = 0; lane < WaterLanes::kWidth; ++lane) {
    RigidWater g = get(lanes, lane);
    const Outcome outcome = verlet_start(op, g);
    set(lanes, lane, g, outcome);
  }
}

QMD_FLAT void finish(VerletFinish op, WaterLanes& lanes) {
  for (int lane = 0; lane < WaterLanes::kWidth; ++lane) {
    RigidWater g = get(lanes, lane);
    const Outcome outcome = verlet_finish(op, g);
    set(lanes, lane, g, outcome);
  }
}

QMD_FLAT void step(VerletStep op, WaterLanes& lanes) {
  for (int lane = 0; lane < WaterLanes::kWidth; ++lane) {
    RigidWater g = get(lanes, lane);
    const Outcome outcome = verlet_step(op, g);
    set(lanes, lane, g, outcome);
  }
}

QMD_FLAT void langevin(LangevinMiddle op, WaterLanes& lanes) {
  draw_noise(op.seed, static_cast<uint64_t>(*op.work.step), lanes);
  const HeatBath bath = op.work.conditions->bath;
  for (int lane = 0; lane < WaterLanes::kWidth; ++lane) {
    RigidWater g = get(lanes, lane);
    const Outcome outcome = langevin_middle(op, bath, g);
    set(lanes, lane, g, outcome);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {

HWY_EXPORT(start);
HWY_EXPORT(finish);
HWY_EXPORT(step);
HWY_EXPORT(langevin);

void apply(const VerletStart& op, WaterLanes& lanes) { HWY_DYNAMIC_DISPATCH(start)(op, lanes); }
void apply(const VerletFinish& op, WaterLanes& lanes) { HWY_DYNAMIC_DISPATCH(finish)(op, lanes); }
void apply(const VerletStep& op, WaterLanes& lanes) { HWY_DYNAMIC_DISPATCH(step)(op, lanes); }
void apply(const LangevinMiddle& op, WaterLanes& lanes) {
  HWY_DYNAMIC_DISPATCH(langevin)(op, lanes);
}

}  // namespace quiltmd
#endif
