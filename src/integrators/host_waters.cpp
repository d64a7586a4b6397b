// SPDX-License-Identifier: Apache-2.0
// Stages on batches of waters, compiled once per instruction set; the best one is chosen when first
// called. The loops hold no branches and `flatten` puts everything into them, which is what lets
// the compiler vectorise them whole. Operations come by value, so that they cannot alias the waters.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integrators/host_waters.cpp"
#include "integrators/host_waters.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#define QMD_FLAT __attribute__((flatten))

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

inline Vec3d vector_of(const WaterBatch::Values<double>* values, int atom, int k) {
  return {values[3 * atom][k], values[3 * atom + 1][k], values[3 * atom + 2][k]};
}

inline void set_vector(WaterBatch::Values<double>* values, int atom, int k, Vec3d v) {
  values[3 * atom][k] = v.x;
  values[3 * atom + 1][k] = v.y;
  values[3 * atom + 2][k] = v.z;
}

inline RigidWater get(const WaterBatch& waters, int k) {
  RigidWater g;
  for (int i = 0; i < 3; ++i) {
    g.position[i] = vector_of(waters.position, i, k);
    g.velocity[i] = vector_of(waters.velocity, i, k);
    g.force[i] = vector_of(waters.force, i, k);
    g.noise[i] = {waters.noise[3 * i][k], waters.noise[3 * i + 1][k], waters.noise[3 * i + 2][k]};
    g.mass[i] = i == 0 ? waters.apex_mass[k] : waters.base_mass[k];
    g.inverse_mass[i] = 1 / g.mass[i];
  }
  g.leg = waters.leg[k];
  g.base = waters.base[k];
  return g;
}

inline void set(WaterBatch& waters, int k, const RigidWater& g, const Outcome& outcome) {
  for (int i = 0; i < 3; ++i) {
    set_vector(waters.position, i, k, g.position[i]);
    set_vector(waters.velocity, i, k, g.velocity[i]);
  }
  waters.heat[k] = outcome.heat;
}

QMD_FLAT void draw_noise(uint64_t seed, uint64_t step, WaterBatch& waters) {
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < WaterBatch::kWidth; ++k) {
      const Vec3f g = gaussian3f(seed, step, waters.first_atom[k] + static_cast<uint32_t>(i),
                                 RandomStream::kThermostat);
      waters.noise[3 * i][k] = g.x;
      waters.noise[3 * i + 1][k] = g.y;
      waters.noise[3 * i + 2][k] = g.z;
    }
  }
}

template <class Stage>
inline void over_waters(WaterBatch& waters, const Stage& stage) {
  for (int k = 0; k < WaterBatch::kWidth; ++k) {
    RigidWater g = get(waters, k);
    const Outcome outcome = stage(g);
    set(waters, k, g, outcome);
  }
}

QMD_FLAT void start(VerletStart op, WaterBatch& waters) {
  over_waters(waters, [op](RigidWater& g) { return verlet_start(op, g); });
}

QMD_FLAT void finish(VerletFinish op, WaterBatch& waters) {
  over_waters(waters, [op](RigidWater& g) { return verlet_finish(op, g); });
}

QMD_FLAT void step(VerletStep op, WaterBatch& waters) {
  over_waters(waters, [op](RigidWater& g) { return verlet_step(op, g); });
}

template <class Op>
QMD_FLAT void langevin_of(Op op, HeatBath bath, WaterBatch& waters) {
  draw_noise(op.seed, static_cast<uint64_t>(*op.work.step), waters);
  over_waters(waters, [op, bath](RigidWater& g) { return langevin_middle(op, bath, g); });
}

QMD_FLAT void langevin(LangevinMiddle op, WaterBatch& waters) {
  langevin_of(op, op.work.conditions->bath, waters);
}

QMD_FLAT void langevin_groups(LangevinMiddleGroups op, WaterBatch& waters) {
  langevin_of(op, op.baths.baths[waters.bath], waters);
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
HWY_EXPORT(langevin_groups);

void apply(const VerletStart& op, WaterBatch& waters) { HWY_DYNAMIC_DISPATCH(start)(op, waters); }
void apply(const VerletFinish& op, WaterBatch& waters) { HWY_DYNAMIC_DISPATCH(finish)(op, waters); }
void apply(const VerletStep& op, WaterBatch& waters) { HWY_DYNAMIC_DISPATCH(step)(op, waters); }
void apply(const LangevinMiddle& op, WaterBatch& waters) {
  HWY_DYNAMIC_DISPATCH(langevin)(op, waters);
}
void apply(const LangevinMiddleGroups& op, WaterBatch& waters) {
  HWY_DYNAMIC_DISPATCH(langevin_groups)(op, waters);
}

}  // namespace quiltmd
#endif
