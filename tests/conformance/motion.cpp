// SPDX-License-Identifier: Apache-2.0
// The stages of a step: from the same state and forces, the motion of the CPU kernels.
#include <cstdlib>
#include <numeric>

#include "integrators/andersen.h"
#include "integrators/cell_rescaling.h"
#include "integrators/monte_carlo.h"
#include "integrators/nose_hoover.h"
#include "integrators/velocity_rescaling.h"
#include "one_rank.h"
#include "suites.h"

namespace quiltmd::test {
namespace {

const Box kBox{3, 0, 3, 0, 0, 3};
constexpr Int3 kCells{2, 2, 2};
constexpr double kThermal = kBoltzmann * 300;
// A device may treat groups in another way when there are more than it works on at once.
constexpr int kFew = 700, kMany = 24000;
constexpr int kChains = 150, kLong = 37;

// A mixture of waters, CH0 to CH4, and random forces on it; with chains, groups of the largest size of small ones,
// or of `atoms`.
struct Input {
  System system;
  std::vector<Vec3d> positions, velocities, forces;

  explicit Input(uint64_t seed, int molecules = kFew, int chains = 0, int atoms = kSmallGroupSize) {
    Random random(seed);
    std::vector<Vec3d> given;
    System mixture = make_mixture(molecules, 3, kBox, given, random);
    for (int c = 0; c < chains; ++c)
      add_chain(mixture, given, kBox.to_cartesian(random_vector(random, 0.4)), random, atoms);
    system = with_groups(mixture);
    for (size_t a = 0; a < given.size(); ++a) {
      positions.push_back(given[static_cast<size_t>(system.input_index[a])]);
      velocities.push_back(random_vector(random, std::sqrt(kThermal / system.masses[a])));
      forces.push_back(random_vector(random, 300));
    }
  }
};

// The same, but waters have hydrogens of unlike masses, and so are no rigid waters like others: groups
// of a block are then nearly all of the class that is rare.
Input unlike(uint64_t seed, int molecules = kFew) {
  Input in(seed, molecules);
  for (int g = 0; g < in.system.group_count(); ++g) {
    const int first = in.system.group_start[g];
    if (in.system.group_start[g + 1] - first == 3) in.system.masses[first + 2] *= 1.1;
  }
  return in;
}

// Every second water has a virtual site.
Input with_sites(uint64_t seed, int molecules = kFew) {
  Input in(seed, molecules);
  Random random(seed);
  System given = in.system;
  for (int g = 0; g < in.system.group_count(); g += 2) {
    const int first = in.system.group_start[g];
    if (in.system.group_start[g + 1] - first == 3) add_site(given, in.positions, first);
  }
  given.input_index.clear();
  in.system = with_groups(given);
  std::vector<Vec3d> positions;
  in.velocities.clear();
  in.forces.clear();
  for (const int32_t atom : in.system.input_index) {
    positions.push_back(in.positions[static_cast<size_t>(atom)]);
    const double mass = given.masses[static_cast<size_t>(atom)];
    in.velocities.push_back(random_vector(random, mass > 0 ? std::sqrt(kThermal / mass) : 0));
    in.forces.push_back(random_vector(random, 300));
  }
  in.positions = positions;
  return in;
}

// The same rank on both devices, and the difference of what they make of it.
struct Twins {
  OneRank ours, theirs;

  Twins(Pair devices, const Input& in)
      : ours(devices.device, in.system, kBox, kCells, in.positions, in.velocities),
        theirs(devices.cpu, in.system, kBox, kCells, in.positions, in.velocities) {
    ours.set_forces(in.forces);
    theirs.set_forces(in.forces);
  }

  template <class Launch>
  void both(const Launch& launch) {
    launch(ours);
    launch(theirs);
  }

  static double apart(const std::vector<Vec3d>& a, const std::vector<Vec3d>& b) {
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double distance = norm(a[i] - b[i]);
      worst = distance >= worst ? distance : (distance == distance ? worst : 1e30);
    }
    return worst;
  }

  void check(double position, double velocity) const {
    CHECK_NEAR(apart(ours.by_atom(ours.position()), theirs.by_atom(theirs.position())), 0,
               position);
    CHECK_NEAR(apart(ours.by_atom(ours.velocity()), theirs.by_atom(theirs.velocity())), 0,
               velocity);
    const auto a = ours.by_atom(ours.local), b = theirs.by_atom(theirs.local);
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i)
      worst =
          std::max(worst, std::fabs(double(a[i].x) - b[i].x) + std::fabs(double(a[i].w) - b[i].w));
    CHECK_NEAR(worst, 0, 3e-7);
    const Faults f = ours.faults.download()[0];
    CHECK(f.violation_step == 0 && f.blowup_step == 0 && f.constraint_step == 0);
  }

  void check_energy(int kind) const {
    const double expected = theirs.energy_of(static_cast<EnergyKind>(kind));
    CHECK_NEAR(ours.energy_of(static_cast<EnergyKind>(kind)), expected,
               1e-7 * std::fabs(expected) + 1e-6);
  }
};

void verlet_agrees(Pair devices, const Input& in) {
  Twins twins(devices, in);
  twins.both([](OneRank& r) {
    r.take(VerletStart{r.work(), 0.002});
    r.device.launch(CountStep{r.step.data()});
    r.take(VerletFinish{r.work(), 0.002});
  });
  twins.check(1e-9, 1e-7);
  for (int n = 0; n < 20; ++n)
    twins.both(
        [](OneRank& r) { r.take(VerletStep{r.work(), 0.001, ForcesAfter::kKept, r.step.data()}); });
  CHECK(twins.ours.step.download()[0] == 21);
  twins.check(1e-9, 1e-7);
}

void langevin_agrees(Pair devices, const Input& in) {
  Twins twins(devices, in);
  const double keep = std::exp(-0.02), noise = std::sqrt(kThermal * (1 - keep * keep));
  for (int n = 0; n < 20; ++n)
    twins.both([&](OneRank& r) {
      r.set_conditions({kThermal, keep, noise});
      r.take(
          LangevinMiddle{r.work(), 0.002, 11, r.energy.data(), ForcesAfter::kKept, r.step.data()});
    });
  CHECK(twins.ours.step.download()[0] == 20);
  twins.check(1e-9, 1e-6);
  twins.check_energy(kHeat);
}

// Groups in turn in a cold bath, a hot one, and none.
void langevin_of_groups_agrees(Pair devices, const Input& in) {
  Twins twins(devices, in);
  const double keep = std::exp(-0.02), noise = std::sqrt(kThermal * (1 - keep * keep));
  std::vector<uint8_t> of_group;
  for (int g = 0; g < in.system.group_count(); ++g) of_group.push_back(static_cast<uint8_t>(g % 3));
  for (int n = 0; n < 20; ++n)
    twins.both([&](OneRank& r) {
      const Buffer<uint8_t> of(r.device, of_group);
      const Buffer<HeatBath> baths(
          r.device, {{kThermal, keep, noise}, {2 * kThermal, keep, 2 * noise}, {0, 1, 0}});
      r.take(LangevinMiddleGroups{r.work(),
                                  0.002,
                                  11,
                                  r.energy.data(),
                                  ForcesAfter::kKept,
                                  r.step.data(),
                                  {of.data(), baths.data()}});
      r.device.synchronize();
    });
  CHECK(twins.ours.step.download()[0] == 20);
  twins.check(1e-9, 1e-6);
  twins.check_energy(kHeat);
}

// What thermostats of groups do: sums by bath, factors drawn from them, or chains, and velocities scaled.
void groups_are_scaled_alike(Pair devices, const Input& in) {
  for (const bool chained : {false, true}) {
    Twins twins(devices, in);
    std::vector<uint8_t> of_group;
    for (int g = 0; g < in.system.group_count(); ++g)
      of_group.push_back(static_cast<uint8_t>(g % 3));
    std::vector<std::vector<int64_t>> sums;
    std::vector<std::vector<double>> factors;
    twins.both([&](OneRank& r) {
      const Buffer<uint8_t> of(r.device, of_group);
      const Buffer<HeatBath> baths(
          r.device, {{kThermal, 0.9, 0}, {2 * kThermal, 0.5, 0}, {0.5 * kThermal, 0, 0}});
      const BathTable table{of.data(), baths.data()};
      Buffer<int64_t> sum(r.device, std::vector<int64_t>(3, 0));
      Buffer<double> factor(r.device, std::vector<double>(3, 0)),
          variables(r.device, std::vector<double>(18, 0.1));
      r.device.launch(SumKineticEnergyGroups{r.work(), sum.data(), table, 3});
      if (chained) {
        r.device.launch(AdvanceChains{variables.data(),
                                      3,
                                      3,
                                      {50, 70, 40},
                                      {0.1, 0.2, 0.3},
                                      0.01,
                                      sum.data(),
                                      factor.data(),
                                      baths.data(),
                                      r.energy.data() + kHeat});
      } else {
        r.device.launch(DrawRescalingGroups{sum.data(),
                                            factor.data(),
                                            baths.data(),
                                            3,
                                            {50, 70, 40},
                                            VelocityNoise::kThermal,
                                            9,
                                            r.step.data()});
      }
      r.device.launch(ScaleVelocitiesGroups{r.work(), factor.data(),
                                            chained ? nullptr : r.energy.data(), table, 3});
      sums.push_back(sum.download());
      factors.push_back(factor.download());
    });
    for (size_t b = 0; b < 3; ++b) {
      CHECK(sums[0][b] == sums[1][b] && sums[0][b] > 0);
      CHECK_NEAR(factors[0][b], factors[1][b], 1e-12);
      CHECK(factors[0][b] != 1);
    }
    twins.check(0, 1e-10);
    twins.check_energy(kHeat);
  }
}

// A stage that clears the forces behind it leaves none; the motion has the same bits.
void forces_are_cleared(Pair devices, const Input& in) {
  Twins kept(devices, in), cleared(devices, in);
  const double keep = std::exp(-0.02), noise = std::sqrt(kThermal * (1 - keep * keep));
  const auto step = [&](OneRank& r, ForcesAfter after) {
    r.set_conditions({kThermal, keep, noise});
    r.take(LangevinMiddle{r.work(), 0.002, 11, r.energy.data(), after, r.step.data()});
  };
  step(kept.ours, ForcesAfter::kKept);
  step(cleared.ours, ForcesAfter::kCleared);
  CHECK(same_bits(kept.ours.by_atom(kept.ours.position()),
                  cleared.ours.by_atom(cleared.ours.position())));
  kept.ours.device.launch(kept.ours.groups.clear_forces());
  for (const Twins* twins : {&kept, &cleared})
    for (int d = 0; d < 3; ++d)
      for (const int64_t f : twins->ours.by_atom(twins->ours.fixed_forces(d))) CHECK(f == 0);
}

// The long-range force of a stage counts as often as it says; not at all is without reading it.
void long_range_force_is_weighted(Pair devices) {
  const Input in(6);
  const auto take = [](OneRank& r, float weight) {
    GroupWork work = r.work();
    work.long_range_weight = weight;
    r.take(VerletStep{work, 0.001, ForcesAfter::kKept, nullptr});
    r.take(LangevinMiddle{work, 0.002, 11, r.energy.data(), ForcesAfter::kKept, nullptr});
  };
  for (const float weight : {0.0f, 2.0f, 3.0f}) {
    Twins weighted(devices, in), scaled(devices, in);
    std::vector<Float4> far = scaled.ours.long_range.download();
    for (Float4& f : far) f = {weight * f.x, weight * f.y, weight * f.z, 0};
    scaled.ours.long_range.upload(far);
    if (weight == 0)
      weighted.both([](OneRank& r) {
        r.device.fill(r.long_range.data(), 0xff, r.long_range.bytes(), Stream::kMain);  // NaN
      });
    weighted.both([&](OneRank& r) { take(r, weight); });
    take(scaled.ours, 1);
    weighted.check(1e-9, 1e-7);
    CHECK(same_bits(weighted.ours.by_atom(weighted.ours.position()),
                    scaled.ours.by_atom(scaled.ours.position())));
    CHECK(same_bits(weighted.ours.by_atom(weighted.ours.velocity()),
                    scaled.ours.by_atom(scaled.ours.velocity())));
  }
}

// The fused stage is the two halves, bit for bit.
void fused_stage_is_both_halves(Pair devices) {
  const Input in(4);
  Twins fused(devices, in), halves(devices, in);
  for (OneRank* r : {&fused.ours, &halves.ours}) r->take(VerletStart{r->work(), 0.002});
  for (int n = 0; n < 5; ++n) {
    fused.ours.take(VerletStep{fused.ours.work(), 0.002, ForcesAfter::kKept, nullptr});
    halves.ours.take(VerletFinish{halves.ours.work(), 0.002});
    halves.ours.take(VerletStart{halves.ours.work(), 0.002});
  }
  CHECK(same_bits(fused.ours.by_atom(fused.ours.position()),
                  halves.ours.by_atom(halves.ours.position())));
  CHECK(same_bits(fused.ours.by_atom(fused.ours.velocity()),
                  halves.ours.by_atom(halves.ours.velocity())));
}

void bits_are_the_same_each_time(Pair devices) {
  std::vector<Vec3d> x, v;
  std::vector<int64_t> energy;
  const Input in(5);
  for (int n = 0; n < 3; ++n) {
    Twins twins(devices, in);
    OneRank& r = twins.ours;
    for (int k = 0; k < 10; ++k) {
      r.take(
          LangevinMiddle{r.work(), 0.002, 11, r.energy.data(), ForcesAfter::kKept, r.step.data()});
      r.device.launch(KineticEnergy{r.work(), r.energy.data()});
    }
    if (n == 0) {
      x = r.by_atom(r.position()), v = r.by_atom(r.velocity()), energy = r.energy.download();
    }
    CHECK(same_bits(r.by_atom(r.position()), x));
    CHECK(same_bits(r.by_atom(r.velocity()), v));
    CHECK(r.energy.download() == energy);
  }
}

void velocities_and_momentum_agree(Pair devices, const Input& in) {
  Twins twins(devices, in);
  double mass = 0;
  for (const double m : in.system.masses) mass += m;
  twins.both([](OneRank& r) { r.device.launch(DrawVelocities{r.work(), 300, 5}); });
  twins.check(1e-12, 1e-6);
  twins.both([mass](OneRank& r) {
    r.device.launch(SumMomentum{r.work(), r.momentum.data()});
    r.device.launch(RemoveMomentum{r.work(), r.momentum.data(), mass, 7, r.energy.data()});
    r.device.launch(KineticEnergy{r.work(), r.energy.data()});
  });
  twins.check(1e-12, 1e-6);
  twins.check_energy(kHeat);
  for (int kind = kKinetic; kind < kTermEnergies; ++kind) twins.check_energy(kind);
}

// The same groups collide, and have the same velocities afterwards.
void collisions_agree(Pair devices, const Input& in) {
  Twins twins(devices, in);
  twins.both([](OneRank& r) {
    Conditions now = r.conditions.download()[0];
    now.bath = {2.5, 0.6, 0};
    r.conditions.upload({now});
    r.device.launch(Collide{r.work(), 5, r.energy.data(), {}});
  });
  twins.check(0, 1e-6);
  twins.check_energy(kHeat);
}

// Groups go with the box on any device, and lie where the layout finds them in the new one.
void groups_move_with_the_box(Pair devices, const Input& in) {
  Twins twins(devices, in);
  twins.both([](OneRank& r) {
    Conditions now = r.conditions.download()[0];
    r.box_before.upload({now.box});
    now.box = {1.1 * now.box.ax, 0.2, 0.95 * now.box.by, -0.1, 0.3, 1.02 * now.box.cz};
    r.conditions.upload({now});
    r.device.launch(ScaleGroups{r.work(), r.box_before.data()});
  });
  twins.check(1e-12, 0);
  const auto moved = twins.ours.by_atom(twins.ours.position());
  CHECK(Twins::apart(moved, in.positions) > 0.01);
  twins.both([](OneRank& r) { r.lay_out(); });
  twins.check(1e-12, 0);
  CHECK(same_bits(twins.ours.by_atom(twins.ours.position()), moved));
}

PlaceSites placing(const OneRank& r) { return {r.work(), r.groups.sites()}; }

// Sites go to the same places, and nothing else moves.
void sites_are_placed(Pair devices, const Input& in) {
  Twins twins(devices, in);
  twins.both([](OneRank& r) { r.device.launch(placing(r)); });
  twins.check(1e-13, 0);
  const auto placed = twins.ours.by_atom(twins.ours.position());
  for (int a = 0; a < in.system.atom_count(); ++a)
    CHECK((norm(placed[a] - in.positions[a]) > 0.005) == (in.system.masses[a] == 0));
}

// The forces on sites are spread alike; their integer sum stays, and sites are left none.
void site_forces_are_spread(Pair devices, const Input& in) {
  Twins twins(devices, in);
  twins.both([](OneRank& r) { r.device.launch(placing(r)); });
  const auto total = [](const OneRank& r, int axis) {
    const auto all = r.fixed_forces(axis);
    return std::accumulate(all.begin(), all.end(), int64_t{0});
  };
  const int64_t before[] = {total(twins.ours, 0), total(twins.ours, 1), total(twins.ours, 2)};
  twins.both([](OneRank& r) {
    r.device.launch(SpreadSiteForces{r.work(), r.groups.sites(), r.energy.data()});
  });
  for (int axis = 0; axis < 3; ++axis) {
    CHECK(total(twins.ours, axis) == before[axis]);
    const auto ours = twins.ours.by_atom(twins.ours.fixed_forces(axis));
    const auto theirs = twins.theirs.by_atom(twins.theirs.fixed_forces(axis));
    int64_t apart = 0;
    for (int a = 0; a < in.system.atom_count(); ++a) {
      apart = std::max(apart, std::abs(ours[a] - theirs[a]));
      if (in.system.masses[a] == 0) CHECK(ours[a] == 0);
    }
    CHECK(apart < 1000);  // 2e-7 kJ/mol/nm
  }
  const auto a = twins.ours.by_atom(twins.ours.long_range);
  const auto b = twins.theirs.by_atom(twins.theirs.long_range);
  for (size_t i = 0; i < a.size(); ++i)
    CHECK(norm(Vec3d{a[i].x - b[i].x, a[i].y - b[i].y, a[i].z - b[i].z}) < 1e-3);
  for (int k = 0; k < Symmetric::kParts; ++k) twins.check_energy(kVirial + k);
}

// A barostat on any device: the box, what follows from it, positions, velocities and heat.
void cells_are_rescaled(Pair devices, const Input& in) {
  Twins twins(devices, in);
  std::vector<Conditions> now[2];
  std::vector<int64_t> heat[2];
  int which = 0;
  twins.both([&](OneRank& r) {
    Conditions given = r.conditions.download()[0];
    given.bath.thermal = kThermal;
    given.box.bx = 0.2;
    for (int d = 0; d < 3; ++d) {
      given.pressure_bath.pressure[d] = 0.1 * d;
      given.pressure_bath.mobility[d] = 1e-4;
    }
    r.conditions.upload({given});
    const Buffer<int64_t> tensors(r.device, std::vector<int64_t>(2 * Symmetric::kParts, 1ll << 34));
    const Buffer<int64_t> step(r.device, std::vector<int64_t>{40});
    Buffer<int64_t> energy(r.device, std::vector<int64_t>{0});
    CellWork cell{};
    cell.conditions = r.conditions.data();
    cell.before = r.box_before.data();
    cell.constant_energy = cell.counted_energy = 1e3;
    cell.constant_virial = 1e2;
    r.device.launch(RescaleCell{cell,
                                tensors.data(),
                                {0, 0, 2},
                                CellNoise::kThermal,
                                9,
                                step.data(),
                                r.faults.data(),
                                energy.data()});
    r.device.launch(RescaleGroups{r.work(), r.box_before.data(), energy.data()});
    r.device.launch(r.shift_patches());
    now[which] = r.conditions.download();
    heat[which++] = energy.download();
  });
  const Box &ours = now[0][0].box, &theirs = now[1][0].box;
  CHECK_NEAR(ours.ax, theirs.ax, 1e-12);
  CHECK_NEAR(ours.cz, theirs.cz, 1e-12);
  CHECK_NEAR(ours.bx / ours.ax, 0.2 / kBox.ax, 1e-12);
  CHECK(ours.ax != kBox.ax && ours.ax / kBox.ax != ours.cz / kBox.cz);
  CHECK_NEAR(from_fixed(heat[0][0], kEnergyScale), from_fixed(heat[1][0], kEnergyScale), 1e-6);
  twins.check(1e-12, 1e-12);
}

// Proposals on any device: accepted at a pressure that asks for them, or refused, with all atoms where
// they were.
void cells_are_proposed(Pair devices, const Input& in) {
  for (const double pressure : {1e3, -1e3}) {
    Twins twins(devices, in);
    const auto before = twins.ours.by_atom(twins.ours.position());
    std::vector<Box> boxes;
    std::vector<double> decisions;
    twins.both([&](OneRank& r) {
      Conditions given = r.conditions.download()[0];
      given.bath.thermal = kThermal;
      for (int d = 0; d < 3; ++d) {
        given.pressure_bath.pressure[d] = pressure;
        given.pressure_bath.mobility[d] = 1e-4;
      }
      r.conditions.upload({given});
      // Half of the groups are one molecule.
      std::vector<int32_t> of_group(r.room.groups, -1);
      for (size_t g = 0; g < of_group.size(); g += 2) of_group[g] = 0;
      const Buffer<int32_t> molecule(r.device, of_group), atoms(r.device, std::vector<int32_t>{40});
      Buffer<int64_t> sums(r.device, std::vector<int64_t>{0, 0, 0});
      const Buffer<int64_t> step(r.device, std::vector<int64_t>{40});
      Buffer<int64_t> energy(r.device, std::vector<int64_t>{0});
      Buffer<double> accepted(r.device, std::vector<double>{-1});
      Buffer<Vec3d> saved(r.device, r.room.slots);
      CellWork cell{};
      cell.conditions = r.conditions.data();
      cell.before = r.box_before.data();
      cell.molecules = {molecule.data(), atoms.data()};
      cell.saved = saved.data();
      const AxisSets sets{{0, 0, 2}};
      r.device.launch(SumMolecules{r.work(), cell.molecules, sums.data()});
      r.device.launch(ProposeCell{cell, sets, 9, step.data(), r.faults.data()});
      r.device.launch(
          MoveMolecules{r.work(), cell.molecules, sums.data(), cell.before, cell.saved});
      CHECK(Twins::apart(r.by_atom(r.position()), in.positions) > 1e-4);
      r.device.fill(sums.data(), 0, sizeof(int64_t), Stream::kMain);
      r.device.launch(DecideCell{cell, sets, sums.data(), 9, step.data(), r.faults.data(),
                                 accepted.data(), energy.data()});
      r.device.launch(RestorePositions{r.work(), saved.data(), accepted.data()});
      decisions.push_back(accepted.download()[0]);
      boxes.push_back(r.conditions.download()[0].box);
    });
    CHECK(decisions[0] == decisions[1]);
    CHECK_NEAR(boxes[0].ax, boxes[1].ax, 1e-12);
    CHECK_NEAR(boxes[0].cz, boxes[1].cz, 1e-12);
    const bool moved = boxes[0].ax != kBox.ax || boxes[0].cz != kBox.cz;
    CHECK(moved == (decisions[0] == 1));
    if (!moved) CHECK(same_bits(twins.ours.by_atom(twins.ours.position()), before));
    twins.check(1e-12, 1e-12);
  }
}

void states_are_set(Pair devices) {
  const Input in(8);
  Twins twins(devices, in);
  OneRank& r = twins.ours;
  const std::vector<Vec3d> x = r.position().download(), v = r.velocity().download();
  const Buffer<Vec3d> kept_x(r.device, x), kept_v(r.device, v);
  const auto local = r.by_atom(r.local);
  r.take(LangevinMiddle{r.work(), 0.002, 11, r.energy.data(), ForcesAfter::kKept, nullptr});
  r.device.launch(SetState{r.work(), kept_x.data(), kept_v.data()});
  CHECK(same_bits(r.by_atom(r.position()), twins.theirs.by_atom(twins.theirs.position())));
  CHECK(same_bits(r.by_atom(r.velocity()), twins.theirs.by_atom(twins.theirs.velocity())));
  CHECK(same_bits(r.by_atom(r.local), local));
}

// The first step and the lowest atom that went wrong, as on the CPU, in a stage that counts steps.
void faults_agree(Pair devices, const Input& in, int32_t atom) {
  constexpr int64_t kLong = int64_t{1} << 33;  // steps of a long run
  Twins twins(devices, in);
  std::vector<Faults> found;
  twins.both([&](OneRank& r) {
    GroupWork work = r.work();
    work.buffer_limit2 = 1e-7;
    work.blowup2 = 1e-4;
    r.step.upload({kLong + 6});
    std::vector<Vec3d> by_slot = r.velocity().download();
    by_slot[static_cast<size_t>(r.slot_of_atom.download()[static_cast<size_t>(atom)])].x = 1e4;
    r.velocity().upload(by_slot);
    r.take(VerletStep{work, 0.001, ForcesAfter::kKept, r.step.data()});
    found.push_back(r.faults.download()[0]);
  });
  CHECK(found[0].violation_step == found[1].violation_step && found[0].violation_step == kLong + 7);
  CHECK(found[0].blowup_step == found[1].blowup_step);
  CHECK((found[0].constraint_step != 0) == (found[1].constraint_step != 0));
  CHECK(found[0].blowup_step != 0 || found[0].constraint_step != 0);
  if (found[0].constraint_step != 0) CHECK(found[0].constraint_atom == found[1].constraint_atom);
}

}  // namespace

std::vector<Case> motion_cases(Pair devices) {
  return {
      {"Verlet agrees", [devices] { verlet_agrees(devices, Input(1)); }},
      {"Verlet agrees for many groups", [devices] { verlet_agrees(devices, Input(1, kMany)); }},
      {"Verlet agrees for unlike waters", [devices] { verlet_agrees(devices, unlike(1)); }},
      {"Langevin-middle agrees", [devices] { langevin_agrees(devices, Input(2)); }},
      {"Langevin-middle agrees for many groups",
       [devices] { langevin_agrees(devices, Input(2, kMany)); }},
      {"Langevin-middle agrees for unlike waters",
       [devices] { langevin_agrees(devices, unlike(2)); }},
      {"Langevin-middle agrees for many unlike waters",
       [devices] { langevin_agrees(devices, unlike(2, kMany)); }},
      {"Verlet agrees for the largest groups",
       [devices] { verlet_agrees(devices, Input(1, kFew, kChains)); }},
      {"Langevin-middle agrees for the largest groups",
       [devices] { langevin_agrees(devices, Input(2, kFew, kChains)); }},
      {"Verlet agrees for large groups",
       [devices] { verlet_agrees(devices, Input(1, kFew, kChains, kLong)); }},
      {"Langevin-middle agrees for large groups",
       [devices] { langevin_agrees(devices, Input(2, kFew, kChains, kLong)); }},
      {"Langevin-middle agrees for many groups, some of them large",
       [devices] { langevin_agrees(devices, Input(2, kMany, kChains, kMaxGroupSize)); }},
      {"velocities and momentum of large groups agree",
       [devices] { velocities_and_momentum_agree(devices, Input(6, kFew, kChains, kLong)); }},
      {"collisions of large groups",
       [devices] { collisions_agree(devices, Input(6, kFew, kChains, kLong)); }},
      {"Langevin-middle of baths with large groups agrees",
       [devices] { langevin_of_groups_agrees(devices, Input(2, kFew, kChains, kLong)); }},
      {"large groups are scaled alike",
       [devices] { groups_are_scaled_alike(devices, Input(13, kFew, kChains, kLong)); }},
      {"faults of large groups agree",
       [devices] {
         const Input in(9, kFew, kChains, kLong);
         for (const int place : {1, 20, kLong})
           faults_agree(devices, in, in.system.atom_count() - place);
       }},
      {"forces are cleared", [devices] { forces_are_cleared(devices, Input(3)); }},
      {"forces of large groups are cleared",
       [devices] { forces_are_cleared(devices, Input(3, kFew, kChains, kLong)); }},
      {"forces of unlike waters are cleared",
       [devices] { forces_are_cleared(devices, unlike(3)); }},
      {"the long-range force is weighted", [devices] { long_range_force_is_weighted(devices); }},
      {"the fused stage is both halves", [devices] { fused_stage_is_both_halves(devices); }},
      {"motion has the same bits each time", [devices] { bits_are_the_same_each_time(devices); }},
      {"velocities and momentum agree",
       [devices] { velocities_and_momentum_agree(devices, Input(6)); }},
      {"velocities and momentum of unlike waters agree",
       [devices] { velocities_and_momentum_agree(devices, unlike(6)); }},
      {"collisions", [devices] { collisions_agree(devices, Input(6)); }},
      {"collisions of unlike groups", [devices] { collisions_agree(devices, unlike(6)); }},
      {"collisions beside sites", [devices] { collisions_agree(devices, with_sites(13)); }},
      {"groups move with the box", [devices] { groups_move_with_the_box(devices, Input(8)); }},
      {"sites are placed", [devices] { sites_are_placed(devices, with_sites(10)); }},
      {"many sites are placed", [devices] { sites_are_placed(devices, with_sites(10, kMany)); }},
      {"forces on sites are spread",
       [devices] { site_forces_are_spread(devices, with_sites(11)); }},
      {"Langevin-middle of groups agrees",
       [devices] { langevin_of_groups_agrees(devices, Input(2)); }},
      {"Langevin-middle of many groups agrees",
       [devices] { langevin_of_groups_agrees(devices, Input(2, kMany)); }},
      {"Langevin-middle of groups with chains agrees",
       [devices] { langevin_of_groups_agrees(devices, Input(2, kFew, kChains)); }},
      {"groups are scaled alike", [devices] { groups_are_scaled_alike(devices, Input(13)); }},
      {"many groups are scaled alike",
       [devices] { groups_are_scaled_alike(devices, Input(13, kMany, kChains)); }},
      {"groups with sites are scaled alike",
       [devices] { groups_are_scaled_alike(devices, with_sites(13)); }},
      {"stages leave sites alone", [devices] { langevin_agrees(devices, with_sites(12)); }},
      {"stages leave many sites alone",
       [devices] { verlet_agrees(devices, with_sites(12, kMany)); }},
      {"velocities of sites stay",
       [devices] { velocities_and_momentum_agree(devices, with_sites(13)); }},
      {"cells are rescaled", [devices] { cells_are_rescaled(devices, Input(8)); }},
      {"cells are proposed", [devices] { cells_are_proposed(devices, Input(8)); }},
      {"states are set", [devices] { states_are_set(devices); }},
      {"faults agree", [devices] { faults_agree(devices, Input(9), 30); }},
      {"faults agree for many groups", [devices] { faults_agree(devices, Input(9, kMany), 30); }},
      {"faults of unlike waters agree", [devices] { faults_agree(devices, unlike(9), 30); }},
      {"faults of the largest groups agree",
       [devices] {
         const Input in(9, kFew, kChains);
         for (const int place : {0, 3, 7})
           faults_agree(devices, in, in.system.atom_count() - 8 + place);
       }},
      {"faults of many of the largest groups agree", [devices] {
         const Input in(9, kMany, kMany);
         faults_agree(devices, in, in.system.atom_count() - 1);
       }}};
}

}  // namespace quiltmd::test
