// SPDX-License-Identifier: Apache-2.0
// Stages on batches of groups, compiled once per instruction set; the best one is chosen when first
// called. The loops hold no branches and `flatten` puts everything into them, which is what lets
// the compiler vectorise them whole. Operations come by value, so that they cannot alias the batch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "integrators/host_batches.cpp"
#include "integrators/host_batches.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#define QMD_FLAT __attribute__((flatten))

HWY_BEFORE_NAMESPACE();
namespace quiltmd {
namespace HWY_NAMESPACE {
namespace {

using Values = double[8];

inline Vec3d vector_of(const Values* values, int atom, int k) {
  return {values[3 * atom][k], values[3 * atom + 1][k], values[3 * atom + 2][k]};
}

inline void set_vector(Values* values, int atom, int k, Vec3d v) {
  values[3 * atom][k] = v.x;
  values[3 * atom + 1][k] = v.y;
  values[3 * atom + 2][k] = v.z;
}

template <class Group>
inline Group get(const Batch<Group>& batch, int k) {
  Group g;
  for (int i = 0; i < Group::atoms(); ++i) {
    g.position[i] = vector_of(batch.position, i, k);
    g.velocity[i] = vector_of(batch.velocity, i, k);
    g.force[i] = vector_of(batch.force, i, k);
    g.noise[i] = {batch.noise[3 * i][k], batch.noise[3 * i + 1][k], batch.noise[3 * i + 2][k]};
    g.mass[i] = batch.mass[i][k];
    g.inverse_mass[i] = batch.inverse_mass[i][k];
  }
  if constexpr (Batch<Group>::kWaters) g.leg = batch.leg[k], g.base = batch.base[k];
  return g;
}

template <class Group>
inline void set(Batch<Group>& batch, int k, const Group& g, const Outcome& outcome) {
  for (int i = 0; i < Group::atoms(); ++i) {
    set_vector(batch.position, i, k, g.position[i]);
    set_vector(batch.velocity, i, k, g.velocity[i]);
  }
  batch.heat[k] = outcome.heat;
}

template <class Group>
QMD_FLAT void draw_noise(uint64_t seed, uint64_t step, Batch<Group>& batch) {
  for (int i = 0; i < Group::atoms(); ++i) {
    for (int k = 0; k < Batch<Group>::kWidth; ++k) {
      const Vec3f g = gaussian3f(seed, step, batch.first_atom[k] + static_cast<uint32_t>(i),
                                 RandomStream::kThermostat);
      batch.noise[3 * i][k] = g.x;
      batch.noise[3 * i + 1][k] = g.y;
      batch.noise[3 * i + 2][k] = g.z;
    }
  }
}

template <class Group, class Stage>
inline void over_groups(Batch<Group>& batch, const Stage& stage) {
  for (int k = 0; k < Batch<Group>::kWidth; ++k) {
    Group g = get(batch, k);
    const Outcome outcome = stage(g);
    set(batch, k, g, outcome);
  }
}

template <class Group>
QMD_FLAT void run(VerletStart op, Batch<Group>& batch) {
  over_groups(batch, [op](Group& g) { return verlet_start(op, g); });
}

template <class Group>
QMD_FLAT void run(VerletFinish op, Batch<Group>& batch) {
  over_groups(batch, [op](Group& g) { return verlet_finish(op, g); });
}

template <class Group>
QMD_FLAT void run(VerletStep op, Batch<Group>& batch) {
  over_groups(batch, [op](Group& g) { return verlet_step(op, g); });
}

template <class Op, class Group>
QMD_FLAT void run_langevin(Op op, HeatBath bath, Batch<Group>& batch) {
  draw_noise(op.seed, static_cast<uint64_t>(*op.work.step), batch);
  over_groups(batch, [op, bath](Group& g) { return langevin_middle(op, bath, g); });
}

template <class Group>
QMD_FLAT void run(LangevinMiddle op, Batch<Group>& batch) {
  run_langevin(op, op.work.conditions->bath, batch);
}

template <class Group>
QMD_FLAT void run(LangevinMiddleGroups op, Batch<Group>& batch) {
  run_langevin(op, op.baths.baths[batch.bath], batch);
}

template <class Call>
QMD_FLAT void run_call(const typename Call::Stage& op, Batch<typename Call::Groups>& batch) {
  run(op, batch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace quiltmd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quiltmd {
namespace {

// One type for both, as a table of functions has one.
template <class Op, class Group>
struct CallOf {
  using Stage = Op;
  using Groups = Group;
};

template <class Call>
void choose(const typename Call::Stage& op, Batch<typename Call::Groups>& batch) {
  HWY_EXPORT_T(Table, run_call<Call>);
  HWY_DYNAMIC_DISPATCH_T(Table)(op, batch);
}

}  // namespace

template <class Op, class Group>
void apply(const Op& op, Batch<Group>& batch) {
  choose<CallOf<Op, Group>>(op, batch);
}

template void apply(const VerletStart&, Batch<RigidWater>&);
template void apply(const VerletFinish&, Batch<RigidWater>&);
template void apply(const VerletStep&, Batch<RigidWater>&);
template void apply(const LangevinMiddle&, Batch<RigidWater>&);
template void apply(const LangevinMiddleGroups&, Batch<RigidWater>&);
template void apply(const VerletStart&, Batch<SingleAtom>&);
template void apply(const VerletFinish&, Batch<SingleAtom>&);
template void apply(const VerletStep&, Batch<SingleAtom>&);
template void apply(const LangevinMiddle&, Batch<SingleAtom>&);
template void apply(const LangevinMiddleGroups&, Batch<SingleAtom>&);

}  // namespace quiltmd
#endif
