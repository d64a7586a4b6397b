// SPDX-License-Identifier: Apache-2.0
// The stages of a step on the host: mechanics of single molecules, statistics of the thermostat,
// and the promises about threads, faults and constraints.
#include <cstring>
#include <limits>

#include "check.h"
#include "computes/constraints/shake.h"
#include "device/host/kernels.h"
#include "hwy/targets.h"
#include "integrators/constraint_loss.h"
#include "integrators/group_constraints.h"
#include "one_rank.h"

using namespace quiltmd;
using namespace quiltmd::test;

namespace {

const Box kBox{3, 0, 3, 0, 0, 3};
constexpr Int3 kCells{2, 2, 2};
constexpr double kTemperature = 300, kThermal = kBoltzmann * kTemperature;

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

struct Input {
  System system;
  std::vector<Vec3d> positions, velocities, forces;
};

Input make_input(int molecules, int carbon_every, uint64_t seed) {
  Random random(seed);
  Input in;
  std::vector<Vec3d> positions;
  in.system = with_groups(make_mixture(molecules, carbon_every, kBox, positions, random));
  for (int a = 0; a < in.system.atom_count(); ++a) {
    in.positions.push_back(positions[static_cast<size_t>(in.system.input_index[a])]);
    in.velocities.push_back(random_vector(random, std::sqrt(kThermal / in.system.masses[a])));
    in.forces.push_back(random_vector(random, 300));
  }
  return in;
}

OneRank place(Device& device, const Input& in) {
  return {device, in.system, kBox, kCells, in.positions, in.velocities};
}

LangevinMiddle langevin(OneRank& rank, double timestep, double friction) {
  const double keep = std::exp(-friction * timestep),
               noise = std::sqrt(kThermal * (1 - keep * keep));
  rank.set_conditions({kThermal, keep, noise});
  return {rank.work(), timestep, 11, rank.energy.data(), ForcesAfter::kKept, nullptr};
}

void verlet_step(const OneRank& rank, double timestep) {
  rank.device.launch(VerletStart{rank.work(1e-12), timestep});
  rank.device.launch(VerletFinish{rank.work(1e-12), timestep});
}

double kinetic(OneRank& rank) {
  rank.clear_energy();
  rank.device.launch(KineticEnergy{rank.work(), rank.energy.data()});
  return rank.energy_of(kKinetic);
}

double worst_length(const System& s, const std::vector<Vec3d>& x) {
  double worst = 0;
  for (size_t k = 0; k < s.constraints.size(); ++k) {
    const auto& pair = s.constraints[k];
    const double length = norm(x[static_cast<size_t>(pair[0])] - x[static_cast<size_t>(pair[1])]);
    worst = std::max(worst, std::fabs(length / s.constraint_lengths[k] - 1));
  }
  return worst;
}

// Largest relative rate at which velocities would change a constrained length, 1/ps.
double worst_rate(const System& s, const std::vector<Vec3d>& x, const std::vector<Vec3d>& v) {
  double worst = 0;
  for (const auto& pair : s.constraints) {
    const auto i = static_cast<size_t>(pair[0]), j = static_cast<size_t>(pair[1]);
    const Vec3d edge = x[i] - x[j];
    worst = std::max(worst, std::fabs(dot(edge, v[i] - v[j])) / dot(edge, edge));
  }
  return worst;
}

// ---- Mechanics -----------------------------------------------------------------------------

void free_molecules_keep_what_they_must() {
  Input in = make_input(60, 2, 1);
  HostDevice device(1, host_kernels());
  OneRank rank = place(device, in);
  device.launch(DrawVelocities{rank.work(), kTemperature, 5});
  const double energy = kinetic(rank);
  const auto x0 = rank.by_atom(rank.position()), v0 = rank.by_atom(rank.velocity());
  for (int n = 0; n < 500; ++n) verlet_step(rank, 0.0005);
  const auto x = rank.by_atom(rank.position()), v = rank.by_atom(rank.velocity());
  CHECK(worst_length(in.system, x) < 1e-11);
  CHECK(worst_rate(in.system, x, v) < 1e-8);
  CHECK_NEAR(kinetic(rank) / energy, 1, 2e-4);
  for (int g = 0; g < in.system.group_count(); ++g) {
    Vec3d p{0, 0, 0}, l{0, 0, 0}, p0 = p, l0 = l;
    const int first = in.system.group_start[g];
    for (int a = first; a < in.system.group_start[g + 1]; ++a) {
      const double m = in.system.masses[a];
      p += m * v[a], p0 += m * v0[a];
      l += m * cross(x[a] - x0[first], v[a]), l0 += m * cross(x0[a] - x0[first], v0[a]);
    }
    CHECK_NEAR(norm(p - p0), 0, 1e-8);
    CHECK_NEAR(norm(l - l0), 0, 1e-8);
  }
}

void verlet_is_second_order() {
  const Input in = make_input(30, 3, 2);
  double drift[2];
  for (int k = 0; k < 2; ++k) {
    HostDevice device(1, host_kernels());
    OneRank rank = place(device, in);
    device.launch(DrawVelocities{rank.work(), kTemperature, 5});
    const double energy = kinetic(rank), timestep = 0.002 / (1 + k);
    double worst = 0;
    for (int n = 0; n < 100 * (1 + k); ++n) {
      verlet_step(rank, timestep);
      worst = std::max(worst, std::fabs(kinetic(rank) / energy - 1));
    }
    drift[k] = worst;
  }
  CHECK_NEAR(drift[0] / drift[1], 4, 0.5);
}

void verlet_runs_backwards() {
  Input in = make_input(60, 2, 3);
  HostDevice device(1, host_kernels());
  OneRank rank = place(device, in);
  device.launch(DrawVelocities{rank.work(1e-13), kTemperature, 5});
  rank.set_forces(in.forces);
  for (int n = 0; n < 50; ++n) verlet_step(rank, 0.001);
  std::vector<Vec3d> v = rank.velocity().download();
  for (Vec3d& u : v) u = -u;
  rank.velocity().upload(v);
  for (int n = 0; n < 50; ++n) verlet_step(rank, 0.001);
  const auto x = rank.by_atom(rank.position());
  for (size_t a = 0; a < x.size(); ++a) CHECK_NEAR(norm(x[a] - in.positions[a]), 0, 1e-8);
}

void forces_add_up() {
  Input in;
  add_atom(in.system, 2);
  in.system = with_groups(in.system);
  in.positions = {{0.1, 0.2, 0.3}};
  in.velocities = {{1, 2, 3}};
  HostDevice device(1, host_kernels());
  OneRank rank = place(device, in);
  rank.set_forces({{10, -20, 30}});
  device.launch(VerletFinish{rank.work(), 0.01});
  const Vec3d v = rank.by_atom(rank.velocity())[0];
  CHECK_NEAR(norm(v - Vec3d{1.025, 1.95, 3.075}), 0, 1e-9);
}

// ---- Thermostat ----------------------------------------------------------------------------

void langevin_samples_maxwell_boltzmann() {
  Input in = make_input(800, 2, 4);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  const LangevinMiddle op = langevin(rank, 0.002, 50);
  for (int n = 0; n < 60; ++n) {
    device.launch(op);
    device.launch(CountStep{rank.step.data()});
  }
  const int samples = 100;
  double total = 0;
  Vec3d water_mean{0, 0, 0};
  for (int n = 0; n < samples; ++n) {
    for (int k = 0; k < 10; ++k) {
      device.launch(op);
      device.launch(CountStep{rank.step.data()});
    }
    total += kinetic(rank);
    for (const Vec3d& v : rank.by_atom(rank.velocity())) water_mean += v;
  }
  const int degrees = 3 * in.system.atom_count() - static_cast<int>(in.system.constraints.size());
  // Samples 20 fs apart with a friction of 50/ps decay by 1/e each.
  const double expected = 0.5 * degrees * kThermal;
  const double error = std::sqrt(2.0 / degrees / (samples / 2.2));
  CHECK_NEAR(total / samples / expected, 1, 5 * error);
  const double scale = 1.0 / (samples * in.system.atom_count());
  CHECK_NEAR(norm(scale * water_mean), 0, 0.02);
}

// Without forces the only change of kinetic energy is heat.
void heat_is_accounted_for() {
  Input in = make_input(300, 4, 5);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  device.launch(DrawVelocities{rank.work(), 200, 5});
  const double before = kinetic(rank);
  rank.clear_energy();
  const LangevinMiddle op = langevin(rank, 0.0005, 20);
  for (int n = 0; n < 200; ++n) {
    device.launch(op);
    device.launch(CountStep{rank.step.data()});
  }
  const double heat = rank.energy_of(kHeat);
  CHECK(heat > 0.2 * before);
  CHECK_NEAR((kinetic(rank) - before) / heat, 1, 0.02);
}

// A group of a system with its atoms at `x`, for SHAKE and RATTLE.
struct OneGroup {
  std::vector<GroupConstraint> constraints;
  std::vector<double> inverse_mass;
  ConstraintSet set() const {
    return {constraints.data(), static_cast<int>(constraints.size()), inverse_mass.data()};
  }
  // Velocities of kT = 1 that the constraints allow.
  std::vector<Vec3d> velocities(Random& random, const std::vector<Vec3d>& x) const {
    std::vector<Vec3d> v;
    for (const double inverse : inverse_mass)
      v.push_back(random_vector(random, std::sqrt(inverse)));
    CHECK(rattle(set(), x, v, 1e-10));
    return v;
  }
  double energy(const std::vector<Vec3d>& v) const {
    double twice = 0;
    for (size_t i = 0; i < v.size(); ++i) twice += dot(v[i], v[i]) / inverse_mass[i];
    return twice / 2;
  }
};

// Random velocities that are allowed where a group is lose energy where a step of thermal motion has
// taken it: seen by moving groups and projecting, against what is known without moving them.
void what_turned_constraints_take_is_known() {
  constexpr int kSamples = 40000;
  constexpr double kStep = 2e-3;  // so that groups turn by some 0.02
  Random random(12);
  for (int kind = 0; kind <= 4; ++kind) {  // a water; carbons with one to four heavy hydrogens
    System s;
    std::vector<Vec3d> x;
    kind == 0 ? add_water(s, x, {0, 0, 0}, random) : add_carbon(s, x, {0, 0, 0}, kind, 3.0, random);
    s = with_groups(s);
    OneGroup group{constraints_by_group(s).all, {}};
    for (const double mass : s.masses) group.inverse_mass.push_back(1 / mass);
    double lost = 0;
    for (int n = 0; n < kSamples; ++n) {
      std::vector<Vec3d> to = x, u = group.velocities(random, x);
      const auto v = group.velocities(random, x);
      for (size_t i = 0; i < x.size(); ++i) to[i] += kStep * v[i];
      CHECK(shake(group.set(), x, to, 1e-12));
      const double before = group.energy(u);
      CHECK(rattle(group.set(), to, u, 1e-10));
      lost += before - group.energy(u);
    }
    const double expected = 0.5 * kStep * kStep * constraint_rotation(s)[0];
    CHECK_NEAR(lost / kSamples / expected, 1, 0.04);
  }
}

double rotation_of(const System& s) {
  double sum = 0;
  for (const double of_group : constraint_rotation(s)) sum += of_group;
  return sum;
}

void constraints_that_follow_from_others_take_nothing() {
  Random random(13);
  System s;
  std::vector<Vec3d> x;
  add_water(s, x, {0, 0, 0}, random);
  const double water = rotation_of(with_groups(s));
  constrain(s, 0, 1, kLeg);  // once more
  CHECK_NEAR(rotation_of(with_groups(s)) / water, 1, 1e-6);
}

void drawn_velocities_are_thermal_and_tangent() {
  Input in = make_input(3000, 3, 6);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  device.launch(DrawVelocities{rank.work(), kTemperature, 5});
  const auto v = rank.by_atom(rank.velocity());
  CHECK(worst_rate(in.system, in.positions, v) < 2e-7);
  const int degrees = 3 * in.system.atom_count() - static_cast<int>(in.system.constraints.size());
  CHECK_NEAR(kinetic(rank) / (0.5 * degrees * kThermal), 1, 5 * std::sqrt(2.0 / degrees));
}

void momentum_is_removed() {
  Input in = make_input(100, 4, 7);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  device.launch(SumMomentum{rank.work(), rank.momentum.data()});
  double mass = 0;
  for (const double m : in.system.masses) mass += m;
  const double before = kinetic(rank);
  rank.clear_energy();
  device.launch(RemoveMomentum{rank.work(), rank.momentum.data(), mass, 7, rank.energy.data()});
  const double heat = rank.energy_of(kHeat);
  CHECK(heat < 0);
  CHECK_NEAR(kinetic(rank) - before, heat, 1e-6);
  device.fill(rank.momentum.data(), 0, rank.momentum.bytes(), Stream::kMain);
  device.launch(SumMomentum{rank.work(), rank.momentum.data()});
  for (const int64_t p : rank.momentum.download()) CHECK_NEAR(from_fixed(p, kForceScale), 0, 1e-6);
}

void momentum_is_removed_along_the_axes_at_rest() {
  Input in = make_input(100, 4, 7);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  const auto momentum = [&] {
    device.fill(rank.momentum.data(), 0, rank.momentum.bytes(), Stream::kMain);
    device.launch(SumMomentum{rank.work(), rank.momentum.data()});
    return rank.momentum.download();
  };
  const double mass = std::accumulate(in.system.masses.begin(), in.system.masses.end(), 0.0);
  const auto before = momentum();
  device.launch(RemoveMomentum{rank.work(), rank.momentum.data(), mass, 1 + 4, nullptr});
  const auto after = momentum();
  CHECK(after[1] == before[1] && before[1] != 0);
  for (const int axis : {0, 2}) CHECK_NEAR(from_fixed(after[axis], kForceScale), 0, 1e-6);
}

// ---- Promises ------------------------------------------------------------------------------

// Lanes of waters give the bits that scalar code gives, whatever the vectors.
void instruction_sets_do_not_matter() {
  const Input in = make_input(301, 3, 15);
  std::vector<Vec3d> first;
  std::vector<int64_t> energy;
  for (int64_t targets = hwy::SupportedTargets(); targets; targets &= targets - 1) {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    HostDevice device(1, host_kernels());
    OneRank rank = place(device, in);
    rank.set_forces(in.forces);
    for (int n = 0; n < 5; ++n) {
      device.launch(langevin(rank, 0.002, 1));
      verlet_step(rank, 0.001);
      device.launch(CountStep{rank.step.data()});
    }
    if (first.empty()) {
      first = rank.position().download();
      energy = rank.energy.download();
    }
    CHECK(same_bits(first, rank.position().download()));
    CHECK(energy == rank.energy.download());
  }
  hwy::SetSupportedTargetsForTest(0);
}

void threads_do_not_matter() {
  const Input in = make_input(500, 3, 10);
  std::vector<Vec3d> x[2], v[2];
  std::vector<int64_t> energy[2];
  for (int k = 0; k < 2; ++k) {
    HostDevice device(1 + 2 * k, host_kernels());
    OneRank rank = place(device, in);
    rank.set_forces(in.forces);
    for (int n = 0; n < 10; ++n) {
      device.launch(langevin(rank, 0.002, 1));
      verlet_step(rank, 0.001);
      device.launch(KineticEnergy{rank.work(), rank.energy.data()});
      device.launch(CountStep{rank.step.data()});
    }
    CHECK(rank.step.download()[0] == 10);
    x[k] = rank.position().download();
    v[k] = rank.velocity().download();
    energy[k] = rank.energy.download();
  }
  CHECK(same_bits(x[0], x[1]));
  CHECK(same_bits(v[0], v[1]));
  CHECK(energy[0] == energy[1]);
}

void positions_for_force_kernels_are_exact() {
  const Input in = make_input(100, 3, 11);
  HostDevice device(1, host_kernels());
  OneRank rank = place(device, in);
  const auto origins = rank.origin.download();
  const auto placed = rank.placed.download();
  device.launch(langevin(rank, 0.002, 1));
  const auto x = rank.position().download();
  const auto local = rank.local.download(), low = rank.low.download();
  for (size_t i = 0; i < placed.size(); ++i) {
    const auto s = static_cast<size_t>(placed[i].slot);
    const Vec3d r = x[s] - origins[i];
    CHECK(local[s].x == static_cast<float>(r.x));
    CHECK_NEAR(static_cast<double>(local[s].x) + low[s].x, r.x, 1e-15);
    CHECK_NEAR(static_cast<double>(local[s].z) + low[s].z, r.z, 1e-15);
  }
}

void faults_name_step_and_atom() {
  const Input in = make_input(200, 3, 12);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  GroupWork work = rank.work();
  work.buffer_limit2 = 0.01 * 0.01;
  work.blowup2 = 0.5 * 0.5;
  constexpr int64_t kLong = int64_t{1} << 33;  // steps of a long run
  const auto run = [&](int64_t step) {
    rank.step.upload({kLong + step});
    device.launch(VerletStart{work, 0.001});
    return rank.faults.download()[0];
  };
  Faults faults = run(6);
  CHECK(faults.violation_step == 0 && faults.blowup_step == 0 && faults.constraint_step == 0);

  const auto where = rank.slot_of_atom.download();
  const int atom = in.system.group_start[in.system.group_count() / 2];
  auto v = rank.velocity().download();
  const Vec3d sane = v[static_cast<size_t>(where[atom])];
  v[static_cast<size_t>(where[atom])].x = 60;
  rank.velocity().upload(v);
  faults = run(7);
  CHECK(faults.violation_step == kLong + 8 && faults.blowup_step == 0);

  v = rank.velocity().download();
  v[static_cast<size_t>(where[atom])] = {std::numeric_limits<double>::quiet_NaN(), 0, 0};
  rank.velocity().upload(v);
  faults = run(9);
  CHECK(faults.violation_step == kLong + 8 && faults.blowup_step == kLong + 10);
  CHECK(faults.blowup_atom == atom);
  v[static_cast<size_t>(where[atom])] = sane;
}

void set_state_leaves_the_lists_alone() {
  const Input in = make_input(50, 3, 13);
  HostDevice device(1, host_kernels());
  OneRank rank = place(device, in);
  const auto x0 = rank.position().download(), v0 = rank.velocity().download();
  const auto local0 = rank.local.download();
  for (int n = 0; n < 5; ++n) device.launch(langevin(rank, 0.002, 1));
  const Buffer<Vec3d> x(device, x0), v(device, v0);
  device.launch(SetState{rank.work(), x.data(), v.data()});
  CHECK(same_bits(rank.by_atom(rank.position()), rank.by_atom(x)));
  CHECK(same_bits(rank.by_atom(rank.velocity()), rank.by_atom(v)));
  CHECK(same_bits(rank.local.download(), local0));
}

// Finish, start and count in one pass: the same bits.
void verlet_step_is_finish_and_start() {
  const Input in = make_input(200, 3, 16);
  HostDevice device(2, host_kernels());
  OneRank apart = place(device, in), fused = place(device, in);
  apart.set_forces(in.forces);
  fused.set_forces(in.forces);
  device.launch(VerletFinish{apart.work(), 0.002});
  device.launch(VerletStart{apart.work(), 0.002});
  device.launch(VerletStep{fused.work(), 0.002, ForcesAfter::kCleared, fused.step.data()});
  CHECK(same_bits(apart.by_atom(apart.position()), fused.by_atom(fused.position())));
  CHECK(same_bits(apart.by_atom(apart.velocity()), fused.by_atom(fused.velocity())));
  CHECK(same_bits(apart.by_atom(apart.low), fused.by_atom(fused.low)));
  CHECK(fused.step.download()[0] == 1);
  for (int d = 0; d < 3; ++d) {
    CHECK(apart.by_atom(apart.fixed_forces(d))[5] != 0);
    for (const int64_t f : fused.by_atom(fused.fixed_forces(d))) CHECK(f == 0);
  }
}

void forces_are_cleared() {
  const Input in = make_input(50, 3, 14);
  HostDevice device(2, host_kernels());
  OneRank rank = place(device, in);
  rank.set_forces(in.forces);
  device.launch(rank.groups.clear_forces());
  const auto slots = static_cast<size_t>(rank.owned_slots.download()[0]);
  for (int axis = 0; axis < 3; ++axis) {
    const auto component = rank.fixed_forces(axis);
    for (size_t s = 0; s < slots; ++s) CHECK(component[s] == 0);
  }
}

}  // namespace

int main() {
  return run_all(
      {{"free molecules keep what they must", free_molecules_keep_what_they_must},
       {"verlet is second order", verlet_is_second_order},
       {"verlet runs backwards", verlet_runs_backwards},
       {"forces add up", forces_add_up},
       {"langevin samples maxwell-boltzmann", langevin_samples_maxwell_boltzmann},
       {"heat is accounted for", heat_is_accounted_for},
       {"what turned constraints take is known", what_turned_constraints_take_is_known},
       {"constraints that follow from others take nothing",
        constraints_that_follow_from_others_take_nothing},
       {"drawn velocities are thermal and tangent", drawn_velocities_are_thermal_and_tangent},
       {"momentum is removed", momentum_is_removed},
       {"instruction sets do not matter", instruction_sets_do_not_matter},
       {"threads do not matter", threads_do_not_matter},
       {"positions for force kernels are exact", positions_for_force_kernels_are_exact},
       {"faults name step and atom", faults_name_step_and_atom},
       {"set state leaves the lists alone", set_state_leaves_the_lists_alone},
       {"verlet step is finish and start", verlet_step_is_finish_and_start},
       {"forces are cleared", forces_are_cleared}});
}
